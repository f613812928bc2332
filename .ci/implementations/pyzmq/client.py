import threading

import zmq
from peer import main


class Link:
    """PUB and SUB. The publisher listens, and knows of a subscription by XPUB."""

    def __init__(self, chosen):
        self.socket = zmq.Context().socket(zmq.XPUB if chosen.role == "pub" else zmq.SUB)
        self.is_subscribed = False
        if chosen.role == "pub":
            self.socket.bind(f"tcp://{chosen.address}")
        else:
            self.socket.connect(f"tcp://{chosen.address}")

    def publish(self, payload):
        if not self.is_subscribed:
            self.is_subscribed = bool(self.socket.recv())
        self.socket.send(payload)

    def flush(self):
        pass

    def subscribe(self, take):
        self.socket.setsockopt(zmq.SUBSCRIBE, b"")

        def read():
            while True:
                take(self.socket.recv())

        threading.Thread(target=read, daemon=True).start()


main(Link)
