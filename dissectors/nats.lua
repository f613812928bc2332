-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The NATS client protocol over TCP, for versions of Wireshark and tshark from 4.0 that have no own dissector for NATS
-- (Lua 5.2 to 5.4). `wirelap/nats/line` reads the control lines; `wirelap/nats/fields` defines the fields.

local here = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
package.path = here .. "?.lua;" .. here .. "?.module;" .. package.path

local nats = require("wirelap.absent")("nats", "NATS")
if not nats then return end

local Node = require("wirelap.node")
local line = require("wirelap.nats.line")
local stream = require("wirelap.stream")
local all = require("wirelap.nats.fields")
local F, X = all.fields, all.experts

nats.fields = all.fields
nats.experts = all.experts

-- Bytes that are copied to look for a line's end: most lines are shorter, and copying more for each line is slow.
local FIRST_LOOK = 512

-- The control line at `offset`; the results are those of `line.read`.
local function read_line(tvb, offset)
    local rest = tvb:len() - offset
    local found, more = line.read(tvb:raw(offset, math.min(rest, FIRST_LOOK)))
    if found or not more or rest <= FIRST_LOOK then return found, more end
    return line.read(tvb:raw(offset, rest))
end

local function word(node, field, from)
    if from then node:text(field, from.from, from.to, from.text) end
end

-- Shows header and payload, which follow a message's control line; returns a line of text on the message.
local function body(node, found, bytes)
    local from = found.line_len
    local split = from + found.header_len
    for start, text, stop in bytes:sub(from + 1, split):gmatch("()([^\r\n]+)()") do
        node:text(F.header_line, from + start - 1, from + stop - 1, text)
    end
    local to = from + found.total
    local payload = node:leaf(F.payload_len, split, to, to - split)
    if to > split then payload:leaf(F.payload, split, to) end
    if #bytes < found.len then
        node:expert(X.truncated, "Not captured to its end")
    elseif bytes:sub(to + 1, to + 2) ~= "\r\n" then
        node:expert(X.malformed, "The payload does not end where it should")
    end
    return string.format("%s %s (%d bytes)", found.name, found.subject.text, to - split)
end

local function message(node, found, bytes)
    word(node, F.subject, found.subject)
    word(node, F.sid, found.sid)
    word(node, F.reply_to, found.reply_to)
    if found.header_word then
        node:leaf(F.header_len, found.header_word.from, found.header_word.to, found.header_len)
    end
    node:leaf(F.total_len, found.total_word.from, found.total_word.to, found.total)
    return body(node, found, bytes)
end

local function subscription(node, found)
    local args = found.words
    word(node, F.subject, args[1])
    if #args > 2 then word(node, F.queue_group, args[2]) end
    if #args > 1 then word(node, F.sid, args[#args]) end
    return found.name .. " " .. (args[1] and args[1].text or "")
end

local function unsubscription(node, found)
    word(node, F.sid, found.words[1])
    word(node, F.max_messages, found.words[2])
    return found.name
end

-- Returns a reader that shows everything behind the verb as one text in `field`, with the expert info `info` if given.
local function arguments(field, info)
    return function(node, found, bytes)
        local text = bytes:sub(found.from + 1, found.to):match("^%s*(.-)%s*$")
        if text ~= "" then
            local item = node:text(field, found.to - #text, found.to, text)
            if info then item:expert(info, text) end
        end
        return found.name
    end
end

local readers = {
    message = message, forward = arguments(F.arguments), sub = subscription, unsub = unsubscription,
    options = arguments(F.options), error = arguments(F.error, X.refused), none = arguments(F.arguments),
    internal = arguments(F.arguments),
}

local function dissect_operation(tvb, pinfo, tree)
    local len = tvb:len()
    local item = tree:add(nats, tvb(0, len))
    local node = Node.new(item, tvb)
    local bytes = tvb:raw(0, len)
    local found = line.read(bytes)
    local text = "Continuation"
    if found then
        text = readers[found.verb.kind](node, found, bytes)
        node:generated(F.message, found.name)
    else
        node:leaf(F.continuation, 0, len):expert(X.continuation, "Not at an operation's start")
    end
    item:append_text(", " .. text)
    stream.show(pinfo, tvb, "NATS", text)
    return tvb:reported_len()
end

-- Length in bytes of the operation at `offset`, or nil and whether more bytes could decide it.
local function operation_len(tvb, offset)
    local found, more = read_line(tvb, offset)
    return found and found.len, more
end

-- A TLS record (RFC 8446 §5.1): type 20 to 23, version 3.x.
local function is_tls(tvb)
    if tvb:len() < 3 then return false end
    local kind = tvb(0, 1):uint()
    return kind >= 20 and kind <= 23 and tvb(1, 1):uint() == 3
end

local tls = Dissector.get("tls")

function nats.dissector(tvb, pinfo, tree)
    if tvb:len() == 0 then return 0 end
    if is_tls(tvb) then return tls:call(tvb, pinfo, tree) end
    return stream.tcp(tvb, tree, operation_len, dissect_operation)
end

DissectorTable.get("tcp.port"):add(4222, nats)

nats:register_heuristic("tcp", stream.heuristic(nats, function(tvb)
    return tvb:len() >= 6 and line.opens(tvb:raw(0, math.min(tvb:len(), 64)))
end, operation_len))
