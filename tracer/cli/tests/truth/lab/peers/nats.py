"""nats-py, which needs an event loop: it has a thread of its own.

`queue=NAME` subscribes as one of a group, `subjects=A,B` are subscribed to, `scheme=ws` goes through a WebSocket, `jetstream=1`
goes through a stream. Of that, `pull=MS` asks for what is in it at such intervals, `durable=NAME` has a consumer that outlives
the connection, and `pending=N` one that is sent so many messages before it acknowledges one. `nap=MS` makes the event loop sleep so long before
an answer or an acknowledgement.
"""

import asyncio
import importlib
import threading

# This module has the library's name.
library = importlib.import_module("nats.aio.client")
ConsumerConfig = importlib.import_module("nats.js.api").ConsumerConfig


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
        nap = float(self.chosen.settings.get("nap", 0)) / 1e3

        async def taken(message):
            take(message.data)
            if nap:
                await asyncio.sleep(nap)
            if self.chosen.role == "answer":
                await message.respond(message.data)

        if "pull" in self.chosen.settings:
            self.pull(taken, float(self.chosen.settings["pull"]) / 1e3)
            return
        settings = self.chosen.settings
        queue, more = settings.get("queue", ""), {}
        if "durable" in settings:
            more["durable"] = settings["durable"]
        if "pending" in settings:
            more["config"] = ConsumerConfig(max_ack_pending=int(settings["pending"]))
        for subject in settings.get("subjects", self.chosen.topic).split(","):
            self.wait((self.stream or self.client).subscribe(subject, queue, cb=taken, **more))
        self.flush()

    def pull(self, taken, pause):
        consumer = self.wait(self.stream.pull_subscribe(self.chosen.topic, "puller"))

        async def work():
            while True:
                await asyncio.sleep(pause)
                try:
                    messages = await consumer.fetch(100, timeout=0.01)
                except asyncio.TimeoutError:
                    continue
                for message in messages:
                    await taken(message)
                    await message.ack()

        self.puller = asyncio.run_coroutine_threadsafe(work(), self.loop)

    def close(self):
        self.wait(self.client.close())
