#!/usr/bin/env python3
"""A producer or a consumer of Apache Kafka: confluent-kafka, which is librdkafka. Settings are its own, as name=value.

  kafka_peer.py produce PORT MESSAGES RATE SIZE WAIT [name=value ...]   connects with a first message, waits, sends
  kafka_peer.py consume PORT MESSAGES [name=value ...]                  says "ready", ends when it has so many
"""

import os
import sys
import time

from confluent_kafka import Consumer, Producer

TOPIC = "why"


def produce(port, messages, rate, size, wait, settings):
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", **settings})
    producer.produce(TOPIC, b"first")
    producer.flush(20)
    time.sleep(wait)
    began = time.monotonic()
    for n in range(messages):
        time.sleep(max(0.0, began + n / rate - time.monotonic()))
        producer.produce(TOPIC, n.to_bytes(8, "little") + os.urandom(size - 8))
        producer.poll(0)
    producer.flush(20)


def consume(port, messages, settings):
    group = {"group.id": f"why-{os.getpid()}", "auto.offset.reset": "latest"}
    consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{port}", **group, **settings})
    consumer.subscribe([TOPIC])
    consumer.poll(3)
    print("ready", flush=True)
    while messages > 0:
        message = consumer.poll(20)
        if message is None:
            sys.exit("no message for 20 s")
        messages -= message.error() is None and message.value() != b"first"


def main():
    role, port, messages, *rest = sys.argv[1:]
    numbers = rest[:3] if role == "produce" else []
    settings = dict(word.split("=", 1) for word in rest[len(numbers):])
    if role == "produce":
        rate, size, wait = numbers
        produce(port, int(messages), float(rate), int(size), float(wait), settings)
    else:
        consume(port, int(messages), settings)


main()
