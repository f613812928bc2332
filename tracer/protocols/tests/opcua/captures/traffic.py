"""OPC UA traffic of asyncua, all in one process: a server, a client that writes and reads, and one that
subscribes. Prints what the server stored and the subscriber was told, as ground truth.

usage: traffic.py PORT [CERTIFICATE KEY MODE]   MODE: Sign or SignAndEncrypt
"""

import asyncio
import sys
import uuid

from asyncua import Client, Server, ua
from asyncua.crypto.security_policies import SecurityPolicyBasic256Sha256


class Told:
    def __init__(self):
        self.values = []
        self.changed = asyncio.Event()

    def datachange_notification(self, node, value, data):
        self.values.append((node.nodeid.to_string(), value))
        self.changed.set()

    async def wait(self, count):
        while len(self.values) < count:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 10)


def policy(certificate, key, mode):
    return f"Basic256Sha256,{mode},{certificate},{key}"


async def serve(url, secure):
    server = Server()
    await server.init()
    server.set_endpoint(url)
    if secure:
        server.set_security_policy(
            [getattr(ua.SecurityPolicyType, "Basic256Sha256_" + secure[2])])
        await server.load_certificate(secure[0])
        await server.load_private_key(secure[1])
    else:
        server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
    index = await server.register_namespace("urn:example")
    ids = [
        (ua.NodeId("the.answer", index), b"", ua.VariantType.ByteString),
        (ua.NodeId(5, index), 0.0, ua.VariantType.Double),
        (ua.NodeId(70000, index), "", ua.VariantType.String),
        (ua.NodeId(uuid.UUID("72962b91-fa75-4ae6-8d28-b404dc7daf63"), index), [0],
         ua.VariantType.Int32),
        (ua.NodeId(b"\0\xffab", index, ua.NodeIdType.ByteString), False, ua.VariantType.Boolean),
    ]
    nodes = []
    for node, value, kind in ids:
        name = f"v{len(nodes)}"
        variable = await server.nodes.objects.add_variable(node, name, value, kind)
        await variable.set_writable()
        nodes.append(variable.nodeid)
    return server, nodes


async def client(url, secure):
    made = Client(url)
    if secure:
        await made.set_security_string(policy(*secure))
    await made.connect()
    return made


async def main():
    url = f"opc.tcp://127.0.0.1:{sys.argv[1]}/"
    secure = sys.argv[2:5]
    server, ids = await serve(url, secure)
    async with server:
        writer, reader = await client(url, secure), await client(url, secure)
        told = Told()
        subscription = await reader.create_subscription(20, told)
        await subscription.subscribe_data_change([reader.get_node(i) for i in ids])
        await told.wait(5)
        nodes = [writer.get_node(i) for i in ids]
        for round in range(1, 4):
            values = [
                bytes([round]) * 64,
                ua.Variant(1.5 * round, ua.VariantType.Double),
                ua.Variant("text" * round, ua.VariantType.String),
                ua.Variant(list(range(round + 3)), ua.VariantType.Int32),
                ua.Variant(round % 2 == 1, ua.VariantType.Boolean),
            ]
            for node, value in zip(nodes, values):
                await node.write_value(value)
            await told.wait(5 * (round + 1))
        await writer.write_values(nodes[:2], [b"together", 42.0])
        await told.wait(22)
        if not secure:
            await nodes[0].write_value(b"L" * 70_000)
            await told.wait(23)
        read = await writer.read_values(nodes[1:])
        for name, value in told.values:
            size = len(value) if hasattr(value, "__len__") else "-"
            print("told", name, size)
        print("read", read)
        await asyncio.sleep(0.5)
        await subscription.delete()
        await writer.disconnect()
        await reader.disconnect()


asyncio.run(main())
