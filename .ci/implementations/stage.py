#!/usr/bin/env python3
"""One row in a network namespace of its own: starts the server, the subscribers and the publisher, and says what they counted.

Runs within the namespace, and speaks with the runner in the lines of the truth lab (`lab.py`): hello, start, ready, go, truth, end.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import threading

from lab import PORT, Lab, listens, until
from library import LAST_BYTES, Fault, implementations

START_LIMIT_S = 90
# The longest that messages are under way after the last was published.
DELIVERY_LIMIT_S = 30
# When a server is stopped after the first message.
STALL_AFTER_S = 0.5
# IEEE 802's first EtherType for experiments, which no program reads.
EXPERIMENT = b"\x88\xb5"
PR_SET_CHILD_SUBREAPER = 36


class Program:
    """A program whose lines are read as they come, with a limit."""

    def __init__(self, stage, name, words, env):
        self.name, self.complaints = name, stage.work / f"{name}.err"
        self.process = stage.start(
            *words, env=env, cwd=stage.work, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints.open("w"),
        )
        self.lines, self.passed = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def wait(self, word, limit):
        """What follows a word on its line; other lines are kept for whoever waits for them later."""
        for line in self.passed:
            if line.startswith(word):
                self.passed.remove(line)
                return line[len(word) :].strip()
        while True:
            try:
                line = self.lines.get(timeout=limit)
            except queue.Empty:
                raise Fault(f"{self.name} did not say '{word}' within {limit} s: {self.said()}") from None
            if line is None:
                raise Fault(f"{self.name} ended before it said '{word}': {self.said()}")
            if line.startswith(word):
                return line[len(word) :].strip()
            self.passed.append(line)

    def said(self):
        return self.complaints.read_text(errors="replace")[-1500:].strip() or "it said nothing else"

    def tell(self, word):
        try:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Fault(f"{self.name} ended before it was told '{word}': {self.said()}") from None

    def counts(self):
        self.tell("end")
        return json.loads(self.wait("done", DELIVERY_LIMIT_S))


class Stage(Lab):
    def __init__(self, row):
        # Daemons are children of this process, and end with it.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        super().__init__()
        self.row, self.known = row, implementations()
        for name in row["environment"]:
            os.environ[name] = row["environment"][name].replace("{work}", str(self.work))
        # As on a device: DDS finds its peers by multicast.
        self.call("ip", "link", "set", "lo", "multicast", "on")
        self.call("ip", "route", "add", "224.0.0.0/4", "dev", "lo")

    def program(self, name, program, role="", number=0):
        one = self.known[name]
        options = {key.upper(): str(value) for key, value in self.row["options"].items()}
        options["NUMBER"] = str(number)
        if role == "sub":
            options["MESSAGES"] = str(self.option("messages") * (self.option("publishers") or 1))
        # Clients reach a server through relays, if there are some.
        port = PORT + (self.option("relays") if program == "server" else self.row["ports"][role])
        env = os.environ | {"PORT": str(port), "WORK": str(self.work)} | one.environment() | options
        words = [*(["mptcpize", "run"] if self.option("mptcp") else []), *one.command(program), *([role] if role else [])]
        return Program(self, f"{name}-{role or program}-{number}", words, env)

    def serve(self):
        name = self.row["server"]
        server = self.program(name, "server")
        if self.known[name].told.get("ready") == "line":
            server.wait("ready", START_LIMIT_S)
            return

        def is_there():
            if server.process.poll() is not None:
                raise Fault(f"{server.name} ended: {server.said()}")
            return listens(PORT + self.option("relays"))

        until(f"{name}'s start", is_there, START_LIMIT_S)

    def relay(self):
        """As many relays in a row as are wanted, each of which has a connection for each of its clients."""
        for port in range(PORT + self.option("relays") - 1, PORT - 1, -1):
            self.start("socat", f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr", f"TCP:127.0.0.1:{port + 1}")
            until("a relay's start", lambda port=port: listens(port), START_LIMIT_S)

    @contextlib.contextmanager
    def troubles(self):
        """What happens while messages are published: packets to the server are lost, or it is stopped for a while."""
        with contextlib.ExitStack() as stack:
            if self.option("loss"):
                self.drop(self.option("loss"))
                stack.callback(self.pass_again)
            if self.option("stall"):
                told = self.call("ss", "-Hltnp", f"sport = :{PORT + self.option('relays')}")
                server = int(re.search(r"pid=(\d+)", told)[1])
                stack.enter_context(self.stops(server, STALL_AFTER_S, self.option("stall") / 1000, 1))
            yield

    def play(self):
        if self.row["server"]:
            self.serve()
            self.relay()
        publishers, subscribers = [], []
        # Who listens comes first.
        for role in self.row["order"]:
            if role == "pub":
                publishers = self.clients("pub")
            elif not self.option("later"):
                subscribers = self.clients("sub")
        if self.option("away"):
            # Their sessions stay with the server.
            for subscriber in subscribers:
                subscriber.counts()
                subscriber.process.wait(DELIVERY_LIMIT_S)
        self.ready()
        with self.troubles():
            for publisher in publishers:
                publisher.tell("go")
            sent = sum(json.loads(publisher.wait("done", START_LIMIT_S))["sent"] for publisher in publishers)
        if self.option("later") or self.option("away"):
            subscribers = self.clients("sub")
        for subscriber in subscribers:
            try:
                subscriber.wait("all", DELIVERY_LIMIT_S)
            except Fault as fault:
                print("note " + json.dumps(str(fault)), flush=True)
        counts = [subscriber.counts() for subscriber in subscribers]
        received = [each["received"] for each in counts]
        twice = sum(each["received"] - each.get("different", each["received"]) for each in counts)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as last:
            last.bind(("lo", 0))
            last.send(bytes(12) + EXPERIMENT + LAST_BYTES)
        self.truth(sent, received, twice=twice)

    def option(self, name):
        return int(self.row["options"].get(name, 0))

    def clients(self, role):
        """All publishers, or all subscribers, connected."""
        party = "publisher" if role == "pub" else "subscriber"
        clients = []
        for number in range(self.option(f"{party}s") or 1):
            clients.append(self.program(self.row[party], "client", role, number))
            clients[-1].wait("ready", START_LIMIT_S)
        return clients

    def kill(self):
        super().kill()
        # What the programs left, and what that leaves in turn: only descendants of this process become its children.
        while left := children():
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def children():
    return [int(pid) for pid in pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def main():
    with Stage(json.loads(sys.argv[1])) as stage:
        try:
            stage.play()
        except (Fault, TimeoutError, OSError) as fault:
            print("fault " + json.dumps(str(fault)), flush=True)
            sys.stdin.readline()


if __name__ == "__main__":
    main()
