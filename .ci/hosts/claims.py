"""What `wirelap analyze FIRST SECOND… --json` says of the clocks of recordings, as the claims that `truth.py judge` takes.

    claims.py JSON FIRST.pcapng RECORDING.pcapng    of the host whose recording this is, one claim a second from its first packet to its last

Recordings have the wall clock's times, and how far it was ahead of the monotonic clock when they began.
"""

import json
import struct
import subprocess
import sys

# Options of wirelap in pcapng (docs/recording.md).
CUSTOM, ENTERPRISE, MARK = 2989, 0xFFFFFFFF, b"WL\x01"


def ahead(file):
    """How far the wall clock is ahead of the monotonic one, of a recording."""
    with open(file, "rb") as recording:
        block = recording.read(65536)
    length = struct.unpack_from("<I", block, 4)[0]
    at = 24
    while at + 4 <= length - 4:
        code, size = struct.unpack_from("<HH", block, at)
        data = block[at + 4 : at + 4 + size]
        if code == CUSTOM and data[4:7] == MARK:
            value, shift = 0, 0
            for byte in data[7:]:
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            return value >> 1 ^ -(value & 1)
        at += 4 + (size + 3) // 4 * 4
    raise ValueError(f"{file} is no recording of wirelap")


def packets(file):
    """The wall clock's times of the first packet and of the last, in ns."""
    told = subprocess.run(["tshark", "-n", "-r", file, "-T", "fields", "-e", "frame.time_epoch"], capture_output=True, text=True, check=True).stdout.split()
    first, last = [int(seconds) * 1_000_000_000 + int(rest.ljust(9, "0")[:9]) for seconds, rest in (time.split(".") for time in (told[0], told[-1]))]
    return first, last


def main(report, first, second):
    with open(report) as file:
        hosts = json.load(file)["results"][0]["trust"]["hosts"]
    host = next(host for host in hosts if second.endswith(host["second"]))
    offset = host["offset_ns"] - ahead(second) + ahead(first)
    begun, ended = packets(second)
    for at in range(begun, ended, 1_000_000_000):
        drifted = (at - begun) * host["drift_ppm"] / 1e6
        print(at - ahead(second), round(offset + drifted), host["at_most_ns"])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
