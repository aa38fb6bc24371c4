"""ATI's Net F/T and Ethernet Axia: records over UDP (RDT), units and ranges from the box's page of settings.

Facts from the manuals 9620-05-NET FT (chapter 9) and 9610-05-Ethernet Axia (chapters 4, 12). A request is 8 bytes:
header 0x1234, command, count of records, 0 for no end. A record is 36: RDT sequence, which counts the records
since the request; F/T sequence, which counts the box's own samples; status; force and torque in counts. All are
big-endian. The box answers whoever asked last, one client at a time.
"""

import contextlib
import logging
import math
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from pliant.errors import ConfigurationError, RobotError, check_bounds, check_count
from pliant.hardware.force_torque.net_ft_page import BoxSettings, box_settings, read_page
from pliant.hardware.force_torque.sensor import NOTHING, ForceTorqueSensor, Reading
from pliant.hardware.robot import Array

log = logging.getLogger(__name__)

PORT: Final = 49152
HEADER: Final = 0x1234
STOP, START, BIAS = 0x0000, 0x0002, 0x0042
"""Commands: end the stream, begin it in real time, take the present load for zero."""
REQUEST: Final = struct.Struct(">HHI")
RECORD: Final = struct.Struct(">IIIiiiiii")
STATUS: Final[Mapping[int, str]] = {
    0: "temperature out of range",
    1: "supply voltage out of range",
    2: "broken gauge",
    27: "gauge out of range",
    29: "calibration damaged",
    30: "force or torque out of range",
}
"""Bits of the status by what they say, as of the Ethernet Axia; …"""
ERROR: Final = 31
"""… the one that is set with every error; others say no harm (a monitored condition, a box that is busy)."""
_PATIENCE: Final = 3.0
"""How long the box may take to answer, s."""
_AGAIN: Final = 0.1
"""Silence after which the stream is asked for again, s: a box that was reset does not go on by itself."""
_LATE: Final = 20_000
"""How far behind the newest a record may come, in records; further behind, the box counts anew."""


class Record(NamedTuple):
    """One record of the stream."""

    rdt: int
    sample: int
    status: int
    counts: tuple[int, ...]


class NetFT(ForceTorqueSensor):
    """A Net F/T box or an Ethernet Axia.

    `connect` reads units, counts and ranges from the box's page and waits for the first record; a thread keeps the
    newest. Records that are lost, come late or twice are counted and do no harm. Faults, by name:

    - `silent`: no record for `stale` s: cable, power, or another client that took the stream. It is asked for
      again all the time, and the fault ends with the next record.
    - `standing still`: records come, but the box takes no new samples.
    - `reset`: the box counts anew. A zero that was taken in it is lost, so this stays until the next `connect`.
    - the errors of its status, such as a range that was left.

    The box tells the load on its tool side; what is read here is its opposite, by which the arm holds the tool.

    Args:
        host: address of the box.
        port: of the records.
        page_port: of the page of settings.
        stale: age at which a reading is too old, s.
    """

    def __init__(self, host: str, *, port: int = PORT, page_port: int = 80, stale: float = 0.05) -> None:
        if not isinstance(host, str) or not host.strip() or any(c.isspace() for c in host):
            raise ConfigurationError(f"the sensor's address is {host!r}; say host: 192.168.1.1, for one.")
        self.host = host
        self._port = check_count("port of the sensor", port, 1, 65535)
        self._page_port = check_count("page_port of the sensor", page_port, 1, 65535)
        self._stale = check_bounds("stale", stale, 1e-3, 60.0, "s")
        self._box: BoxSettings | None = None
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._forget()

    @property
    def range(self) -> Array | None:
        """The calibration's, as the page says."""
        return None if self._box is None else self._box.range

    @property
    def rate(self) -> float | None:
        """As the page says."""
        return None if self._box is None else self._box.rate

    def connect(self) -> None:
        """Read the page, begin the stream and wait for its first record.

        Raises:
            RobotError: nobody answers, records are switched off, or the page is not that of such a box.
        """
        if self._thread is not None and not self._reset:
            return
        self.close()
        self._box = box_settings(read_page(self.host, self._page_port), self.host)
        self._forget()
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.connect((self.host, self._port))
            self._socket.settimeout(_AGAIN)
        except OSError as error:
            self.close()
            raise RobotError(f"sensor at {self.host}: {error.strerror or error}.") from error
        self._request(START)
        self._thread = threading.Thread(target=self._listen, name=f"sensor at {self.host}", daemon=True)
        self._thread.start()
        if not self._first.wait(_PATIENCE):
            self.close()
            raise RobotError(
                f"the sensor at {self.host} answers, but sends no records (UDP port {self._port}) within "
                f"{_PATIENCE:g} s: a firewall, or another client that takes them."
            )

    def newest(self) -> Reading:
        """Return the newest reading, with the fault that there is."""
        newest = self._newest
        if self._reset:
            return newest._replace(fault=f"reset: {self._reset}; connect anew")
        age = time.monotonic() - newest.time
        if age > self._stale:
            if newest is NOTHING:
                return newest
            if time.monotonic() - self._heard <= self._stale:
                return newest._replace(fault=f"standing still: the box has taken no new sample for {age:.3g} s")
            return newest._replace(fault=f"silent: no record for {age:.3g} s")
        return newest

    def zero(self) -> None:
        """Let the box take the present load for zero, until it is reset or switched off.

        A tare of the conditioning is the better way: it refuses a load, and is kept.
        """
        if self._thread is None:
            raise RobotError(f"the sensor at {self.host} is not connected; call connect() first.")
        self._request(BIAS)
        self._request(START)

    def close(self) -> None:
        """End the stream and the thread. Safe to call twice."""
        self._ending.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        if self._socket is not None:
            self._request(STOP)
            self._socket.close()
            self._socket = None

    def diagnostics(self) -> Mapping[str, object]:
        """Return `records`, `lost`, `late` (or twice), `damaged` and `requests` of the stream, and `age_s`."""
        return {
            "records": self._records,
            "lost": max(self._lost, 0),
            "late": self._late,
            "damaged": self._damaged,
            "requests": self._requests,
            "age_s": time.monotonic() - self._newest.time,
        }

    def _forget(self) -> None:
        self._newest: Reading = NOTHING
        self._last: Record | None = None
        self._heard = -math.inf
        self._reset = ""
        self._restarted = False
        self._records = self._lost = self._late = self._damaged = self._requests = 0
        self._ending, self._first = threading.Event(), threading.Event()

    def _request(self, command: int) -> None:
        assert self._socket is not None
        if command == START:
            self._restarted = True
            self._requests += 1
        with contextlib.suppress(OSError):  # a box that is unplugged; the age of its records tells
            self._socket.send(REQUEST.pack(HEADER, command, 0))

    def _listen(self) -> None:
        assert self._socket is not None
        asked = time.monotonic()
        while not self._ending.is_set():
            data = b""
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                pass
            except OSError:  # nobody listens there just now
                self._ending.wait(_AGAIN / 10)
            if data:
                self._take(data)
            now = time.monotonic()
            if now - max(self._heard, asked) > _AGAIN:
                self._request(START)
                asked = now

    def _take(self, data: bytes) -> None:
        """Take what has arrived: one record, or several."""
        if len(data) % RECORD.size:
            self._damaged += 1
            return
        for at in range(0, len(data), RECORD.size):
            rdt, sample, status, *counts = RECORD.unpack_from(data, at)
            self._take_record(Record(rdt, sample, status, tuple(counts)))

    def _take_record(self, record: Record) -> None:
        """Keep a record if it is newer than what there is."""
        last, now = self._last, time.monotonic()
        if last is not None:
            ahead, forward = _ahead(record.rdt, last.rdt), _ahead(record.sample, last.sample)
            # the first ones after a request count from the beginning, and are nearer to that than to the last one
            begun = self._restarted and ahead <= 0 and record.rdt <= max(-ahead, 2)
            overtaken = -_LATE < forward < 0  # the last ones before a request may come after it
            if (-_LATE < ahead <= 0 and not begun) or (ahead > 0 and overtaken):
                self._late += 1
                self._lost -= int(ahead < 0)
                return
            if ahead > 0:
                self._lost += ahead - 1
            else:
                self._restarted = False
            self._heard, self._last = now, record
            if forward == 0:
                return
            if forward < 0:
                self._reset = f"its samples count from {record.sample} again, after {last.sample}"
                log.warning("the sensor at %s was reset: %s", self.host, self._reset)
        else:
            self._restarted = False
        self._records += 1
        self._heard, self._last = now, record
        assert self._box is not None
        self._newest = Reading(now, -np.array(record.counts) * self._box.scale, status_text(record.status))
        self._first.set()


def status_text(status: int) -> str:
    """Return what a status says of errors; empty if there are none."""
    said = [text for bit, text in STATUS.items() if status >> bit & 1]
    if said:
        return f"status {status:#010x}: {', '.join(said)}"
    return f"status {status:#010x}: an error, see the box's manual" if status >> ERROR & 1 else ""


def _ahead(number: int, other: int) -> int:
    """By how much a 32-bit count is ahead of another, across its end."""
    return (number - other + 2**31) % 2**32 - 2**31
