import threading

from peer import main
from proton import Message
from proton.utils import BlockingConnection


class Link:
    def __init__(self, chosen):
        self.connection = BlockingConnection(f"amqp://guest:guest@{chosen.address}", timeout=30, allowed_mechs="PLAIN ANONYMOUS")
        if chosen.role == "pub":
            self.sender = self.connection.create_sender(chosen.topic)
        else:
            self.receiver = self.connection.create_receiver(chosen.topic, credit=100)

    def publish(self, payload):
        self.sender.send(Message(body=payload))

    def flush(self):
        pass

    def subscribe(self, take):
        def read():
            while True:
                take(self.receiver.receive(timeout=600).body)
                self.receiver.accept()

        threading.Thread(target=read, daemon=True).start()


main(Link)
