"""Who answers what to an instruction packet: the conversation on the wire, as a sequence of steps.

A step is a pause (float, s) or the bytes of a status (bytes). Servos read their registers when the pause
before their answer is over.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from pliant.envs.emulators.dynamixel.memory import Reason, RefusedError
from pliant.envs.emulators.dynamixel.orders import FAST, GROUP, SINGLE, Order, group_orders, single_order
from pliant.envs.emulators.dynamixel.packets import (
    MAX_PACKET,
    Damaged,
    Instruction,
    InstructionPacket,
    ProtocolVersion,
    Slot,
    StatusPacket,
    encode_status,
    fast_status,
)
from pliant.envs.emulators.dynamixel.servo import Servo
from pliant.hardware.dynamixel.packets import BROADCAST

Step = float | bytes


def answers(
    protocol: ProtocolVersion, packet: InstructionPacket | Damaged, listening: Sequence[Servo]
) -> Iterator[Step]:
    """Let the servos that listen act on a packet, and yield what happens on the wire.

    A broadcast is obeyed in silence, but for the ping of protocol 2.0 and the group reads. Group writes are
    not handled here (`group_orders`): they are not answered.
    """
    called = [servo for servo in listening if servo.id == packet.id]
    if isinstance(packet, Damaged):
        yield from _refuse(protocol, called, Reason.CHECKSUM)
    elif packet.instruction in SINGLE:
        if packet.id != BROADCAST:
            yield from _single(protocol, packet, called)
        elif packet.instruction == Instruction.PING:
            if protocol == 2:
                yield from _ping_all(listening)
        else:
            for servo in listening:
                obey(protocol, packet, servo)
    elif packet.instruction in GROUP[protocol] and packet.id == BROADCAST:
        orders = group_orders(protocol, packet) or []
        servos = {servo.id: servo for servo in listening}
        if packet.instruction in FAST:
            yield from _fast_read(orders, servos)
        else:
            yield from _group_read(protocol, packet.instruction, orders, servos)
    elif packet.instruction != Instruction.STATUS:
        yield from _refuse(protocol, called, Reason.INSTRUCTION)


def obey(protocol: ProtocolVersion, packet: InstructionPacket, servo: Servo) -> tuple[int, bytes]:
    """Let one servo carry out an instruction; return error byte and parameters of its status."""
    try:
        data = _carry_out(protocol, packet, servo)
    except RefusedError as refused:
        return servo.report(refused.reason), b""
    return servo.report(None), data


def collide(packets: Sequence[bytes]) -> bytes:
    """Return what the wire shows when several servos send at once: a 0 of any of them wins."""
    wire = bytearray()
    for column in zip_longest(*packets, fillvalue=0xFF):
        byte = 0xFF
        for value in column:
            byte &= value
        wire.append(byte)
    return bytes(wire)


def _carry_out(protocol: ProtocolVersion, packet: InstructionPacket, servo: Servo) -> bytes:
    instruction, parameters = packet.instruction, packet.parameters
    if instruction == Instruction.PING:
        return servo.ping()
    if instruction in (Instruction.READ, Instruction.WRITE, Instruction.REG_WRITE):
        order = single_order(protocol, packet)
        if order is None:
            raise RefusedError(Reason.LENGTH)
        if instruction == Instruction.READ:
            return servo.read(order.address, order.length)
        write = servo.write if instruction == Instruction.WRITE else servo.register_write
        write(order.address, order.data)
    elif instruction == Instruction.ACTION:
        servo.action()
    elif instruction == Instruction.FACTORY_RESET:
        servo.factory_reset(parameters[0] if parameters else None, packet.id == BROADCAST)
    elif instruction == Instruction.REBOOT:
        servo.reboot()
    else:
        servo.clear(parameters)
    return b""


def _single(protocol: ProtocolVersion, packet: InstructionPacket, called: Sequence[Servo]) -> Iterator[Step]:
    """Several servos are called if they share a number: then they talk at once."""
    answering = [servo for servo in called if servo.answers(packet.instruction)]
    if answering:
        yield answering[0].return_delay
    replies = []
    for servo in called:
        error, data = obey(protocol, packet, servo)
        if servo in answering:
            # The status bears the number that was called, also when the instruction has just changed it.
            replies.append(encode_status(protocol, StatusPacket(packet.id, error, data)))
    if replies:
        yield collide(replies)


def _refuse(protocol: ProtocolVersion, called: Sequence[Servo], reason: Reason) -> Iterator[Step]:
    answering = [servo for servo in called if servo.answers(Instruction.WRITE)]
    if answering:
        yield answering[0].return_delay
        yield collide([encode_status(protocol, StatusPacket(s.id, s.report(reason))) for s in answering])


def _ping_all(listening: Sequence[Servo]) -> Iterator[Step]:
    for number in sorted({servo.id for servo in listening}):
        called = [servo for servo in listening if servo.id == number]
        yield from _single(2, InstructionPacket(number, Instruction.PING), called)


def _group_read(
    protocol: ProtocolVersion, instruction: int, orders: Sequence[Order], servos: Mapping[int, Servo]
) -> Iterator[Step]:
    """Servos answer one after the other.

    In protocol 1.0 each waits for the one before it, so behind a silent servo all are silent. How long they
    wait in protocol 2.0 the manual does not say; here a silent servo only loses its turn.
    """
    for order in orders:
        servo = servos.get(order.id)
        if servo is None or not servo.answers(instruction):
            if protocol == 1:
                return
            continue
        yield servo.return_delay
        error, data = _read(servo, order)
        yield encode_status(protocol, StatusPacket(order.id, error, data))


def _fast_read(orders: Sequence[Order], servos: Mapping[int, Servo]) -> Iterator[Step]:
    """All servos up to the first that is silent make one status together; too long a one nobody begins."""
    sizes = [order.length for order in orders]
    if sum(sizes) + 4 * len(sizes) > MAX_PACKET - 8:
        return
    slots: list[Slot] = []
    for order in orders:
        servo = servos.get(order.id)
        if servo is None or not servo.reads_fast or not servo.answers(Instruction.FAST_SYNC_READ):
            break
        if not slots:
            yield servo.return_delay
        error, data = _read(servo, order)
        slots.append(Slot(order.id, error, data.ljust(order.length, b"\0")))
    if slots:
        yield b"".join(fast_status(sizes, slots))


def _read(servo: Servo, order: Order) -> tuple[int, bytes]:
    try:
        data = servo.read(order.address, order.length)
    except RefusedError as refused:
        return servo.report(refused.reason), b""
    return servo.report(None), data
