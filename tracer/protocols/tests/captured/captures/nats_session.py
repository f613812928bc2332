"""A session of nats-py, and what nats-server counted of each of its connections.

Prints a line for each connection: name, port, and messages and bytes (payload and header) that the server got
from it and sent to it.
"""

import asyncio
import json
import urllib.request

import nats
from nats.js.api import AckPolicy, ConsumerConfig

SERVER = "nats://127.0.0.1:4222"
counted = []


def connections():
    with urllib.request.urlopen("http://127.0.0.1:8222/connz?state=any&limit=64") as answer:
        return json.load(answer)["connections"]


async def connect(name):
    return await nats.connect(SERVER, name=name)


async def publish_and_subscribe():
    subscriber, workers, publisher = [await connect(name) for name in ("subscriber", "workers", "publisher")]
    got = 0
    done = asyncio.Event()

    async def count(message):
        nonlocal got
        got += 1
        if got == 41 * 2:
            done.set()

    await subscriber.subscribe("core.*", cb=count)
    await workers.subscribe("core.>", "queue", cb=count)
    await workers.subscribe("core.>", "queue", cb=count)
    await subscriber.flush()
    await workers.flush()
    for n in range(40):
        await publisher.publish(f"core.{n % 3}", b"x" * (n * 25))
    await publisher.publish("core.large", b"y" * 20_000)
    await publisher.flush()
    await asyncio.wait_for(done.wait(), 10)
    return [subscriber, workers, publisher]


async def request_and_reply():
    service, requester = await connect("service"), await connect("requester")

    async def answer(message):
        await message.respond(b"re: " + message.data)

    await service.subscribe("service.echo", cb=answer)
    await service.flush()
    for n in range(10):
        await requester.request("service.echo", b"request %d" % n, headers={"N": str(n)} if n % 2 else None)
    try:
        await requester.request("service.none", b"anyone?")
    except nats.errors.NoRespondersError:
        pass
    return [service, requester]


async def streams():
    client, reader = await connect("stream publisher"), await connect("stream reader")
    js = client.jetstream()
    await js.add_stream(name="EVENTS", subjects=["events.>"])
    for n in range(10):
        await js.publish(f"events.{n % 2}", b"event %d" % n)
    js = reader.jetstream()
    pull = await js.pull_subscribe("events.0", "durable")
    for message in await pull.fetch(5):
        await message.ack_sync()
    push = await js.subscribe("events.1", config=ConsumerConfig(ack_policy=AckPolicy.EXPLICIT))
    first = await push.next_msg()
    await first.nak()
    for _ in range(5):
        await (await push.next_msg()).ack()
    await js.get_msg("EVENTS", 3, direct=False)
    await push.unsubscribe()
    return [client, reader]


async def main():
    clients = await publish_and_subscribe() + await request_and_reply() + await streams()
    for client in clients:
        await client.flush()
    found = {}
    for connection in connections():
        found[connection["port"]] = connection
    print("name\tport\tin_msgs\tin_bytes\tout_msgs\tout_bytes")
    for port, c in sorted(found.items()):
        print(c["name"], port, c["in_msgs"], c["in_bytes"], c["out_msgs"], c["out_bytes"], sep="\t")
    for client in clients:
        await client.close()


asyncio.run(main())
