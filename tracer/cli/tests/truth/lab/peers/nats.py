"""nats-py, which needs an event loop: it has a thread of its own."""

import asyncio
import importlib
import threading

# This module has the library's name.
library = importlib.import_module("nats.aio.client")


class Link:
    def __init__(self, chosen):
        self.chosen, self.loop = chosen, asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.client = library.Client()
        self.wait(self.client.connect(f"nats://{chosen.address}"))

    def wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def publish(self, payload):
        self.wait(self.client.publish(self.chosen.topic, payload))

    def flush(self):
        self.wait(self.client.flush())

    def subscribe(self, take):
        async def taken(message):
            take(message.data)

        self.wait(self.client.subscribe(self.chosen.topic, cb=taken))
        self.flush()

    def close(self):
        self.wait(self.client.close())
