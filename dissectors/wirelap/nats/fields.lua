-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Everything of NATS that display filters can name.

if not ... then return end

local P = ProtoField

local F = {
    message = P.string("nats.message", "Operation"),
    subject = P.string("nats.subject", "Subject"),
    sid = P.string("nats.sid", "Subscription"),
    reply_to = P.string("nats.reply_to", "Reply to"),
    queue_group = P.string("nats.queue_group", "Queue group"),
    max_messages = P.string("nats.max_messages", "Messages until the end"),
    header_len = P.uint32("nats.header_len", "Header length"),
    header_line = P.string("nats.header", "Header"),
    total_len = P.uint32("nats.total_len", "Length of header and payload"),
    payload_len = P.uint32("nats.payload_len", "Payload length"),
    payload = P.bytes("nats.payload", "Payload"),
    options = P.string("nats.options", "Options"),
    error = P.string("nats.error", "Error"),
    arguments = P.string("nats.arguments", "Arguments"),
    continuation = P.bytes("nats.continuation", "Not at an operation's start"),
}

local function info(name, text, group, severity)
    return ProtoExpert.new("nats." .. name, text, group, severity)
end

local X = {
    malformed = info("malformed", "Malformed operation", expert.group.MALFORMED, expert.severity.ERROR),
    truncated = info("truncated", "Not captured to its end", expert.group.PROTOCOL, expert.severity.NOTE),
    continuation = info("continuation.expert", "Not at an operation's start", expert.group.SEQUENCE,
        expert.severity.NOTE),
    refused = info("refused", "The server says that something is wrong", expert.group.RESPONSE_CODE,
        expert.severity.WARN),
}

return { fields = F, experts = X }
