-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The bodies of submessages (DDS-XRCE 1.0 §8.3.5). A flag of the submessage gives the byte order of its numbers.
--
-- WRITE_DATA and DATA (§7.7.11, §8.3.5.8):
--
--   +------------+-----------+ +--------------+ +---------------+----------+ +-----------+
--   | request, 2 | object, 2 | | info, 12     | | related, 4/24 | [length] | | sample …  |
--   +------------+-----------+ +--------------+ +---------------+----------+ +-----------+
--                                format SAMPLE    of services
--
-- If a sample is a single sequence or string, the length at its start does not count as payload, as in DDS; neither
-- does the related request of a service's sample.

if not ... then return end

local Cursor = require("wirelap.cursor")
local objects = require("wirelap.xrce.objects")
local all = require("wirelap.xrce.fields")
local F, X = all.fields, all.experts
local floor, has = math.floor, Cursor.has

local submessage = {}

local REQUESTER, REPLIER = 7, 8

local function leaf(at, node, field, len)
    local from, to = at:skip(len)
    if to > from then node:leaf(field, from, to) end
end

local function number(at, node, field, len, little)
    local from = at.at
    local value = little and at:le(len) or at:be(len)
    node:leaf(field, from, at.at, value)
    return value
end

-- Shows the request and its object; their bytes have network order in every submessage.
local function about(at, node)
    number(at, node, F.request, 2, false)
    local from = at.at
    local object = number(at, node, F.object, 2, false)
    node:leaf(F.object_kind, from, at.at, object)
    return object
end

local function status(at, node)
    leaf(at, node, F.status, 1)
    leaf(at, node, F.implementation_status, 1)
end

local function create_client(at, node)
    leaf(at, node, F.cookie, 4)
    leaf(at, node, F.version, 2)
    leaf(at, node, F.vendor, 2)
    leaf(at, node, F.key, 4)
    leaf(at, node, F.created_session, 1)
end

local function create(at, node, sub, context)
    local object = about(at, node)
    local kind, format = at:u8(), at:u8()
    node:leaf(F.kind, at.at - 2, at.at - 1)
    node:leaf(F.representation, at.at - 1, at.at)
    at:skip(2)
    local len = number(at, node, F.representation_len, 4, sub.little)
    local from = at.at
    local text = at:take(len)
    if format == 3 then
        node:leaf(F.binary, from, at.at)
    else
        node:text(F.xml, from, at.at, text)
    end
    local topic = objects.topic(kind, format, text, sub.little, context.topic_of)
    if topic then
        context.learn(object, topic)
        node:generated(F.topic, topic)
        sub.label = sub.name .. " " .. topic
    end
end

-- Whether a sample is a single sequence, in either byte order: the agent forwards the client's bytes without changing
-- their byte order.
local function is_lone(at)
    local len = at:remaining()
    if len < 4 or #at.bytes < at.at + 4 then return false end
    local a, b, c, d = at.bytes:byte(at.at + 1, at.at + 4)
    return a + b * 256 + c * 65536 + d * 16777216 + 4 == len or d + c * 256 + b * 65536 + a * 16777216 + 4 == len
end

local function data(at, node, sub, context)
    local object = about(at, node)
    local format = floor(sub.flags / 2) % 8
    if format > 1 then
        node:expert(X.unread, "Samples in a format that is not decoded")
        return
    end
    if format == 1 then leaf(at, node, F.info, 12) end
    local kind = object % 16
    if kind == REPLIER then
        leaf(at, node, F.related, 24)
    elseif kind == REQUESTER and sub.name == "DATA" then
        leaf(at, node, F.related, 4)
    end
    if is_lone(at) then leaf(at, node, F.sample_length, 4) end
    local from, to = at:skip(at:remaining())
    local topic = context.topic_of(object) or string.format("0x%04x", object)
    node:generated(F.topic, topic)
    local payload = node:leaf(F.payload_len, from, to, to - from)
    if to > from then payload:leaf(F.payload, from, to) end
    sub.label = string.format("%s %s (%.0f bytes)", sub.name, topic, to - from)
end

local function acknack(at, node, sub)
    number(at, node, F.first_unacked, 2, sub.little)
    leaf(at, node, F.bitmap, 2)
    leaf(at, node, F.of_stream, 1)
end

local function heartbeat(at, node, sub)
    number(at, node, F.first, 2, sub.little)
    number(at, node, F.last, 2, sub.little)
    leaf(at, node, F.of_stream, 1)
end

local function status_agent(at, node)
    status(at, node)
    if at:remaining() >= 8 then
        leaf(at, node, F.cookie, 4)
        leaf(at, node, F.version, 2)
        leaf(at, node, F.vendor, 2)
    end
end

local function object_status(at, node)
    about(at, node)
    status(at, node)
end

local function times(at, node)
    leaf(at, node, F.times, at:remaining())
end

local readers = {
    [0] = create_client, create, about, about, status_agent, object_status, object_status, data, about, data,
    acknack, heartbeat, nil, nil, times, times,
}

-- The flags that each submessage may have (§8.3.5), and their fields.
local FLAGS = { [1] = 0x07, [7] = 0x0F, [9] = 0x0F, [13] = 0x03 }
local SHOWN = {
    [1] = { F.reuse, F.replace }, [7] = { F.format }, [9] = { F.format }, [13] = { F.last_fragment },
}

-- Whether the specification has a submessage with this id and these flags.
function submessage.is_known(id, flags)
    return id <= 15 and flags <= (FLAGS[id] or 0x01)
end

-- Reads a submessage's header; returns { id, name, flags, little, len, from }.
function submessage.header(at, node)
    local from = at.at
    local id, flags = at:u8(), at:u8()
    local len = at:le(2)
    if not submessage.is_known(id, flags) then Cursor.malformed("no submessage has this id and these flags") end
    node:leaf(F.id, from, from + 1)
    node:leaf(F.little_endian, from + 1, from + 2)
    for _, field in ipairs(SHOWN[id] or {}) do node:leaf(field, from + 1, from + 2) end
    node:leaf(F.submessage_len, from + 2, from + 4, len)
    local name = all.names.submessage[id]
    return { id = id, name = name, label = name, flags = flags, little = has(flags, 1), len = len, from = from }
end

-- Reads the body of every submessage except FRAGMENT. `context` has the functions topic_of(object) and learn(object, topic).
function submessage.body(at, node, sub, context)
    local read = readers[sub.id]
    if read then read(at, node, sub, context) end
    if not at:is_empty() then leaf(at, node, F.body, at:remaining()) end
end

return submessage
