"""What Kafka's own tools do not do: null and empty values, headers, compression, no acknowledgements, and
transactions. For 127.0.0.1:9092."""

import sys

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

SERVER = {"bootstrap.servers": "127.0.0.1:9092"}


def produce(topic, records, **settings):
    producer = Producer(SERVER | {"linger.ms": 20} | settings)
    for partition, value, headers in records:
        producer.produce(topic, value=value, key=b"k", partition=partition, headers=headers)
    if producer.flush(20):
        sys.exit("not delivered")


def transaction(topic, commit):
    producer = Producer(SERVER | {"transactional.id": "t"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, value=b"commit" if commit else b"abort", partition=0)
    producer.flush(20)
    if commit:
        producer.commit_transaction(20)
    else:
        producer.abort_transaction(20)


def consume(topic, count):
    consumer = Consumer(SERVER | {"group.id": "g", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 50})
    consumer.subscribe([topic])
    while count > 0:
        message = consumer.poll(20)
        if message is None:
            sys.exit("not all came")
        if message.error():
            raise KafkaException(message.error())
        count -= 1
    consumer.close()


def main():
    admin = AdminClient(SERVER)
    for name, partitions in ("mixed", 3), ("silent", 1), ("packed", 1), ("booked", 1):
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)
    values = [None, b"", b"v", b"v" * 63, b"v" * 64, b"v" * 3000]
    records = [(n % 3, value, [("h", b"x")] * (n % 2)) for n, value in enumerate(values * 3)]
    produce("mixed", records)
    consume("mixed", len(records))
    produce("silent", [(0, b"nobody says yes", None)] * 4, acks=0)
    for codec in "gzip", "snappy", "lz4", "zstd":
        produce("packed", [(0, b"x" * 200, None)] * 8, **{"compression.type": codec})
    consume("packed", 32)
    transaction("booked", True)
    transaction("booked", False)
    consume("booked", 1)


main()
