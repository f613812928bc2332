#!/usr/bin/env bash
# Linux: TCP_INFO's tcpi_bytes_acked and tcpi_bytes_received count the SYN and the
# FIN as a byte each, but not on both sides; tcpi_bytes_sent counts neither.
#
# One would expect: the counters are bytes of the application, so in a quiet
# connection what was sent has been acknowledged (sent = acked) and what one end
# sent the other received.
#
# Seen: the end that connected has one byte acknowledged before it sent anything;
# the end that accepted has none. After 5 bytes the one has sent 5 and has
# 6 acknowledged, so "sent - acked" as the amount in flight is -1 (and hides one byte
# that is in flight), and the FIN makes the other end's received bytes 6.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
python3 - <<'PY'
import platform
import socket
import struct
import sys

# Places in struct tcp_info (linux/tcp.h).
ACKED, RECEIVED, SENT = 120, 128, 200


def counters(end):
    info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) < SENT + 8:
        print("not tried: this kernel does not count the bytes sent")
        sys.exit(2)
    return {name: struct.unpack_from("=Q", info, at)[0] for name, at in (("sent", SENT), ("acked", ACKED), ("received", RECEIVED))}


print("Linux", platform.release())
listener = socket.create_server(("127.0.0.1", 0))
connector = socket.create_connection(listener.getsockname())
acceptor, _ = listener.accept()
seen = []


def show(when):
    seen.append((counters(connector), counters(acceptor)))
    print(f"{when:16} connector {seen[-1][0]}  acceptor {seen[-1][1]}")


show("connected")
connector.sendall(b"12345")
acceptor.recv(5)
acceptor.sendall(b"123")
connector.recv(3)
show("5 there, 3 back")
connector.shutdown(socket.SHUT_WR)
acceptor.recv(5)
show("after the FIN")
acked = [(a["acked"], b["acked"]) for a, b in seen]
received = [(a["received"], b["received"]) for a, b in seen]
if acked[0] != (1, 0) or acked[1][0] != 6 or received[1] != (3, 5) or received[2][1] != 6:
    print("changed: stated was acked 1 and 0 when connected, 6 of 5 then, and 6 received after the FIN")
    sys.exit(1)
PY
