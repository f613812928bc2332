"""What clients in Python share: they are run as `client.py pub|sub` with their options in the environment.

A client prints `ready`. A publisher waits for `go`, publishes and prints `done {"sent": N}`; a subscriber prints `all` when as many
different messages came as were published, counts on until `end`, and prints `done {"received": N}`, with `"different": M` where the
client tells one from another. The library is in a class `Link` with the methods of the truth lab's: `publish(payload)`, `flush()`, `subscribe(take)`, `close()`.
"""

import json
import os
import sys
import threading
import time
import types


def options(role):
    get = os.environ.get
    return types.SimpleNamespace(
        role=role, number=get("NUMBER", "0"), address=f"127.0.0.1:{get('PORT')}", port=int(get("PORT", 0)), topic=get("TOPIC", "truth"), qos=int(get("QOS", "0")),
        rate=float(get("RATE", "200")), messages=int(get("MESSAGES", "300")), payload=int(get("PAYLOAD", "64")),
        equal=get("EQUAL", "0") == "1", publishers=int(get("PUBLISHERS", "1")), partitions=int(get("PARTITIONS", "1")), group="truth", transaction=0, settings=json.loads(get("SETTINGS", "{}")),
    )


def payload_of(chosen, number):
    head = b"" if chosen.equal else b"%08d" % number
    return (head + b"." * chosen.payload)[: chosen.payload]


def publish(link, chosen):
    begun = time.monotonic()
    for number in range(chosen.messages):
        wait = begun + number / chosen.rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        link.publish(payload_of(chosen, number))
    link.flush()


def tell(line):
    print(line, flush=True)


def main(Link, **settings):
    chosen = options(sys.argv[1])
    chosen.settings |= settings
    link = Link(chosen)
    if chosen.role == "pub":
        tell("ready")
        for line in sys.stdin:
            if line.strip() == "end":
                break
            publish(link, chosen)
            tell("done " + json.dumps({"sent": chosen.messages}))
    else:
        lock, received, different = threading.Lock(), 0, set()

        def take(payload):
            nonlocal received
            with lock:
                before = len(different)
                # Equal messages, or those of several publishers, are told apart by when they came.
                different.add(received if chosen.equal or chosen.publishers > 1 else bytes(payload if not isinstance(payload, str) else payload.encode()))
                received += 1
                if before < len(different) == chosen.messages:
                    tell("all")

        link.subscribe(take)
        tell("ready")
        sys.stdin.readline()
        tell("done " + json.dumps({"received": received, "different": len(different)}))
    # A library that does not end its threads is no fault of the row.
    os._exit(0)
