import os
import threading

from opcua import Server, ua

server = Server()
server.set_endpoint(f"opc.tcp://127.0.0.1:{os.environ['PORT']}/truth")
server.register_namespace("truth")
variable = server.nodes.objects.add_variable(ua.NodeId("truth", 2), "truth", ua.Variant(b"", ua.VariantType.ByteString))
variable.set_writable()
server.start()
threading.Event().wait()
