import aio_pika
from aio import Loop
from peer import main


class Link(Loop):
    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen
        self.wait(self.connect())

    async def connect(self):
        self.connection = await aio_pika.connect(f"amqp://guest:guest@127.0.0.1:{self.chosen.port}/")
        self.channel = await self.connection.channel()
        self.queue = await self.channel.declare_queue(self.chosen.topic)

    def publish(self, payload):
        self.wait(self.channel.default_exchange.publish(aio_pika.Message(payload), self.chosen.topic))

    def flush(self):
        pass

    def subscribe(self, take):
        async def taken(message):
            async with message.process():
                take(message.body)

        self.wait(self.queue.consume(taken))


main(Link)
