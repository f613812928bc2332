"""pyzmq: PUB and SUB, or PUSH and PULL with `pattern=pushpull`. The publisher listens."""

import importlib
import threading
import time

library = importlib.import_module("zmq")


class Link:
    def __init__(self, chosen):
        self.chosen, self.over = chosen, threading.Event()
        push = chosen.settings.get("pattern") == "pushpull"
        pair = (library.PUSH, library.PULL) if push else (library.PUB, library.SUB)
        self.socket = library.Context().socket(pair[chosen.role != "pub"])
        self.socket.setsockopt(library.LINGER, 10_000 if chosen.role == "pub" else 0)
        if "hwm" in chosen.settings:
            self.socket.setsockopt(library.SNDHWM, int(chosen.settings["hwm"]))
            self.socket.setsockopt(library.RCVHWM, int(chosen.settings["hwm"]))
        if chosen.role == "pub":
            self.socket.bind(f"tcp://{chosen.address}")
        else:
            if not push:
                self.socket.setsockopt(library.SUBSCRIBE, b"")
            self.socket.connect(f"tcp://{chosen.address}")

    def publish(self, payload):
        self.socket.send(payload)

    def flush(self):
        time.sleep(0.2)

    def subscribe(self, take):
        def read():
            while not self.over.is_set():
                if self.socket.poll(100):
                    take(self.socket.recv())

        threading.Thread(target=read, daemon=True).start()
        # A subscription has no answer.
        time.sleep(1)

    def close(self):
        self.over.set()
