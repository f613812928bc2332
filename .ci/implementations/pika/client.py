import threading

import pika
from peer import main


class Link:
    """The blocking connection of the library."""

    def __init__(self, chosen):
        self.topic = chosen.topic
        self.connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", chosen.port))
        self.channel = self.connection.channel()
        self.channel.queue_declare(self.topic)

    def publish(self, payload):
        self.channel.basic_publish("", self.topic, payload)
        self.connection.process_data_events(0)

    def flush(self):
        # The broker answers in order.
        self.channel.queue_declare(self.topic, passive=True)

    def subscribe(self, take):
        def taken(channel, method, _properties, body):
            channel.basic_ack(method.delivery_tag)
            take(body)

        self.channel.basic_consume(self.topic, taken)
        threading.Thread(target=self.channel.start_consuming, daemon=True).start()


main(Link)
