"""Addresses, sockets of one's own, and messages that come in pieces."""

import os
import socket
import stat
import struct
from pathlib import Path

import pytest

from pliant.deployment.remote import json_messages
from pliant.deployment.remote.protocol import HEADER, LONGEST, Kind, MessageError, framed
from pliant.deployment.remote.transport import (
    Address,
    ClosedError,
    Connection,
    Listener,
    OtherVersionError,
    connect,
)
from pliant.errors import ConfigurationError, OutputError, RemoteError


@pytest.mark.parametrize(
    ("text", "found", "local"),
    [
        ("unix:/run/control", ("unix", "/run/control", 0), True),
        ("tcp:5555", ("tcp", "127.0.0.1", 5555), True),
        ("tcp:localhost:5555", ("tcp", "localhost", 5555), True),
        ("tcp:0.0.0.0:5555", ("tcp", "0.0.0.0", 5555), False),
        ("tcp:arm.example:80", ("tcp", "arm.example", 80), False),
        ("tcp:[::1]:80", ("tcp", "::1", 80), True),
    ],
)
def test_an_address_is_what_it_says(text, found, local):
    address = Address.read(text)
    assert tuple(address) == found
    assert address.local == local
    assert Address.read(str(address)) == address


@pytest.mark.parametrize("text", ["", "udp:5", "tcp:", "tcp:host", "tcp:70000", "tcp:a:b", "tcp:²", 5, "unix:/"])
def test_what_is_no_address_is_refused_with_the_forms(text):
    with pytest.raises(ConfigurationError, match="unix:/PATH, tcp:PORT"):
        Address.read(text)


def test_a_path_that_no_socket_can_have_is_refused():
    with pytest.raises(ConfigurationError, match="107 bytes"):
        Address.read(f"unix:/{200 * 'x'}")


def test_the_usual_place_is_this_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    address = Address.read("unix")
    assert address.place == str(tmp_path / "pliant/control")
    assert stat.S_IMODE((tmp_path / "pliant").stat().st_mode) == 0o700
    listener = Listener(address)
    assert stat.S_IMODE(Path(address.place).stat().st_mode) == 0o600
    listener.close()
    listener.close()
    assert list((tmp_path / "pliant").iterdir()) == []
    (tmp_path / "pliant").chmod(0o755)
    with pytest.raises(OutputError, match="not a folder of yours alone"):
        Address.read("unix")


def test_without_a_runtime_folder_the_usual_place_is_private_too(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"pliant-{os.getuid()}"
    assert Address.read("unix").place == str(folder / "control")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(OutputError, match="not a folder of yours alone"):
        Address.read("unix")


def test_what_a_killed_process_left_is_replaced_and_anything_else_stays(tmp_path):
    place = tmp_path / "control"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(place))
    listener = Listener(Address.read(f"unix:{place}"))
    with pytest.raises(OutputError, match="in use; another controller is served there"):
        Listener(Address.read(f"unix:{place}"))
    connect(listener.address).close()
    listener.close()
    place.write_text("mine")
    with pytest.raises(OutputError, match="in use"):
        Listener(Address.read(f"unix:{place}"))
    assert place.read_text() == "mine"


def test_a_tcp_port_is_used_once_and_by_this_machine():
    listener = Listener(Address.read("tcp:0"))
    assert listener.address.place == "127.0.0.1"
    with pytest.raises(OutputError, match=f"{listener.address}: it is in use"):
        Listener(listener.address)
    listener.close()


@pytest.mark.parametrize("text", ["unix:/nowhere/at/all", "tcp:1"])
def test_where_nothing_is_served_it_is_said_how_to(text):
    with pytest.raises(RemoteError, match="To start one: pliant control"):
        connect(Address.read(text))


@pytest.fixture(params=["stream", "seqpacket"])
def pair(request):
    """A connection and the bare socket at its other end."""
    if request.param == "seqpacket":
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    else:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            there = socket.create_connection(listener.getsockname())
            here, _ = listener.accept()
    connection = Connection(here)
    connection.wait_for(30.0)
    yield connection, there
    connection.close()
    there.close()


def test_the_longest_message_arrives_whole(pair):
    connection, there = pair
    body = bytes(range(256)) * (LONGEST // 256)
    there.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
    there.sendall(framed(Kind.HELLO, 3, body))
    message = connection.take_within(30.0)
    assert (message.kind, message.number, bytes(message.payload)) == (Kind.HELLO, 3, body)


@pytest.mark.parametrize("pair", ["stream"], indirect=True)
def test_a_stream_may_bring_a_message_byte_by_byte(pair):
    connection, there = pair
    sent = json_messages.fail(9, "why")
    for k in range(len(sent)):
        there.sendall(sent[k : k + 1])
        message = connection.take()
        assert (message is None) == (k < len(sent) - 1)
    assert json_messages.read_failure(message.payload) == "why"


WHOLE = framed(Kind.READY, 1, b"12345678")


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        (b"GET / HTTP/1.1\r\n", "no message"),
        (b"\x00" * 64, "no message"),
        (WHOLE + WHOLE, "that says it has 32"),
        (WHOLE[:8] + struct.pack("<I", 1 << 31) + WHOLE[12:], "that says it has"),
        (WHOLE[:-1] + b"9", "damaged"),
        (WHOLE[:5] + b"\x06" + WHOLE[6:], "damaged"),
    ],
    ids=["another protocol", "zeros", "two at once", "a huge size", "a changed byte", "another kind"],
)
def test_what_is_no_message_is_refused(pair, sent, part):
    connection, there = pair
    there.sendall(sent)
    with pytest.raises(MessageError, match=part):
        connection.take()


@pytest.mark.parametrize("pair", ["seqpacket"], indirect=True)
def test_a_datagram_that_was_cut_short_is_refused(pair):
    connection, there = pair
    for sent in (WHOLE[:-1], WHOLE[: HEADER.size - 1]):
        there.send(sent)
        with pytest.raises(MessageError):
            connection.take()
        connection._filled = 0


def test_another_version_is_told_by_its_number(pair):
    connection, there = pair
    there.sendall(WHOLE[:4] + b"\x07" + WHOLE[5:])
    with pytest.raises(OtherVersionError, match="version 7 of the messages is spoken; here it is 2"):
        connection.take()


def test_an_end_is_told(pair):
    connection, there = pair
    there.close()
    with pytest.raises(ClosedError):
        connection.take()
    with pytest.raises(ClosedError):  # the first may still go out
        [connection.send(WHOLE) for _ in range(1000)]
