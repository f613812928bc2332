#!/usr/bin/env bash
# Linux: what the sender's own queue drops TCP sends again without calling it a retransmission;
# tcpi_bytes_sent is millions above what was written, and no counter of losses moves.
#
# One would expect: a segment that is dropped on its way is a loss, and to send it again is a
# retransmission (tcpi_bytes_retrans, TcpRetransSegs, ss "retrans"), wherever it was dropped;
# so bytes_sent - bytes_retrans is what the application wrote.
#
# Seen: the drop of the machine's own queueing discipline is told to TCP at once. The segment
# stays in the queue of what was never sent and goes out later as new, but was counted as
# sent before it was dropped. Of 20 MB, 21 to 22 are sent, none again, none lost; a sender that is
# throttled by its own shaping looks like one on a clean line, and "sent - retransmitted -
# acknowledged" shows bytes in flight for ever.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A network of its own, whose loopback device sends at 50 Mbit/s and lets ten packets wait.
arrange='ip link set lo mtu 1500 up &&
    tc qdisc add dev lo root handle 1: htb default 1 &&
    tc class add dev lo parent 1: classid 1:1 htb rate 50mbit quantum 60000 &&
    tc qdisc add dev lo parent 1:1 handle 2: pfifo limit 10'
unshare --map-root-user --net sh -c "$arrange" 2>"$log" ||
    { tail -n 3 "$log" || true; echo "not tried: no network with a queue can be made"; exit 2; }
timeout 120 unshare --map-root-user --net sh -c "$arrange && exec python3 -" <<'PY' || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
import json
import platform
import socket
import struct
import subprocess
import sys
import threading

CONNECTIONS, BYTES = 4, 5_000_000
# Places in struct tcp_info (linux/tcp.h), and the form of what stands there.
FIELDS = {"bytes_acked": (120, "=Q"), "bytes_sent": (200, "=Q"), "bytes_retrans": (208, "=Q"), "lost": (32, "=I"), "total_retrans": (100, "=I")}


def read(conn):
    left = BYTES
    while left:
        left -= len(conn.recv(1 << 16))
    conn.sendall(b"x")


def write(conn):
    conn.sendall(bytes(BYTES))
    conn.recv(1)  # All has arrived.


def transfer():
    """Writes over several connections and returns the sum of their counters."""
    writers, readers = [], []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for _ in range(CONNECTIONS):
            writers.append(socket.create_connection(listener.getsockname()))
            readers.append(listener.accept()[0])
    threads = [threading.Thread(target=read, args=(conn,)) for conn in readers]
    threads += [threading.Thread(target=write, args=(conn,)) for conn in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    infos = [conn.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256) for conn in writers]
    if len(infos[0]) < 216:
        print("not tried: this kernel does not count the bytes sent")
        sys.exit(2)
    return {name: sum(struct.unpack_from(form, info, at)[0] for info in infos) for name, (at, form) in FIELDS.items()}


print("Linux", platform.release())
written = CONNECTIONS * BYTES
try:
    sums = transfer()
    queues = json.loads(subprocess.run("tc -s -j qdisc show dev lo".split(), check=True, capture_output=True).stdout)
except (OSError, subprocess.SubprocessError, ValueError) as error:
    print("not tried:", error)
    sys.exit(2)
drops = sum(queue["drops"] for queue in queues if queue["kind"] == "pfifo")
print(f"{written} bytes written over {CONNECTIONS} connections, {drops} drops in the queue of the sender")
print(*(f"{name} {value}" for name, value in sums.items()), sep=", ")
stated = drops and not sums["bytes_retrans"] and not sums["total_retrans"] and sums["bytes_sent"] > 1.01 * written
if not stated:
    print("changed: stated was more bytes sent than written and none sent again")
    sys.exit(1)
PY
