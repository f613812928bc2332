#!/usr/bin/env python3
"""Bursts of small datagrams to 127.0.0.1: flood.py PORT DATAGRAMS MILLISECONDS, so many at once and so often."""

import socket
import sys
import time

port, burst, every = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
while True:
    for _ in range(burst):
        sock.sendto(bytes(64), ("127.0.0.1", port))
    due += every
    time.sleep(max(0, due - time.monotonic()))
