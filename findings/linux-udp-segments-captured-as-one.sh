#!/usr/bin/env bash
# Linux: ten UDP datagrams between two programs of one host can be one packet in a
# capture, with one UDP header whose length is that of all ten.
#
# One would expect: in UDP a packet is a datagram; what the receiver reads with ten
# recv calls is ten packets in a capture. That TCP's segments are captured
# before they are cut is known; datagrams have no stream that could be cut anew.
#
# Seen: a sender with UDP_SEGMENT (QUIC libraries use it) passes 950 bytes and the
# size 100. Loopback and veth devices take that whole, so the capture shows one
# packet with a UDP length of 958. The kernel cuts it after the tap, before a socket
# that has not asked for UDP_GRO: ten datagrams, the last of 50 bytes. A packet
# decoder that reads a datagram as one message finds one message and a strange rest.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
python3 - <<'PY'
import platform
import socket
import struct
import sys

UDP_SEGMENT = 103  # linux/udp.h
ETH_P_IP = 0x0800
IP_START, PORT_START, LENGTH_START = 14, 36, 38  # in a frame of lo with an IPv4 header of 20 bytes

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.settimeout(10)
port = receiver.getsockname()[1]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(("127.0.0.1", port))
try:
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
    tap.bind(("lo", ETH_P_IP))
    tap.settimeout(10)
    sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 100)
except OSError as error:
    print("not tried:", error)
    sys.exit(2)

sender.send(b"x" * 950)
read = []
while sum(read) < 950:
    read.append(len(receiver.recv(2000)))
while True:
    frame, address = tap.recvfrom(2000)
    if frame[IP_START + 9] == socket.IPPROTO_UDP and struct.unpack_from(">H", frame, PORT_START)[0] == port:
        break
captured = struct.unpack_from(">H", frame, LENGTH_START)[0]
print("Linux", platform.release())
print("the receiver reads datagrams of", read)
print("the capture's first packet has the UDP length", captured)
if (read, captured) != ([100] * 9 + [50], 958):
    print("changed: stated was nine of 100 and one of 50, and 958")
    sys.exit(1)
PY
