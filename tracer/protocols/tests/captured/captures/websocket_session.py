"""MQTT (amqtt, with a broker of its own) and NATS (frames of `websockets`) over compressed WebSockets; prints what was sent and got."""

import asyncio
import logging
import sys

from amqtt.broker import Broker
from amqtt.client import MQTTClient
from websockets.asyncio.client import connect
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

logging.disable(logging.CRITICAL)
MESSAGES = 30
TEXT = "temperature 21.5 degrees; " * 6


def payload(number):
    # Every third message is too short to be worth compressing.
    return f"{number}" if number % 3 == 0 else f"{number} {TEXT}"


async def mqtt():
    """With a context that goes on from message to message."""
    listener = {"type": "ws", "bind": "127.0.0.1:9083"}
    allow = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    broker = Broker({"listeners": {"default": listener}, "plugins": allow})
    await broker.start()
    subscriber, publisher = (MQTTClient(config={"auto_reconnect": False}) for _ in range(2))
    for client in (subscriber, publisher):
        await client.connect("ws://127.0.0.1:9083/")
    await subscriber.subscribe([("sensors/#", 0)])
    got = 0
    for number in range(MESSAGES):
        await publisher.publish("sensors/room", payload(number).encode())
        message = await subscriber.deliver_message(timeout_duration=5)
        got += message.data.decode() == payload(number)
    for client in (publisher, subscriber):
        await client.disconnect()
    await broker.shutdown()
    return got


async def nats():
    """Without one: the only way that nats-server has."""
    forget = ClientPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)
    got, options = b"", {"extensions": [forget], "compression": None}
    async with connect("ws://127.0.0.1:9222", **options) as sub, connect("ws://127.0.0.1:9222", **options) as pub:
        for client in (sub, pub):
            await client.recv()
            await client.send(b'CONNECT {"verbose":false}\r\nPING\r\n')
            await client.recv()
        await sub.send(b"SUB sensors.> 1\r\nPING\r\n")
        await sub.recv()
        for number in range(MESSAGES):
            text = payload(number).encode()
            await pub.send(b"PUB sensors.room %d\r\n%s\r\n" % (len(text), text))
        while got.count(b"MSG sensors.room") < MESSAGES:
            got += await asyncio.wait_for(sub.recv(), 5)
    return got.count(b"MSG sensors.room")


print("protocol", "sent", "got", sep="\t")
for name, session in (("mqtt", mqtt), ("nats", nats)):
    print(name, MESSAGES, asyncio.run(session()), sep="\t")
sys.stdout.flush()
