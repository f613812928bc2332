#!/usr/bin/env python3
"""A Zenoh publisher and subscriber with and without shared memory (package eclipse-zenoh): `zenoh_peer.py sub|pub PORT shared|plain`."""

import os
import sys
import time

import zenoh

MESSAGES, BYTES = 60, 4096


def config(listens, port, shared):
    told = zenoh.Config()
    told.insert_json5("mode", '"peer"')
    told.insert_json5("scouting/multicast/enabled", "false")
    told.insert_json5("transport/shared_memory/enabled", "true" if shared else "false")
    told.insert_json5("listen/endpoints", f'["tcp/127.0.0.1:{port}"]' if listens else "[]")
    if not listens:
        told.insert_json5("connect/endpoints", f'["tcp/127.0.0.1:{port}"]')
    return told


def main():
    role, port, memory = sys.argv[1:]
    session = zenoh.open(config(role == "sub", port, memory == "shared"))
    if role == "sub":
        subscriber = session.declare_subscriber("wirelap/why")
        print("ready", flush=True)
        for _ in range(MESSAGES):
            subscriber.recv()
        # Its threads do not end by themselves.
        os._exit(0)
    publisher = session.declare_publisher("wirelap/why")
    provider = zenoh.shm.ShmProvider.default_backend(4 << 20)
    time.sleep(0.5)
    for number in range(MESSAGES):
        payload = (b"%010d" % number).ljust(BYTES, b".")
        if memory == "shared":
            buffer = provider.alloc(BYTES, policy=zenoh.shm.JustAlloc())
            buffer[0:BYTES] = payload
            payload = buffer
        publisher.put(payload)
        time.sleep(0.01)
    time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    main()
