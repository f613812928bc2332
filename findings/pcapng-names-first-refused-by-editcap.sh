#!/usr/bin/env bash
# Wireshark's editcap and mergecap 4.0.17 (Debian 12): they refuse a valid pcapng in
# which a block of names or a custom block stands before the first interface; tshark
# of the same version reads it.
#
# One would expect: tools of one family have one reader. A file that tshark shows
# without a complaint can be cut, copied and merged, and the order of blocks that do
# not refer to an interface is free (the format only wants an interface before its
# packets).
#
# Seen: both tools stop with "The capture file being read can't be written as a
# "pcapng" file", though it is one. They ask for the kind of the link before the
# first packet; with another block in front, no interface is known by then. A writer
# that puts its notes or names at the top makes files that can be looked at only.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

not_tried() { tail -n 3 log || true; echo "not tried: $1"; exit 2; }

version=4.0.17-0+deb12u3
get() { apt-get download tshark=$version wireshark-common=$version libwireshark-data=$version libwireshark16=$version libwiretap13=$version libwsutil14=$version; }
get >log 2>&1 || not_tried "Debian's packages could not be fetched"
for package in *.deb; do dpkg -x "$package" tools; done
export PATH="$dir/tools/usr/bin:$PATH" LD_LIBRARY_PATH="$dir/tools/usr/lib/x86_64-linux-gnu"
export WIRESHARK_DATA_DIR="$dir/tools/usr/share/wireshark"
editcap --version >log 2>&1 && tshark --version >log 2>&1 || not_tried "a library of the tools is missing"

python3 - <<'PY'
import struct


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
interface = block(1, struct.pack("<HHI", 1, 0, 0))
names = block(4, struct.pack("<HH", 1, 10) + b"\x7f\0\0\1" + b"local\0" + b"\0\0" + struct.pack("<HH", 0, 0))
custom = block(0xBAD, struct.pack("<I", 32473) + b"note")
frame = bytes.fromhex("ffffffffffff" "020000000001" "88b5") + b"x" * 46
packet = block(6, struct.pack("<5I", 0, 0, 1, len(frame), len(frame)) + frame)
for name, blocks in {
    "interface-first": interface + names + custom + packet,
    "names-first": names + interface + packet,
    "custom-first": custom + interface + packet,
}.items():
    with open(f"{name}.pcapng", "wb") as file:
        file.write(section + blocks)
PY
for name in interface-first names-first custom-first; do
    packets=$(tshark -r $name.pcapng -Y frame.len==60 2>$name.err | wc -l)
    copied=yes
    editcap $name.pcapng copy.pcapng >$name.err 2>&1 || copied="no ($(tail -n 1 $name.err))"
    merged=yes
    mergecap -w copy.pcapng $name.pcapng >$name.err 2>&1 || merged="no ($(tail -n 1 $name.err))"
    echo "$name: tshark reads $packets packet; editcap copies it: $copied; mergecap: $merged"
    echo "$packets ${copied%% *} ${merged%% *}" >$name.seen
done
if [ "$(cat interface-first.seen names-first.seen custom-first.seen | paste -sd,)" != "1 yes yes,1 no no,1 no no" ]; then
    echo "changed: stated was that editcap and mergecap take the first of the three files only"
    exit 1
fi
