"""confluent-kafka: librdkafka."""

import threading

from confluent_kafka import Consumer, Producer


class Link:
    def __init__(self, chosen):
        self.chosen = chosen
        common = {"bootstrap.servers": chosen.address} | chosen.settings
        self.over = threading.Event()
        if chosen.role == "pub":
            self.client = Producer({"linger.ms": 0} | common)
            self.client.list_topics(chosen.topic, 30)
        else:
            group = {"group.id": "truth", "auto.offset.reset": "earliest", "enable.auto.commit": False}
            self.client = Consumer(group | {"fetch.queue.backoff.ms": 5} | common)

    def publish(self, payload):
        self.client.produce(self.chosen.topic, payload, partition=0)
        self.client.poll(0)

    def flush(self):
        self.client.flush(60)

    def subscribe(self, take):
        assigned = threading.Event()
        self.client.subscribe([self.chosen.topic], on_assign=lambda *_: assigned.set())

        def read():
            while not self.over.is_set():
                message = self.client.poll(0.2)
                if message and not message.error():
                    take(message.value())
            self.client.close()

        self.thread = threading.Thread(target=read)
        self.thread.start()
        if not assigned.wait(60):
            raise TimeoutError("no partition within 60 s")

    def close(self):
        self.over.set()
        if self.chosen.role != "pub":
            self.thread.join(30)
