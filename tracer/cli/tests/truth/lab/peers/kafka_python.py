"""kafka-python, which is written in Python alone."""

import threading

from kafka import KafkaConsumer, KafkaProducer, TopicPartition


class Link:
    def __init__(self, chosen):
        self.chosen, self.over = chosen, threading.Event()
        settings = {name: int(value) if value.isdigit() else value for name, value in chosen.settings.items()}
        if chosen.role == "pub":
            self.client = KafkaProducer(bootstrap_servers=chosen.address, **settings)
            self.client.partitions_for(chosen.topic)
        else:
            self.client = KafkaConsumer(bootstrap_servers=chosen.address, auto_offset_reset="latest", **settings)

    def publish(self, payload):
        self.client.send(self.chosen.topic, payload, partition=0)

    def flush(self):
        self.client.flush(60)

    def subscribe(self, take):
        partition = TopicPartition(self.chosen.topic, 0)
        self.client.assign([partition])
        # The end of the log is found now, not at the first poll.
        self.client.position(partition)

        def read():
            while not self.over.is_set():
                for records in self.client.poll(timeout_ms=200).values():
                    for record in records:
                        take(record.value)

        self.thread = threading.Thread(target=read)
        self.thread.start()

    def close(self):
        self.over.set()
        if self.chosen.role == "pub":
            self.client.close()
        else:
            self.thread.join(30)
