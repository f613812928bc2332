import threading

import amqp
from peer import main


class Link:
    def __init__(self, chosen):
        self.topic = chosen.topic
        self.connection = amqp.Connection(chosen.address, confirm_publish=True)
        self.connection.connect()
        self.channel = self.connection.channel()
        self.channel.queue_declare(self.topic, durable=False, auto_delete=False)

    def publish(self, payload):
        self.channel.basic_publish(amqp.Message(payload), routing_key=self.topic)

    def flush(self):
        pass

    def subscribe(self, take):
        def taken(message):
            self.channel.basic_ack(message.delivery_tag)
            take(message.body)

        def read():
            while True:
                self.connection.drain_events()

        self.channel.basic_consume(self.topic, callback=taken)
        threading.Thread(target=read, daemon=True).start()


main(Link)
