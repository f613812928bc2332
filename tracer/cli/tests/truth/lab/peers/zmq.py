"""pyzmq: PUB and SUB, PUSH and PULL with `pattern=pushpull`, or REQ and REP. The publisher listens, or who answers;
with `connect=1` a proxy does. `nap=MS`: who answers has an event loop, which sleeps so long before each answer."""

import asyncio
import importlib
import threading
import time

library = importlib.import_module("zmq")
event_loops = importlib.import_module("zmq.asyncio")


class Link:
    def __init__(self, chosen):
        self.chosen, self.over = chosen, threading.Event()
        push = chosen.settings.get("pattern") == "pushpull"
        kinds = {"pub": library.PUB, "sub": library.SUB, "ask": library.REQ, "answer": library.REP}
        kinds |= {"pub": library.PUSH, "sub": library.PULL} if push else {}
        context = event_loops.Context() if "nap" in chosen.settings else library.Context()
        self.socket = context.socket(kinds[chosen.role])
        self.socket.setsockopt(library.LINGER, 10_000 if chosen.role == "pub" else 0)
        if "hwm" in chosen.settings:
            self.socket.setsockopt(library.SNDHWM, int(chosen.settings["hwm"]))
            self.socket.setsockopt(library.RCVHWM, int(chosen.settings["hwm"]))
        if chosen.role in ("pub", "answer") and "connect" not in chosen.settings:
            self.socket.bind(f"tcp://{chosen.address}")
        else:
            if chosen.role == "sub" and not push:
                self.socket.setsockopt(library.SUBSCRIBE, b"")
            self.socket.connect(f"tcp://{chosen.address}")
            if chosen.role == "pub":
                # What is published before the proxy has told its subscriptions is dropped.
                time.sleep(1)

    def publish(self, payload):
        self.socket.send(payload)
        return self.socket.recv() if self.chosen.role == "ask" else None

    def flush(self):
        time.sleep(0.2)

    def subscribe(self, take):
        async def naps():
            while True:
                payload = await self.socket.recv()
                take(payload)
                await asyncio.sleep(float(self.chosen.settings["nap"]) / 1e3)
                await self.socket.send(payload)

        def read():
            if "nap" in self.chosen.settings:
                asyncio.run(naps())
            while not self.over.is_set():
                if self.socket.poll(100):
                    payload = self.socket.recv()
                    take(payload)
                    if self.chosen.role == "answer":
                        self.socket.send(payload)

        threading.Thread(target=read, daemon=True).start()
        # A subscription has no answer.
        time.sleep(1)

    def close(self):
        self.over.set()
