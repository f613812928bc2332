#!/usr/bin/env python3
"""The broker within librdkafka, for as long as its input is open. Prints its port."""

import sys

from confluent_kafka import Producer

host = Producer({"bootstrap.servers": "127.0.0.1", "test.mock.num.brokers": 1})
# A topic that is asked for is made.
(broker,) = host.list_topics("truth", 30).brokers.values()
print(broker.port, flush=True)
sys.stdin.read()
