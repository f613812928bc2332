import threading

from opcua import Client, ua
from peer import main


class Link:
    def __init__(self, chosen):
        self.client = Client(f"opc.tcp://{chosen.address}/truth", timeout=60)
        self.client.connect()
        self.node = self.client.get_node(ua.NodeId("truth", 2))

    def publish(self, payload):
        self.node.set_value(ua.DataValue(ua.Variant(payload, ua.VariantType.ByteString)))

    def flush(self):
        pass

    def subscribe(self, take):
        begun = threading.Event()

        class Handler:
            def datachange_notification(self, _node, value, _data):
                # The value that the server had before is not one that was written.
                take(value) if value else begun.set()

        self.client.create_subscription(10, Handler()).subscribe_data_change(self.node, queuesize=1000)
        begun.wait(30)


main(Link)
