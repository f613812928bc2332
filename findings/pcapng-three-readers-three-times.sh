#!/usr/bin/env bash
# scapy 2.8.0, dpkt 1.9.8, python-pcapng 2.1.1: one valid pcapng, and the time of a
# packet depends on the library that reads it, by up to a factor of a thousand or by
# fifty years. None of them says a word.
#
# One would expect: a time stamp is 64 bits and a unit; libraries in use for ten
# years differ in speed, not in the time they give.
#
# Seen: the unit and an offset in seconds (if_tsoffset) stand with each interface,
# and interfaces are counted anew in each section (two pcapng files behind one
# another are a pcapng). scapy and python-pcapng pass over the offset. dpkt takes
# the unit of the first interface for all, which is wrong in what mergecap makes of
# a capture in ns and one in µs. scapy and dpkt carry the interfaces of the first
# section into the second. For each of the three files two libraries agree with the
# format at most, and no library reads all three rightly.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir scapy==2.8.0 dpkt==1.9.8 python-pcapng==2.1.1 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: the packages could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import logging
import struct
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt
import pcapng
from scapy.utils import rdpcap

PACKET = bytes.fromhex("ffffffffffff" "020000000001" "88b5") + b"x" * 46
NANOSECONDS = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)  # if_tsresol
OFFSET = struct.pack("<HHqHH", 14, 8, 1_700_000_000, 0, 0)  # if_tsoffset


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def interface(options=b""):
    return block(1, struct.pack("<HHI", 1, 0, 0) + options)


def packet(interface, ticks):
    return block(6, struct.pack("<5I", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(PACKET), len(PACKET)) + PACKET)


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
FILES = {
    "offset of the interface": SECTION + interface(OFFSET) + packet(0, 7_000_000),
    "two units, ns then µs": SECTION + interface(NANOSECONDS) + interface() + packet(1, 1_700_000_007_000_000),
    "two sections, ns then µs": SECTION + interface(NANOSECONDS) + SECTION + interface() + packet(0, 1_700_000_007_000_000),
}
READERS = {
    "scapy": lambda path: float(rdpcap(path)[0].time),
    "dpkt": lambda path: [time for time, _ in dpkt.pcapng.Reader(open(path, "rb"))][0],
    "python-pcapng": lambda path: [b.timestamp for b in pcapng.FileScanner(open(path, "rb")) if hasattr(b, "packet_data")][0],
}
RIGHT = 1_700_000_007.0
STATED = {
    "scapy": [7.0, RIGHT, RIGHT / 1000],
    "dpkt": [RIGHT, RIGHT / 1000, RIGHT / 1000],
    "python-pcapng": [7.0, RIGHT, RIGHT],
}

changed = False
print(f"the packet's time is {RIGHT} in each file")
for name, read in READERS.items():
    for (what, data), stated in zip(FILES.items(), STATED[name]):
        path = f"{sys.argv[1]}/file.pcapng"
        with open(path, "wb") as file:
            file.write(data)
        seen = read(path)
        print(f"{what:26} {name:14} {seen}")
        if abs(seen - stated) > 0.001:
            print(f"changed: stated was {stated}")
            changed = True
sys.exit(changed)
PY
"$dir/venv/bin/python" "$dir/probe.py" "$dir"
