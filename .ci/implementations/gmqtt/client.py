import asyncio

import gmqtt
from aio import Loop
from peer import main


class Link(Loop):
    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen
        self.wait(self.connect())

    async def connect(self):
        self.client = gmqtt.Client(f"gmqtt-{self.chosen.role}{self.chosen.number}")
        self.subscribed = asyncio.Event()
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        await self.client.connect("127.0.0.1", self.chosen.port)

    def publish(self, payload):
        async def work():
            self.client.publish(self.chosen.topic, payload, qos=self.chosen.qos)

        self.wait(work())

    def flush(self):
        pass

    def subscribe(self, take):
        async def taken(_client, _topic, payload, _qos, _properties):
            take(payload)
            return 0

        async def work():
            self.client.on_message = taken
            self.client.subscribe(self.chosen.topic, qos=self.chosen.qos)
            await self.subscribed.wait()

        self.wait(work())


main(Link)
