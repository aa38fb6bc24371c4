"""What the parameters of an instruction packet mean: which servos are to do what, in order.

Protocol 1.0 has addresses and lengths of one byte, protocol 2.0 of two, low byte first.
"""

from typing import NamedTuple

from pliant.envs.emulators.dynamixel.packets import Instruction, InstructionPacket


class Order(NamedTuple):
    """One servo's part of an instruction: read `length` bytes at `address`, or write `data` there."""

    id: int
    address: int
    length: int
    data: bytes = b""


GROUP_READS = frozenset(
    {Instruction.SYNC_READ, Instruction.FAST_SYNC_READ, Instruction.BULK_READ, Instruction.FAST_BULK_READ}
)
GROUP_WRITES = frozenset({Instruction.SYNC_WRITE, Instruction.BULK_WRITE})
FAST = frozenset({Instruction.FAST_SYNC_READ, Instruction.FAST_BULK_READ})

SINGLE = frozenset(
    {
        Instruction.PING,
        Instruction.READ,
        Instruction.WRITE,
        Instruction.REG_WRITE,
        Instruction.ACTION,
        Instruction.FACTORY_RESET,
        Instruction.REBOOT,
        Instruction.CLEAR,
    }
)
"""Instructions to one servo, or to all of them."""

GROUP = {
    1: frozenset({Instruction.SYNC_WRITE, Instruction.BULK_READ}),
    2: GROUP_READS | GROUP_WRITES,
}
"""Instructions that name several servos in their parameters, by protocol."""


def single_order(protocol: int, packet: InstructionPacket) -> Order | None:
    """Return what a read, write or reg write asks of one servo; None if its parameters are malformed."""
    word, parameters = protocol, packet.parameters
    if packet.instruction == Instruction.READ:
        if len(parameters) != 2 * word:
            return None
        return Order(packet.id, _number(parameters[:word]), _number(parameters[word:]))
    if len(parameters) <= word:
        return None
    return Order(packet.id, _number(parameters[:word]), len(parameters) - word, parameters[word:])


def group_orders(protocol: int, packet: InstructionPacket) -> list[Order] | None:
    """Return what each servo of a sync or bulk instruction is to do, in order; None if it is malformed.

    A servo that is named twice does the first only.
    """
    instruction, parameters = packet.instruction, packet.parameters
    if instruction in (Instruction.SYNC_WRITE, Instruction.SYNC_READ, Instruction.FAST_SYNC_READ):
        orders = _sync(protocol, parameters, instruction == Instruction.SYNC_WRITE)
    elif instruction == Instruction.BULK_WRITE:
        orders = _bulk_write(parameters)
    else:
        orders = _bulk_read_1(parameters) if protocol == 1 else _bulk_read_2(parameters)
    if orders is None:
        return None
    first = {order.id: order for order in reversed(orders)}
    return [order for order in orders if first[order.id] is order]


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _sync(word: int, parameters: bytes, write: bool) -> list[Order] | None:
    """Address, length, then the numbers of the servos, each with its data if it is a write."""
    address, length = _number(parameters[:word]), _number(parameters[word : 2 * word])
    rest = parameters[2 * word :]
    stride = 1 + length if write else 1
    if not rest or not length or len(rest) % stride:
        return None
    parts = [rest[i : i + stride] for i in range(0, len(rest), stride)]
    return [Order(part[0], address, length, part[1:]) for part in parts]


def _bulk_read_1(parameters: bytes) -> list[Order] | None:
    """A zero, then length, number and address of each servo."""
    rest = parameters[1:]
    if parameters[:1] != b"\0" or not rest or len(rest) % 3:
        return None
    return [Order(rest[i + 1], rest[i + 2], rest[i]) for i in range(0, len(rest), 3)]


def _bulk_read_2(parameters: bytes) -> list[Order] | None:
    """Number, address and length of each servo."""
    if not parameters or len(parameters) % 5:
        return None
    parts = [parameters[i : i + 5] for i in range(0, len(parameters), 5)]
    return [Order(part[0], _number(part[1:3]), _number(part[3:])) for part in parts]


def _bulk_write(parameters: bytes) -> list[Order] | None:
    """Number, address, length and data of each servo."""
    orders = []
    while parameters:
        length = _number(parameters[3:5])
        if len(parameters) < 5 + length or not length:
            return None
        address, data = _number(parameters[1:3]), parameters[5 : 5 + length]
        orders.append(Order(parameters[0], address, length, data))
        parameters = parameters[5 + length :]
    return orders or None
