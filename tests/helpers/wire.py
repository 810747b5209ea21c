"""Records the packets of a network namespace, as they are on its wires."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

from tests.helpers.network import PrivateNetwork

_SNIFFER = """\
import mmap, socket, struct, sys
SIZE, BLOCKS = 1 << 20, 48
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
wire.setsockopt(263, 10, 2)  # PACKET_VERSION: TPACKET_V3
request = struct.pack("7I", SIZE, BLOCKS, 2048, SIZE * BLOCKS // 2048, 3_600_000, 0, 0)
wire.setsockopt(263, 5, request)  # PACKET_RX_RING
ring = mmap.mmap(wire.fileno(), SIZE * BLOCKS, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
print("ready", flush=True)
sys.stdin.read()
with open(sys.argv[1], "wb") as file:
    for block in range(0, SIZE * BLOCKS, SIZE):
        number, at = struct.unpack_from("2I", ring, block + 12)
        at += block
        for _ in range(number):
            next_one, _, _, length = struct.unpack_from("4I", ring, at)
            start = at + struct.unpack_from("H", ring, at + 24)[0]
            file.write(length.to_bytes(4, "big") + ring[start : start + length])
            at += next_one
dropped = struct.unpack("3I", wire.getsockopt(263, 6, 12))[1]  # PACKET_STATISTICS
print(dropped, flush=True)
"""
"""The kernel copies every packet into memory that is large enough for all of them, so none is lost if this program has
to wait for a processor."""


class Wire:
    """All packets that pass the middle of a private network, in both directions."""

    def __init__(self, network: PrivateNetwork, file: Path) -> None:
        self._network = network
        self._file = file

    def __enter__(self) -> Wire:
        words = [*self._network.enter(""), sys.executable, "-c", _SNIFFER, str(self._file)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        rest, _ = self._process.communicate()
        if error is None:
            assert rest == "0\n", f"packets were lost: {rest}"

    def payloads(self) -> dict[frozenset[int], bytes]:
        """The bytes of all TCP segments, by the two ports of their connection."""
        found: dict[frozenset[int], bytearray] = {}
        data = self._file.read_bytes()
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            ports, payload = _tcp(data[at + 4 : at + 4 + size])
            found.setdefault(ports, bytearray()).extend(payload)
            at += 4 + size
        return {ports: bytes(payload) for ports, payload in found.items() if ports}


def _tcp(frame: bytes) -> tuple[frozenset[int], bytes]:
    """The ports and the payload of an Ethernet frame with TCP over IPv4."""
    packet = frame[14:]
    if frame[12:14] != b"\x08\x00" or packet[9] != 6:
        return frozenset(), b""
    segment = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4], "big") or None]
    ports = frozenset((int.from_bytes(segment[0:2], "big"), int.from_bytes(segment[2:4], "big")))
    return ports, segment[(segment[12] >> 4) * 4 :]
