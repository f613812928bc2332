-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The fields of ZMTP for display filters, and their expert information.

if not ... then return end

local P = ProtoField

local F = {
    message = P.string("zmtp.message", "Frame"),
    continuation = P.bytes("zmtp.continuation", "Not at a frame's start"),

    signature = P.bytes("zmtp.greeting.signature", "Signature"),
    major = P.uint8("zmtp.greeting.major", "Major version"),
    minor = P.uint8("zmtp.greeting.minor", "Minor version"),
    mechanism = P.string("zmtp.greeting.mechanism", "Mechanism"),
    as_server = P.bool("zmtp.greeting.as_server", "As server"),
    filler = P.bytes("zmtp.greeting.filler", "Filler"),
    socket_number = P.uint8("zmtp.greeting.socket_type", "Socket type", base.DEC, {
        [0] = "PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB", "XSUB",
    }),
    identity = P.bytes("zmtp.greeting.identity", "Identity"),

    more = P.bool("zmtp.more", "More parts", 8, nil, 0x01),
    long = P.bool("zmtp.long", "Long", 8, nil, 0x02),
    is_command = P.bool("zmtp.is_command", "Command", 8, nil, 0x04),
    length = P.uint64("zmtp.length", "Length"),
    body = P.bytes("zmtp.body", "Body"),

    command = P.string("zmtp.command", "Command"),
    property = P.string("zmtp.property.name", "Property"),
    property_text = P.string("zmtp.property.value", "Value"),
    property_bytes = P.bytes("zmtp.property.bytes", "Value"),
    subscription = P.bytes("zmtp.subscription", "Subscription"),
    data = P.bytes("zmtp.command.data", "Data"),

    role = P.string("zmtp.part", "Part"),
    topic = P.string("zmtp.topic", "Topic"),
    payload = P.bytes("zmtp.payload", "Payload"),
    payload_len = P.uint32("zmtp.payload_len", "Payload length of the message"),
    parts = P.uint32("zmtp.parts", "Parts of the message"),
}

local function info(name, text, group, severity)
    return ProtoExpert.new("zmtp." .. name, text, group, severity)
end

local X = {
    malformed = info("malformed", "Malformed frame", expert.group.MALFORMED, expert.severity.ERROR),
    bad_length = info("bad_length", "A length does not fit", expert.group.MALFORMED, expert.severity.ERROR),
    truncated = info("truncated", "Not captured to its end", expert.group.PROTOCOL, expert.severity.NOTE),
    continuation = info("continuation.expert", "Not at a frame's start", expert.group.SEQUENCE,
        expert.severity.NOTE),
}

return { fields = F, experts = X }
