"""A tunnel in user space: `tunnel.py SPACE ADDRESS SPACE ADDRESS DELAY LATE` joins two network namespaces and passes packets on after so many ms.
Where LATE is more than 1, only each so-many-th packet with data is kept, and later ones overtake it.

Prints `up` once it does.
"""

import ctypes
import fcntl
import heapq
import itertools
import os
import select
import struct
import subprocess
import sys
import time

# include/uapi/linux/if_tun.h, include/uapi/linux/sched.h
TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000

# A longer packet carries more than headers and options.
BARE = 80


def device(space, own, other):
    """A TUN device in a namespace, with its address and that of the other end."""
    library = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as home, open(f"/var/run/netns/{space}") as there:
        enter(library, there)
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"tun%d", IFF_TUN | IFF_NO_PI))
        name = "tun0"
        subprocess.run(["ip", "addr", "add", own, "peer", other, "dev", name], check=True)
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
        enter(library, home)
    return tun


def enter(library, space):
    if library.setns(space.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def packets(tun):
    """All that have come."""
    while True:
        try:
            yield os.read(tun, 2000)
        except BlockingIOError:
            return


def main():
    near, here, far, there, delay, late = sys.argv[1:]
    ends = device(near, here, there), device(far, there, here)
    other = dict(zip(ends, reversed(ends)))
    delay, late, kept, numbers, large = float(delay) / 1e3, int(late), [], itertools.count(), itertools.count()
    print("up", flush=True)
    while True:
        pause = max(0, kept[0][0] - time.monotonic()) if kept else None
        for tun in select.select(ends, [], [], pause)[0]:
            now = time.monotonic()
            for packet in packets(tun):
                is_kept = late == 1 or len(packet) > BARE and next(large) % late == 0
                due = now + delay if is_kept else now
                heapq.heappush(kept, (due, next(numbers), other[tun], packet))
        while kept and kept[0][0] <= time.monotonic():
            _, _, tun, packet = heapq.heappop(kept)
            os.write(tun, packet)


if __name__ == "__main__":
    main()
