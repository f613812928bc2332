from aio import Loop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from peer import main


class Link(Loop):
    def __init__(self, chosen):
        super().__init__()
        self.chosen, self.last = chosen, None
        self.wait(self.connect())

    async def connect(self):
        if self.chosen.role == "pub":
            self.client = AIOKafkaProducer(bootstrap_servers=self.chosen.address)
        else:
            self.client = AIOKafkaConsumer(
                self.chosen.topic, bootstrap_servers=self.chosen.address, group_id="truth", auto_offset_reset="earliest"
            )
        await self.client.start()

    def publish(self, payload):
        self.wait(self.client.send(self.chosen.topic, payload))

    def flush(self):
        self.wait(self.client.flush())

    def subscribe(self, take):
        async def read():
            async for message in self.client:
                take(message.value)

        # A position is known once the group has shared its partitions.
        self.wait(self.assigned())
        self.begin(read())

    async def assigned(self):
        for partition in self.client.assignment():
            await self.client.position(partition)


main(Link)
