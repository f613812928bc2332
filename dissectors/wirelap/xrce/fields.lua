-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The fields of DDS-XRCE for display filters, and their expert information.

if not ... then return end

local P = ProtoField

local names = {
    submessage = {
        [0] = "CREATE_CLIENT", "CREATE", "GET_INFO", "DELETE", "STATUS_AGENT", "STATUS", "INFO", "WRITE_DATA",
        "READ_DATA", "DATA", "ACKNACK", "HEARTBEAT", "RESET", "FRAGMENT", "TIMESTAMP", "TIMESTAMP_REPLY",
    },
    kind = {
        "participant", "topic", "publisher", "subscriber", "data writer", "data reader", "requester", "replier",
        [0x0A] = "type", [0x0B] = "QoS profile", [0x0C] = "application", [0x0D] = "agent", [0x0E] = "client",
        [0x0F] = "other",
    },
    representation = { "reference", "XML", "binary" },
    status = {
        [0x00] = "ok", [0x01] = "ok, matched", [0x80] = "error: DDS", [0x81] = "error: mismatch",
        [0x82] = "error: already exists", [0x83] = "error: denied", [0x84] = "error: unknown reference",
        [0x85] = "error: invalid data", [0x86] = "error: incompatible", [0x87] = "error: resources",
    },
    format = { [0] = "data", "sample", [4] = "data sequence", [5] = "sample sequence", [7] = "packed samples" },
}

local F = {
    length = P.uint16("xrce.length", "Message length"),
    session = P.uint8("xrce.session", "Session", base.HEX),
    stream = P.uint8("xrce.stream", "Stream", base.HEX),
    sequence = P.uint16("xrce.sequence", "Sequence number"),
    key = P.bytes("xrce.client_key", "Client key"),
    continuation = P.bytes("xrce.continuation", "Not at a message's start"),
    again = P.bool("xrce.again", "Retransmitted"),

    message = P.string("xrce.message", "Submessage"),
    id = P.uint8("xrce.submessage.id", "Submessage", base.DEC, names.submessage),
    little_endian = P.bool("xrce.little_endian", "Little-endian", 8, nil, 0x01),
    last_fragment = P.bool("xrce.fragment.last", "Last fragment", 8, nil, 0x02),
    reuse = P.bool("xrce.create.reuse", "Reuse what exists", 8, nil, 0x02),
    replace = P.bool("xrce.create.replace", "Replace what exists", 8, nil, 0x04),
    format = P.uint8("xrce.data.format", "Format", base.DEC, names.format, 0x0E),
    submessage_len = P.uint16("xrce.submessage.length", "Length"),
    body = P.bytes("xrce.body", "Body"),

    request = P.uint16("xrce.request", "Request", base.HEX),
    object = P.uint16("xrce.object", "Object", base.HEX),
    object_kind = P.uint16("xrce.object.kind", "Kind", base.DEC, names.kind, 0x000F),
    kind = P.uint8("xrce.create.kind", "Kind", base.DEC, names.kind),
    representation = P.uint8("xrce.create.format", "Representation", base.DEC, names.representation),
    representation_len = P.uint32("xrce.create.length", "Length"),
    xml = P.string("xrce.create.text", "Text"),
    binary = P.bytes("xrce.create.binary", "Binary"),
    status = P.uint8("xrce.status", "Status", base.HEX, names.status),
    implementation_status = P.uint8("xrce.status.implementation", "Status of the implementation", base.HEX),
    cookie = P.string("xrce.cookie", "Cookie"),
    version = P.bytes("xrce.version", "Version"),
    vendor = P.bytes("xrce.vendor", "Vendor"),
    created_session = P.uint8("xrce.create_client.session", "Requested session", base.HEX),
    first_unacked = P.uint16("xrce.acknack.first", "First missing message"),
    bitmap = P.bytes("xrce.acknack.bitmap", "Missing messages after the first"),
    first = P.uint16("xrce.heartbeat.first", "First available message"),
    last = P.uint16("xrce.heartbeat.last", "Last sent message"),
    of_stream = P.uint8("xrce.of_stream", "Of stream", base.HEX),
    times = P.bytes("xrce.timestamps", "Timestamps"),

    topic = P.string("xrce.topic", "Topic"),
    payload_len = P.uint32("xrce.payload_len", "Payload length"),
    payload = P.bytes("xrce.payload", "Payload"),
    info = P.bytes("xrce.sample_info", "Sample information"),
    related = P.bytes("xrce.related", "Related request"),
    sample_length = P.bytes("xrce.sample_length", "Length of the only member"),

    fragment = P.bytes("xrce.fragment.data", "Fragment"),
    fragment_count = P.uint32("xrce.fragment.count", "Fragments"),
    reassembled_in = P.framenum("xrce.reassembled_in", "Reassembled in", base.NONE, frametype.NONE),
    reassembled_len = P.uint32("xrce.reassembled_len", "Reassembled length"),
}

local function info(name, text, group, severity)
    return ProtoExpert.new("xrce." .. name, text, group, severity)
end

local X = {
    malformed = info("malformed", "Malformed message", expert.group.MALFORMED, expert.severity.ERROR),
    bad_length = info("bad_length", "A length does not fit", expert.group.MALFORMED, expert.severity.ERROR),
    truncated = info("truncated", "Not captured to its end", expert.group.PROTOCOL, expert.severity.NOTE),
    continuation = info("continuation.expert", "Not at a message's start", expert.group.SEQUENCE,
        expert.severity.NOTE),
    unread = info("unread", "Samples in a format that is not decoded", expert.group.UNDECODED, expert.severity.NOTE),
    again = info("again.expert", "Retransmitted", expert.group.SEQUENCE, expert.severity.NOTE),
}

return { fields = F, experts = X, names = names }
