import asyncio
import os

from amqtt.broker import Broker

CONFIG = {
    "listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{os.environ['PORT']}"}},
    "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
}


async def main():
    broker = Broker(CONFIG)
    await broker.start()
    await asyncio.Event().wait()


asyncio.run(main())
