-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The fields of messages for display filters, and their expert information.

if not ... then return end

local P, X = ProtoField, ProtoExpert

local F = {
    id = P.uint64("wirelap.msg.id", "Message"),
    middleware = P.string("wirelap.middleware", "Middleware"),
    broker = P.string("wirelap.broker", "Broker"),
    topic = P.string("wirelap.topic", "Topic"),
    payload = P.uint64("wirelap.payload_bytes", "Payload bytes"),
    leg = P.uint8("wirelap.leg", "Leg"),
    legs = P.uint8("wirelap.legs", "Legs"),
    stage = P.string("wirelap.stage", "Stage", base.NONE, "Where this packet was seen: xmit or rx"),
    delivers = P.bool("wirelap.delivers", "Has the last byte for the reader"),
    standing = P.string("wirelap.standing", "Standing", base.NONE,
        "counted, warm-up, incomplete, undelivered or under way"),
    last_leg = P.uint8("wirelap.last_seen.leg", "Last seen in leg"),
    last_stage = P.string("wirelap.last_seen.stage", "Last seen at"),
    readers = P.uint32("wirelap.readers", "Readers"),

    one_way = P.uint64("wirelap.one_way_ns", "One way (ns)"),
    one_way_us = P.double("wirelap.one_way_us", "One way (µs)"),
    begins = P.uint64("wirelap.begins_ns", "Leg begins, since the message's start (ns)"),
    leg_time = P.uint64("wirelap.leg_ns", "This leg (ns)"),

    sender = P.string("wirelap.sender", "Sender"),
    sender_pid = P.uint32("wirelap.sender.pid", "Process"),
    sender_tid = P.uint32("wirelap.sender.tid", "Thread"),
    reader = P.string("wirelap.reader", "Reader"),
    reader_pid = P.uint32("wirelap.reader.pid", "Process"),
    reader_tid = P.uint32("wirelap.reader.tid", "Thread"),
    queue = P.uint16("wirelap.queue", "Device queue"),

    verdict = P.string("wirelap.verdict", "Held up by"),
    verdict_time = P.uint64("wirelap.verdict.ns", "For (ns)", base.DEC, nil, nil, "Time beyond that of a typical message"),
    verdict_leg = P.uint8("wirelap.verdict.leg", "In leg"),
    verdict_segment = P.string("wirelap.verdict.segment", "In segment"),

    part_from = P.uint64("wirelap.part.from", "From byte"),
    part_to = P.uint64("wirelap.part.to", "To byte"),
    part_of = P.uint64("wirelap.part.of", "Of bytes"),

    previous = P.framenum("wirelap.previous_leg", "Leg before in"),
    next = P.framenum("wirelap.next_leg", "Leg after in"),
}

local segments = {
    { "client_tx", "Client library, sending" }, { "write", "Further writes" }, { "socket_tx", "Socket, sending" },
    { "loss", "Lost, until retransmitted" }, { "qdisc", "Queueing discipline" }, { "wire", "Device to device" },
    { "stack_rx", "Stack, receiving" },
    { "wakeup", "Wakeup of the reader" }, { "runqueue", "Waiting for the CPU" },
    { "handoff", "Handoff between threads" }, { "busy", "Reader busy" },
    { "in_kernel", "In the kernel, undivided" }, { "read", "Reading" },
    { "client_rx", "Client library, receiving" }, { "broker_dwell", "In the broker" },
}
local by_segment = {}
for _, segment in ipairs(segments) do
    local name, label = segment[1], segment[2]
    local field = P.uint64("wirelap.segment." .. name .. "_ns", label .. " (ns)")
    F["segment_" .. name] = field
    by_segment[name] = field
end

local experts = {
    late = X.new("wirelap.late", "Held up for 1 ms or more, and for most of the one-way latency", expert.group.PROTOCOL,
        expert.severity.WARN),
    held_up = X.new("wirelap.held_up", "Held up", expert.group.PROTOCOL, expert.severity.NOTE),
    incomplete = X.new("wirelap.incomplete", "An end was not seen", expert.group.PROTOCOL, expert.severity.NOTE),
    undelivered = X.new("wirelap.undelivered", "Not seen to be delivered", expert.group.PROTOCOL, expert.severity.NOTE),
    unreadable = X.new("wirelap.unreadable", "A comment of wirelap in an unknown form", expert.group.UNDECODED,
        expert.severity.WARN),
}

return { fields = F, experts = experts, segments = by_segment }
