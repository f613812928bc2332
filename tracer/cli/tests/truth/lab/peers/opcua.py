"""asyncua, client and server. `listen` is the server: `setter=MS` makes it sleep so long for each `every=N`th value written."""

import asyncio
import threading
import time

from asyncua import Client, Server, ua

NODE = ua.NodeId("truth", 2)


class Link:
    def __init__(self, chosen):
        self.chosen, self.loop = chosen, asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.url = f"opc.tcp://{chosen.address}/truth"
        self.wait(self.serve() if chosen.role == "listen" else self.connect())

    def wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def serve(self):
        self.server = Server()
        await self.server.init()
        self.server.set_endpoint(self.url)
        self.server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
        await self.server.register_namespace("truth")
        empty = ua.Variant(b"", ua.VariantType.ByteString)
        variable = await self.server.nodes.objects.add_variable(NODE, "truth", empty)
        await variable.set_writable()
        if "setter" in self.chosen.settings:
            self.server.set_attribute_value_setter(variable.nodeid, self.slow_setter())
        await self.server.start()

    def slow_setter(self):
        written, every = 0, int(self.chosen.settings.get("every", 1))

        def setter(node, attribute, value):
            nonlocal written
            written += 1
            if written % every == 0:
                time.sleep(float(self.chosen.settings["setter"]) / 1e3)
            node.attributes[attribute].value = value

        return setter

    async def connect(self):
        self.client = Client(self.url, timeout=60)
        await self.client.connect()
        self.node = self.client.get_node(NODE)

    def publish(self, payload):
        self.wait(self.node.write_value(ua.DataValue(ua.Variant(payload, ua.VariantType.ByteString))))

    def flush(self):
        pass

    def subscribe(self, take):
        if self.chosen.role == "listen":
            return

        class Handler:
            def datachange_notification(self, node, value, data):
                # The value that the server had before is not one that was written.
                if value:
                    take(value)

        async def subscribed():
            period = float(self.chosen.settings.get("period", 10))
            subscription = await self.client.create_subscription(period, Handler())
            await subscription.subscribe_data_change(self.node, queuesize=1000)

        self.wait(subscribed())

    def close(self):
        self.wait(self.server.stop() if self.chosen.role == "listen" else self.client.disconnect())
