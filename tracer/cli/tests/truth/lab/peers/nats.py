"""nats-py, which needs an event loop: it has a thread of its own.

`queue=NAME` subscribes as one of a group, `jetstream=1` goes through a stream, `scheme=ws` through a WebSocket.
"""

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
        self.wait(self.client.connect(f"{chosen.settings.get('scheme', 'nats')}://{chosen.address}"))
        self.stream = self.client.jetstream() if "jetstream" in chosen.settings else None
        if self.stream and chosen.role == "pub":
            self.wait(self.stream.add_stream(name="truth", subjects=[chosen.topic]))

    def wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def publish(self, payload):
        if self.chosen.role == "ask":
            return self.wait(self.client.request(self.chosen.topic, payload, timeout=30))
        self.wait((self.stream or self.client).publish(self.chosen.topic, payload))

    def flush(self):
        self.wait(self.client.flush())

    def subscribe(self, take):
        async def taken(message):
            take(message.data)
            if self.chosen.role == "answer":
                await message.respond(message.data)

        queue = self.chosen.settings.get("queue", "")
        self.wait((self.stream or self.client).subscribe(self.chosen.topic, queue, cb=taken))
        self.flush()

    def close(self):
        self.wait(self.client.close())
