import mqttools
from aio import Loop
from peer import main


class Link(Loop):
    """QoS 0 is all that this library has."""

    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen
        self.wait(self.connect())

    async def connect(self):
        self.client = mqttools.Client("127.0.0.1", self.chosen.port)
        await self.client.start()

    def publish(self, payload):
        async def work():
            self.client.publish(mqttools.Message(self.chosen.topic, payload))

        self.wait(work())

    def flush(self):
        pass

    def subscribe(self, take):
        async def read():
            while message := await self.client.messages.get():
                take(message.message)

        self.wait(self.client.subscribe(self.chosen.topic))
        self.begin(read())


main(Link)
