"""tshark's PDML on stdin -> one line for each RTPS submessage on stdout.

Columns: packet, place of the submessage in the datagram, its bytes, id, writer entity id, sequence
number, first fragment, fragments, fragment size, bytes of the serialized sample, its padding bytes,
topic. "-" where the submessage has no such thing.
"""

import sys
import xml.etree.ElementTree as ElementTree


def number(field):
    return str(int(field.get("show"), 0))


def submessage(packet, start, field):
    found = {}
    data = padding = None
    for inner in field.iter("field"):
        name = inner.get("name")
        found.setdefault(name, inner)
        if inner.get("show") == "serializedData" and name == "":
            data = inner.get("size")
        if name == "rtps.param.serialize.encap_len":
            padding = str(int(inner.get("show"), 0) & 3)
    kind = int(field.get("show"), 0)
    has_data = kind in (0x15, 0x16)

    def value(name, wanted=True):
        return number(found[name]) if wanted and name in found else "-"

    writer = found.get("rtps.sm.wrEntityId")
    topic = found.get("rtps.param.topicName")
    size = value("rtps.data_frag.sample_size") if kind == 0x16 else data or "-"
    return [
        packet,
        str(int(field.get("pos")) - start),
        field.get("size"),
        f"{kind:02x}",
        writer.get("value") if writer is not None else "-",
        value("rtps.sm.seqNumber", has_data),
        value("rtps.data_frag.number", kind == 0x16),
        value("rtps.data_frag.num_fragments", kind == 0x16),
        value("rtps.data_frag.size", kind == 0x16),
        size,
        padding or "-",
        topic.get("show") if topic is not None else "-",
    ]


def main():
    print("packet place bytes id writer number first fragments each sample padding topic".replace(" ", "\t"))
    for _, element in ElementTree.iterparse(sys.stdin):
        if element.tag != "packet":
            continue
        packet = element.find("proto[@name='geninfo']/field[@name='num']").get("show")
        for proto in element.findall("proto[@name='rtps']"):
            start = int(proto.get("pos"))
            for field in proto.findall("field[@name='rtps.sm.id']"):
                print("\t".join(submessage(packet, start, field)))
        element.clear()


main()
