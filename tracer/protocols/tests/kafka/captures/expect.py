"""tshark's PDML on stdin -> the lines that Expect.java writes, as far as tshark knows them: PDUs and records.
The port is 9092."""

import sys
import xml.etree.ElementTree as ElementTree

PORT = "9092"
NAMES = {
    0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 8: "OffsetCommit", 9: "OffsetFetch",
    10: "FindCoordinator", 11: "JoinGroup", 12: "Heartbeat", 13: "LeaveGroup", 14: "SyncGroup",
    18: "ApiVersions", 22: "InitProducerId",
}


def show(element, *names):
    """What the first field with one of these names shows."""
    return next(field.get("show") for field in element.iter("field") if field.get("name") in names)


def pdu(ports, proto):
    way = ">" if ports[1] == PORT else "<"
    client = ports[0] if way == ">" else ports[1]
    kind = "Request" if way == ">" else "Response"
    key = int(show(proto, "kafka.api_key", "kafka.response_key"))
    version = show(proto, "kafka.api_version") if way == ">" else "-"
    size = 4 + int(show(proto, "kafka.len"))
    print("pdu", client, way, NAMES[key] + kind, version, size, sep="\t")
    topic = partition = None
    for field in proto.iter("field"):
        match field.get("name"):
            case "kafka.topic_name":
                topic = field.get("show")
            case "kafka.partition_id":
                partition = field.get("show")
            case "kafka.message_value":
                print("record", client, way, f"{topic}-{partition}", field.get("size"), sep="\t")


def main():
    for _, element in ElementTree.iterparse(sys.stdin):
        if element.tag != "packet":
            continue
        tcp = element.find("proto[@name='tcp']")
        for proto in element.findall("proto[@name='kafka']"):
            pdu((show(tcp, "tcp.srcport"), show(tcp, "tcp.dstport")), proto)
        element.clear()


main()
