#!/usr/bin/env python3
"""A long line between two network namespaces: `line.py ms far` makes why0 here and why1 in `far`."""

import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def main():
    delay, far = float(sys.argv[1]) / 1000, sys.argv[2]
    near_end, far_end = tun("why0"), tun("why1")
    subprocess.run(["ip", "link", "set", "why1", "netns", far], check=True)
    other = {near_end: far_end, far_end: near_end}
    under_way = collections.deque()
    print("ready", flush=True)
    while True:
        rest = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        for fd in select.select(list(other), [], [], rest)[0]:
            under_way.append((time.monotonic() + delay, other[fd], os.read(fd, 1 << 16)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, to, bytes_ = under_way.popleft()
            os.write(to, bytes_)


if __name__ == "__main__":
    main()
