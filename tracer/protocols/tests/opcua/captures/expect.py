"""tshark's PDML on stdin -> one line for each OPC UA chunk on stdout.

Columns: packet, connection, side (A speaks first), chunk type with its F, C or A, its bytes, service, values as NODE=BYTES
with blanks between; "-" where the chunk has no such thing. The bytes are those of the content: without
type, without the length of a string, without the number of an array's elements.
"""

import base64
import re
import sys
import xml.etree.ElementTree as ElementTree

STRINGS = (12, 15, 16)


def named(field, name):
    return next((f for f in field.iter("field") if f.get("name") == name), None)


def number(field, name):
    found = named(field, name)
    return None if found is None else int(found.get("show"), 0)


def shown(field, pattern):
    return [f for f in field.iter("field") if re.search(pattern, f.get("show") or "")]


def node(field):
    """The text of the first NodeId in a field."""
    field = shown(field, r"NodeId: NodeId$")[0]
    namespace = number(field, "opcua.nodeid.nsindex") or 0
    prefix = f"ns={namespace};" if namespace else ""
    for kind, letter in (("numeric", "i"), ("string", "s"), ("guid", "g"), ("bytestring", "b")):
        found = named(field, "opcua.nodeid." + kind)
        if found is None:
            continue
        text = found.get("show")
        if kind == "bytestring":
            text = base64.b64encode(bytes.fromhex(text.replace(":", ""))).decode()
        return f"{prefix}{letter}={text}"
    raise ValueError(ElementTree.tostring(field))


def content(data_value):
    """Bytes of a DataValue's content; None if it has no value."""
    kind = number(data_value, "opcua.variant.has_value")
    if not kind:
        return None
    size = int(shown(data_value, r"Value: Variant$")[0].get("size")) - 1
    if kind & 0x40:
        dimensions = shown(data_value, r"ArrayDimensions")[-1]
        size -= int(dimensions.get("size"))
    if kind & 0x80 or kind in STRINGS:
        size -= 4
    return size


def is_value(field):
    return number(field, "opcua.AttributeId") == 13


class Conversation:
    def __init__(self):
        self.handles = {}
        self.reads = {}
        self.first = None

    def side(self, port):
        self.first = self.first or port
        return "A" if port == self.first else "B"

    def values(self, service, request, proto):
        if service == "CreateMonitoredItemsRequest":
            subscription = number(proto, "opcua.SubscriptionId")
            for item in shown(proto, r"\]: MonitoredItemCreateRequest$"):
                self.handles[subscription, number(item, "opcua.ClientHandle")] = node(item)
        elif service == "ReadRequest":
            wanted = shown(proto, r"\]: ReadValueId$")
            self.reads[request] = [node(w) if is_value(w) else None for w in wanted]
        elif service == "WriteRequest":
            for value in shown(proto, r"\]: WriteValue$"):
                if is_value(value):
                    yield node(value), content(value)
        elif service == "ReadResponse":
            for index, value in enumerate(shown(proto, r"\]: DataValue$")):
                name = self.reads[request][index]
                # The server's own state is no application's.
                if name and name.startswith("ns="):
                    yield name, content(value)
        elif service == "PublishResponse":
            subscription = number(proto, "opcua.SubscriptionId")
            for change in shown(proto, r"\]: MonitoredItemNotification$"):
                handle = subscription, number(change, "opcua.ClientHandle")
                yield self.handles[handle], content(change)


def chunk(proto, conversation):
    kind = named(proto, "opcua.transport.type").get("show")
    end = named(proto, "opcua.transport.chunk").get("show")
    service = "-"
    found = named(proto, "opcua.servicenodeid.numeric")
    if found is not None and kind == "MSG":
        service = re.search(r": (\w+) \(", found.get("showname")).group(1)
    request = number(proto, "opcua.security.rqid")
    values = conversation.values(service, request, proto)
    texts = [f"{name}={size}" for name, size in values if size is not None]
    size = named(proto, "opcua.transport.size").get("show")
    return [kind + end, size, service, " ".join(texts) or "-"]


def main():
    conversations = {}
    print("packet connection side chunk bytes service values".replace(" ", "\t"))
    for _, element in ElementTree.iterparse(sys.stdin):
        if element.tag != "packet":
            continue
        packet = named(element.find("proto[@name='geninfo']"), "num").get("show")
        tcp = element.find("proto[@name='tcp']")
        stream = named(tcp, "tcp.stream").get("show")
        conversation = conversations.setdefault(stream, Conversation())
        side = conversation.side(named(tcp, "tcp.srcport").get("show"))
        for proto in element.findall("proto[@name='opcua']"):
            print("\t".join([packet, stream, side, *chunk(proto, conversation)]))
        element.clear()


main()
