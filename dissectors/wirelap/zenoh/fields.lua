-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Everything that display filters can name.

if not ... then return end

local names = require("wirelap.zenoh.names")
local P = ProtoField

local function flag(name, text, mask)
    return P.bool("zenoh." .. name, text, 8, nil, mask)
end

local function id(name, text, values)
    return P.uint8("zenoh." .. name, text, base.HEX, values, 0x1F)
end

local F = {
    -- The batch.
    batch_len = P.uint32("zenoh.batch.len", "Batch length"),
    compressed = P.bool("zenoh.batch.compressed", "Compressed"),
    compressed_data = P.bytes("zenoh.batch.compressed_data", "Compressed messages"),
    continuation = P.bytes("zenoh.continuation", "Not at a batch's start"),

    -- Every message.
    message = P.string("zenoh.message", "Message"),
    extensions_follow = flag("extensions_follow", "Extensions follow", 0x80),

    -- Transport messages.
    transport_id = id("transport.id", "Transport message", names.transport),
    ack = flag("ack", "Ack", 0x20),
    has_sizes = flag("has_sizes", "Has sizes", 0x40),
    version = P.uint8("zenoh.version", "Protocol version"),
    role = P.uint8("zenoh.role", "Role", base.DEC, names.role, 0x03),
    zid = P.bytes("zenoh.zid", "Zenoh id"),
    sn_bits = P.uint8("zenoh.resolution.sn", "Sequence numbers", base.DEC, names.bits, 0x03),
    request_bits = P.uint8("zenoh.resolution.request", "Request ids", base.DEC, names.bits, 0x0C),
    batch_size = P.uint16("zenoh.batch_size", "Largest batch"),
    cookie = P.bytes("zenoh.cookie", "Cookie"),
    lease = P.uint32("zenoh.lease", "Lease"),
    lease_seconds = flag("lease_seconds", "Lease in seconds", 0x40),
    join_lease_seconds = flag("lease_seconds", "Lease in seconds", 0x20),
    first_sn = P.uint64("zenoh.first_sn", "First sequence number"),
    next_reliable = P.uint64("zenoh.join.next_reliable", "Next reliable sequence number"),
    next_best_effort = P.uint64("zenoh.join.next_best_effort", "Next best-effort sequence number"),
    close_session = flag("close.session", "Closes the session", 0x20),
    close_reason = P.uint8("zenoh.close.reason", "Reason", base.DEC, names.close),
    reliable = flag("reliable", "Reliable", 0x20),
    sn = P.uint64("zenoh.sn", "Sequence number"),
    oam_id = P.uint16("zenoh.oam.id", "OAM id"),
    oam_value = P.uint64("zenoh.oam.value", "Value"),
    oam_data = P.bytes("zenoh.oam.data", "Data"),

    -- Fragments.
    more = flag("fragment.more", "More fragments", 0x40),
    fragment_first = P.bool("zenoh.fragment.first", "First fragment"),
    fragment_dropped = P.bool("zenoh.fragment.dropped", "Dropped by the sender"),
    fragment_data = P.bytes("zenoh.fragment.data", "Fragment"),
    fragment_len = P.uint32("zenoh.fragment.len", "Fragment length"),
    fragment_index = P.uint32("zenoh.fragment.index", "Fragment of its message, from 0"),
    fragment_count = P.uint32("zenoh.fragment.count", "Fragments"),
    reassembled_in = P.framenum("zenoh.reassembled_in", "Reassembled in", base.NONE, frametype.NONE),
    reassembled_from = P.framenum("zenoh.reassembled_from", "Begins in", base.NONE, frametype.NONE),
    reassembled_len = P.uint32("zenoh.reassembled_len", "Reassembled length"),

    -- Scouting.
    scouting_id = id("scouting.id", "Scouting message", names.scouting),
    scout_what = P.uint8("zenoh.scout.what", "Roles sought", base.HEX, nil, 0x07),
    has_zid = flag("scout.has_zid", "Has Zenoh id", 0x08),
    has_locators = flag("hello.has_locators", "Has locators", 0x20),
    locator = P.string("zenoh.locator", "Locator"),

    -- Network messages.
    network_id = id("network.id", "Network message", names.network),
    named = flag("named", "Has a suffix", 0x20),
    by_sender = flag("by_sender", "Number declared by the sender", 0x40),
    scope = P.uint16("zenoh.scope", "Key expression's number"),
    suffix = P.string("zenoh.suffix", "Suffix"),
    keyexpr = P.string("zenoh.keyexpr", "Key expression"),
    push_keyexpr = P.string("zenoh.push.keyexpr", "Key expression"),
    request_keyexpr = P.string("zenoh.request.keyexpr", "Key expression"),
    response_keyexpr = P.string("zenoh.response.keyexpr", "Key expression"),
    interest_keyexpr = P.string("zenoh.interest.keyexpr", "Key expression"),
    declare_keyexpr = P.string("zenoh.declare.keyexpr", "Key expression"),
    request = P.uint32("zenoh.request.id", "Request"),
    interest = P.uint32("zenoh.interest.id", "Interest"),
    has_interest = flag("declare.has_interest", "Answers an interest", 0x20),
    interest_mode = P.uint8("zenoh.interest.mode", "Mode", base.DEC, names.interest_mode, 0x60),
    interest_options = P.uint8("zenoh.interest.options", "Options", base.HEX),
    wants_keyexprs = flag("interest.key_expressions", "Key expressions", 0x01),
    wants_subscribers = flag("interest.subscribers", "Subscribers", 0x02),
    wants_queryables = flag("interest.queryables", "Queryables", 0x04),
    wants_tokens = flag("interest.tokens", "Tokens", 0x08),
    restricted = flag("interest.restricted", "Restricted to a key expression", 0x10),
    aggregate = flag("interest.aggregate", "Aggregated", 0x80),
    declaration_id = id("declaration.id", "Declaration", names.declaration),
    declared_scope = P.uint16("zenoh.declare.scope", "Declared number"),
    declared_entity = P.uint32("zenoh.declare.entity", "Declared entity"),

    -- Bodies.
    body_id = id("body.id", "Body", names.body),
    has_timestamp = flag("body.has_timestamp", "Has a timestamp", 0x20),
    has_consolidation = flag("body.has_consolidation", "Has a consolidation", 0x20),
    has_encoding = flag("body.has_encoding", "Has an encoding", 0x40),
    has_parameters = flag("query.has_parameters", "Has parameters", 0x40),
    timestamp = P.absolute_time("zenoh.timestamp", "Timestamp", base.UTC),
    timestamp_id = P.bytes("zenoh.timestamp.id", "Timestamp's origin"),
    encoding = P.uint16("zenoh.encoding", "Encoding"),
    schema = P.string("zenoh.encoding.schema", "Schema"),
    consolidation = P.uint8("zenoh.consolidation", "Consolidation", base.DEC, names.consolidation),
    parameters = P.string("zenoh.query.parameters", "Parameters"),
    payload = P.bytes("zenoh.payload", "Payload"),
    payload_len = P.uint32("zenoh.payload_len", "Payload length"),
    slice_count = P.uint32("zenoh.shm.slices", "Slices"),
    slice_kind = P.uint32("zenoh.shm.kind", "Kind", base.DEC, names.slice),
    slice_len = P.uint32("zenoh.shm.len", "Length"),

    -- Extensions.
    ext_id = P.uint8("zenoh.ext.id", "Extension", base.HEX, nil, 0x0F),
    ext_must = flag("ext.mandatory", "Mandatory", 0x10),
    ext_encoding = P.uint8("zenoh.ext.encoding", "Encoding", base.DEC, names.encoding, 0x60),
    ext_more = flag("ext.more", "Another one follows", 0x80),
    ext_value = P.uint64("zenoh.ext.value", "Value"),
    ext_len = P.uint32("zenoh.ext.len", "Length"),
    ext_data = P.bytes("zenoh.ext.data", "Data"),
    priority = P.uint8("zenoh.priority", "Priority", base.DEC, names.priority),
    express = P.bool("zenoh.express", "Express"),
    block = P.bool("zenoh.block", "Blocks instead of dropping"),
    source_zid = P.bytes("zenoh.source.zid", "Source"),
    source_entity = P.uint32("zenoh.source.entity", "Source's entity"),
    source_sn = P.uint32("zenoh.source.sn", "Source's sequence number"),
    attachment_len = P.uint32("zenoh.attachment_len", "Attachment length"),
    attachment = P.bytes("zenoh.attachment", "Attachment"),
}

local function info(name, text, group, severity)
    return ProtoExpert.new("zenoh." .. name, text, group, severity)
end

-- `malformed` and `bad_length` are the kinds that a cursor throws.
local X = {
    malformed = info("malformed", "Malformed message", expert.group.MALFORMED, expert.severity.ERROR),
    bad_length = info("bad_length", "A length does not fit", expert.group.MALFORMED, expert.severity.ERROR),
    truncated = info("truncated", "Not captured to its end", expert.group.PROTOCOL, expert.severity.NOTE),
    mandatory = info("unknown_mandatory", "Unknown mandatory extension", expert.group.UNDECODED,
        expert.severity.WARN),
    unresolved = info("unresolved", "Number declared before the capture began", expert.group.SEQUENCE,
        expert.severity.NOTE),
    lost = info("fragment.lost", "Fragments of this message are missing", expert.group.SEQUENCE,
        expert.severity.WARN),
    continuation = info("continuation.expert", "Not at a batch's start", expert.group.SEQUENCE,
        expert.severity.NOTE),
    version = info("version.unexpected", "Not the protocol version of Zenoh 1.x", expert.group.PROTOCOL,
        expert.severity.WARN),
}

return { fields = F, experts = X }
