#!/usr/bin/env python3
"""A client of a middleware's public Python library: `peer.py MIDDLEWARE pub|sub|ask|answer|listen OPTIONS`.

Each payload starts with the time of its publishing and its number, so that a subscriber knows how long messages took and
which came twice. `ask` sends a request and waits for its answer before the next; `answer` sends each request back. `listen` is a server.
Prints `ready`, waits for `go` (publishers) or `end` (subscribers), and prints `done` with its counts.
"""

import argparse
import ctypes
import importlib
import json
import mmap
import os
import struct
import subprocess
import sys
import threading
import time

HEAD = struct.Struct(">QQ")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("middleware")
    parser.add_argument("role", choices=["pub", "sub", "ask", "answer", "listen"])
    parser.add_argument("--address", default="127.0.0.1:21890")
    parser.add_argument("--topic", default="truth")
    parser.add_argument("--qos", type=int, default=0)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--payload", type=int, default=64)
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE, a setting of the library")
    parser.add_argument("--partitions", type=int, default=1, help="Kafka: messages go to so many by turns")
    parser.add_argument("--group", default="truth", help="Kafka: the group of consumers")
    parser.add_argument("--transaction", type=int, default=0, help="Kafka: so many messages are one; every second is aborted")
    parser.add_argument("--sleep", type=float, default=0, help="milliseconds in the callback")
    parser.add_argument("--burn", type=float, default=0, help="milliseconds of computing in the callback, or before each publishing")
    parser.add_argument("--every", type=int, default=1, help="do so for each so-many-th message only")
    parser.add_argument("--mutex", type=float, default=0, help="a second thread has a mutex of C's library for so many ms, which the callback needs")
    parser.add_argument("--pipe", type=float, default=0, help="the callback asks another process, which answers after so many ms")
    parser.add_argument("--file", help="the callback reads this file from its disk")
    parser.add_argument("--tell", action="store_true", help="print a line for each message")
    parser.add_argument("--spin", action="store_true", help="a second thread computes all the time, in Python")
    parser.add_argument("--hog", type=float, default=0, help="a second thread keeps the interpreter for so many ms at a time")
    chosen = parser.parse_args()
    chosen.settings = dict(pair.split("=", 1) for pair in chosen.set)
    return chosen


class Received:
    """What a subscriber got."""

    def __init__(self, chosen):
        self.chosen, self.numbers, self.times, self.again = chosen, set(), [], 0

    def take(self, payload):
        now = time.monotonic_ns()
        payload = bytes(payload)
        if len(payload) >= HEAD.size:
            stamp, number = HEAD.unpack_from(payload)
        else:
            stamp, number = now, len(self.numbers)
        if number in self.numbers:
            self.again += 1
            return
        self.numbers.add(number)
        self.times.append(now - stamp)
        if self.chosen.tell:
            print("got", flush=True)
        if len(self.numbers) % self.chosen.every == 0:
            work(self.chosen)

    def counts(self):
        times = sorted(self.times)
        told = {"received": len(self.numbers), "again": self.again}
        if times:
            # The smallest that so many percent of the messages do not exceed.
            told |= {f"p{p}_ns": times[-(-len(times) * p // 100) - 1] for p in (50, 99)}
        return told


def work(chosen):
    if chosen.sleep:
        time.sleep(chosen.sleep / 1e3)
    compute(chosen.burn)
    if chosen.mutex:
        chosen.lock.take()
        chosen.lock.give()
    if chosen.file:
        os.preadv(chosen.disk, [chosen.page], 0)
    if chosen.pipe:
        chosen.clerk.stdin.write(b"?\n")
        chosen.clerk.stdin.flush()
        chosen.clerk.stdout.readline()


def compute(milliseconds):
    end = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < end:
        pass


class Mutex:
    """One of the C library, which Python does not know of."""

    def __init__(self):
        self.library, self.room = ctypes.CDLL(None), ctypes.create_string_buffer(64)

    def take(self):
        self.library.pthread_mutex_lock(self.room)

    def give(self):
        self.library.pthread_mutex_unlock(self.room)


def keep(lock, milliseconds):
    """Has a mutex for nearly half of the time."""
    while True:
        lock.take()
        time.sleep(milliseconds / 1e3)
        lock.give()
        time.sleep(milliseconds / 800)


def clerk(milliseconds):
    """A process that answers each line after a while."""
    work = f"while read line; do sleep {milliseconds / 1e3}; echo yes; done"
    return subprocess.Popen(["sh", "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def hog(milliseconds):
    """Keeps the interpreter's lock: a big power is one instruction."""
    digits = 20_000
    while True:
        begun = time.monotonic()
        7**digits
        took = (time.monotonic() - begun) * 1e3
        digits = max(1000, int(digits * min(2, (milliseconds / max(took, 0.01)) ** 0.6)))


def spin():
    """Gives the interpreter's lock away only when it is asked to."""
    number = 0
    while True:
        number += 1


def publish(link, chosen):
    begun, answers = time.monotonic(), 0
    for number in range(chosen.messages):
        wait = begun + number / chosen.rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        compute(chosen.burn)
        head = HEAD.pack(time.monotonic_ns(), number)
        answers += bool(link.publish((head + bytes(max(0, chosen.payload - len(head))))[: chosen.payload]))
    link.flush()
    print("done", json.dumps({"sent": chosen.messages, "answers": answers}), flush=True)


def main():
    chosen = options()
    link = importlib.import_module(f"peers.{chosen.middleware}").Link(chosen)
    if chosen.mutex:
        chosen.lock = Mutex()
        threading.Thread(target=keep, args=[chosen.lock, chosen.mutex], daemon=True).start()
    if chosen.file:
        # Past the page cache, into memory that lies as the disk wants it.
        chosen.disk, chosen.page = os.open(chosen.file, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
    if chosen.pipe:
        chosen.clerk = clerk(chosen.pipe)
    if chosen.hog:
        threading.Thread(target=hog, args=[chosen.hog], daemon=True).start()
    if chosen.spin:
        threading.Thread(target=spin, daemon=True).start()
    if chosen.role in ("pub", "ask"):
        print("ready", flush=True)
        for line in sys.stdin:
            if line.strip() == "go":
                publish(link, chosen)
            else:
                break
    else:
        received = Received(chosen)
        link.subscribe(received.take)
        print("ready", flush=True)
        if sys.stdin.readline().strip() != "leave":
            settle(received)
        print("done", json.dumps(received.counts()), flush=True)
    if chosen.pipe:
        chosen.clerk.stdin.close()
    link.close()


def settle(received):
    """Waits until nothing has come for a while: what is under way may still arrive."""
    deadline, before = time.monotonic() + 20, -1
    while time.monotonic() < deadline and before != len(received.numbers):
        before = len(received.numbers)
        time.sleep(1)


if __name__ == "__main__":
    main()
