import aiomqtt
from aio import Loop
from peer import main


class Link(Loop):
    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen
        self.wait(self.connect())

    async def connect(self):
        self.client = aiomqtt.Client("127.0.0.1", self.chosen.port)
        await self.client.__aenter__()

    def publish(self, payload):
        self.wait(self.client.publish(self.chosen.topic, payload, self.chosen.qos))

    def flush(self):
        pass

    def subscribe(self, take):
        async def read():
            async for message in self.client.messages:
                take(message.payload)

        self.wait(self.client.subscribe(self.chosen.topic, self.chosen.qos))
        self.begin(read())


main(Link)
