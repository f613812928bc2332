"""Two Zenoh sessions on the loopback with everything in them that dissector and decoder are to agree on.

Usage: zenoh_session.py tcp|udp
"""

import sys
import threading
import time

import zenoh

TRANSPORT = sys.argv[1]
ENDPOINT = f"{TRANSPORT}/127.0.0.1:7447"
PATIENCE = 20
# Numbers, express ones, and four more.
SAMPLES = 20 + 5 + 4


def session(way, scouting="false"):
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/enabled", scouting)
    config.insert_json5("scouting/multicast/interface", '"lo"')
    config.insert_json5("scouting/gossip/enabled", "false")
    config.insert_json5("transport/shared_memory/enabled", "false")
    config.insert_json5("timestamping/enabled", "true")
    config.insert_json5("listen/endpoints", f'["{ENDPOINT}"]' if way == "listen" else "[]")
    config.insert_json5("connect/endpoints", f'["{ENDPOINT}"]' if way == "connect" else "[]")
    return config, zenoh.open(config)


def scout(config):
    """Asks who is there until somebody answers."""
    found = threading.Event()
    with zenoh.scout(lambda _: found.set(), what="peer", config=config):
        assert found.wait(PATIENCE), "nobody said Hello"


def main():
    config, server = session("listen", "true" if TRANSPORT == "udp" else "false")
    if TRANSPORT == "udp":
        scout(config)
    _, client = session("connect")
    received, done = [], threading.Event()

    def take(sample):
        received.append(sample)
        if len(received) == SAMPLES:
            done.set()

    def answer(query):
        query.reply("query/answer", b"forty-two", encoding=zenoh.Encoding.TEXT_PLAIN)
        query.reply_err(b"no more", encoding=zenoh.Encoding.TEXT_PLAIN)

    subscriber = server.declare_subscriber("demo/**", take)
    queryable = server.declare_queryable("query/*", answer)
    token = server.liveliness().declare_token("alive/server")
    wait = client.declare_publisher("demo/wait")
    deadline = time.monotonic() + PATIENCE
    while not wait.matching_status.matching:
        assert time.monotonic() < deadline, "nobody subscribes"

    block = zenoh.CongestionControl.BLOCK
    numbers = client.declare_publisher("demo/declared/numbers", congestion_control=block)
    for number in range(20):
        numbers.put(bytes(number))
    express = client.declare_publisher("demo/express", express=True, priority=zenoh.Priority.REAL_TIME, congestion_control=block)
    for number in range(5):
        express.put(b"x" * (8 << number))
    client.put("demo/undeclared/\u00e4", b"text", encoding=zenoh.Encoding("text/plain;utf-8"), attachment=b"kept", congestion_control=block)
    client.delete("demo/gone", congestion_control=block)
    client.declare_publisher("demo/big", congestion_control=block).put(bytes(300_000 if TRANSPORT == "tcp" else 100_000))
    replies = list(client.get("query/*", payload=b"what?", attachment=b"a"))
    replies += list(client.get("query/answer?a=1;b=2"))
    alive = list(client.liveliness().get("alive/**"))
    numbers.undeclare()
    client.put("demo/end", b"end", congestion_control=block)
    assert done.wait(PATIENCE), f"{len(received)} samples arrived"
    assert (len(replies), len(alive)) == (4, 1)
    for declared in (subscriber, queryable, token):
        declared.undeclare()
    client.close()
    server.close()


main()
