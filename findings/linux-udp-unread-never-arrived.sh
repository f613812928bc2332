#!/usr/bin/env bash
# Linux: a UDP datagram counts as received when a program reads it. What waits in a
# socket is in no counter, and what a closing socket throws away is never counted.
#
# One would expect: InDatagrams in /proc/net/snmp rises as datagrams arrive, and a
# datagram that reached a socket ends as received or as an error (InErrors,
# RcvbufErrors), so sent = received + errors once all is quiet.
#
# Seen: ten datagrams sent to a socket leave InDatagrams as it was; each read adds one;
# after four reads the socket is closed and the other six appear nowhere: ten
# were sent, four received, no error of any kind. A program that hangs with a growing
# queue looks like one that is sent nothing.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A network of its own: its counters are moved by nobody else.
unshare --map-root-user --net ip link set lo up 2>"$log" ||
    { cat "$log" || true; echo "not tried: no network namespace can be made"; exit 2; }
unshare --map-root-user --net sh -c 'ip link set lo up && exec python3 -' <<'PY'
import platform
import socket
import sys

SENT, READ = 10, 4


def counters():
    with open("/proc/thread-self/net/snmp") as lines:
        names, values = (line.split()[1:] for line in lines if line.startswith("Udp:"))
    return dict(zip(names, map(int, values)))


def queued(end):
    local = f"{end.getsockname()[1]:04X}"
    with open("/proc/thread-self/net/udp") as lines:
        return next(int(line.split()[4].split(":")[1], 16) for line in lines if line.split()[1].endswith(":" + local))


print("Linux", platform.release())
reader, writer = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
reader.bind(("127.0.0.1", 0))
writer.connect(reader.getsockname())
before = counters()
seen = []


def show(when):
    moved = {name: value - before[name] for name, value in counters().items() if value != before[name]}
    seen.append(moved)
    print(f"{when:14}", moved)


for _ in range(SENT):
    writer.send(b"x")
show("10 sent")
waiting = queued(reader)
for _ in range(READ):
    reader.recv(1)
show("4 read")
reader.close()
show("socket closed")
print("bytes of memory that waited in the socket before the reads:", waiting)
stated = [{"OutDatagrams": SENT}] + 2 * [{"InDatagrams": READ, "OutDatagrams": SENT}]
if seen != stated or not waiting:
    print("changed: stated was", stated)
    sys.exit(1)
PY
