"""confluent-kafka: librdkafka."""

import itertools
import threading

from confluent_kafka import Consumer, Producer


class Link:
    def __init__(self, chosen):
        self.chosen = chosen
        self.topics = chosen.topic.split(",")
        common = {"bootstrap.servers": chosen.address} | chosen.settings
        self.over = threading.Event()
        if chosen.role == "pub":
            own = {"transactional.id": "truth"} if chosen.transaction else {}
            self.client = Producer({"linger.ms": 0} | own | common)
            for topic in self.topics:
                self.client.list_topics(topic, 30)
            if chosen.transaction:
                self.client.init_transactions(60)
            self.number = 0
            self.places = itertools.cycle(itertools.product(self.topics, range(chosen.partitions)))
        else:
            group = {"group.id": chosen.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
            self.client = Consumer(group | {"fetch.queue.backoff.ms": 5} | common)

    def publish(self, payload):
        size = self.chosen.transaction
        if size and self.number % size == 0:
            self.client.begin_transaction()
        topic, partition = next(self.places)
        self.client.produce(topic, payload, partition=partition)
        self.client.poll(0)
        self.number += 1
        if size and self.number % size == 0:
            self.end_transaction()

    def end_transaction(self):
        """Every second one is aborted, after its messages have been written."""
        self.client.flush(60)
        if self.number // self.chosen.transaction % 2:
            self.client.commit_transaction(60)
        else:
            self.client.abort_transaction(60)

    def flush(self):
        self.client.flush(60)

    def subscribe(self, take):
        assigned = threading.Event()
        self.client.subscribe(self.topics, on_assign=lambda *_: assigned.set())

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
