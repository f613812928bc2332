"""A session of pika with RabbitMQ on port 5672, and how many messages each of its connections sent and got.

Prints a line for each connection and topic: name, port, direction, topic, messages and payload bytes.
"""

import sys
from collections import Counter

import pika

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 5672
counted = Counter()
sizes = Counter()
clients = []


class Client:
    def __init__(self, name):
        self.name = name
        self.connection = pika.BlockingConnection(
            pika.ConnectionParameters("127.0.0.1", PORT, frame_max=8192, client_properties={"connection_name": name})
        )
        self.port = self.connection._impl._transport._sock.getsockname()[1]
        clients.append(self)

    def count(self, direction, topic, payload):
        key = (self.name, self.port, direction, topic)
        counted[key] += 1
        sizes[key] += len(payload)

    def publish(self, channel, exchange, key, payload, **more):
        self.count("to", f"{exchange}/{key}" if exchange else key, payload)
        try:
            channel.basic_publish(exchange, key, payload, **more)
        except pika.exceptions.UnroutableError:
            pass

    def read(self, method, payload):
        exchange, key = method.exchange, method.routing_key
        self.count("from", f"{exchange}/{key}" if exchange else key, payload)

    def consume(self, channel, queue, number):
        for method, properties, payload in channel.consume(queue, inactivity_timeout=10):
            self.read(method, payload)
            channel.basic_ack(method.delivery_tag)
            number -= 1
            if not number:
                break
        channel.cancel()


def topics():
    subscribers = [Client(f"subscriber {n}") for n in range(2)]
    queues = []
    for client in subscribers:
        channel = client.connection.channel()
        channel.exchange_declare("sensors", "topic")
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "sensors", "room.*")
        queues.append((client, channel, queue))
    publisher = Client("publisher")
    channels = [publisher.connection.channel() for _ in range(2)]
    channels[0].confirm_delivery()
    for n in range(40):
        publisher.publish(channels[n % 2], "sensors", f"room.{n % 3}", b"x" * (n * 25))
    publisher.publish(channels[1], "sensors", "room.large", b"y" * 20_000, properties=pika.BasicProperties(headers={"n": 1}))
    for client, channel, queue in queues:
        client.consume(channel, queue, 41)
    publisher.publish(channels[0], "sensors", "nowhere", b"nobody", mandatory=True)


def work():
    client = Client("work")
    channel = client.connection.channel()
    channel.queue_declare("jobs", exclusive=True)
    channel.tx_select()
    for n in range(5):
        client.publish(channel, "", "jobs", b"job %d" % n)
    channel.tx_commit()
    other = client.connection.channel()
    method, properties, payload = other.basic_get("jobs")
    client.read(method, payload)
    other.basic_nack(method.delivery_tag)
    client.consume(other, "jobs", 5)
    other.basic_get("jobs")


topics()
work()
for client in clients:
    client.connection.close()
print("name\tport\tdirection\ttopic\tmessages\tbytes")
for key, messages in sorted(counted.items()):
    print(*key, messages, sizes[key], sep="\t")
