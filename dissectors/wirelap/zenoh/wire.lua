-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The primitives of all Zenoh messages. Each function reads from a cursor and shows the value at a node.
--
--   z64        7 bits a byte, least significant first, bit 7 set while more follow; a ninth byte has 8
--   zid        1 to 16 bytes; the message has its length less one in a flags byte before it
--   timestamp  z64 time (NTP64) | z64 id length, at most 16 | id
--   encoding   z32 (id << 1 | has schema) | schema: z8 length, bytes
--   wire expr  z16 scope | suffix: z16 length, bytes, if the message's N flag is set
--
--   extension    7   6   5   4   3   2   1   0
--              +---+-------+---+---------------+
--              | Z |  enc  | M |      id       |  enc: 0 unit, 1 z64, 2 buffer; Z: another one follows
--              +---+-------+---+---------------+
--              |  z64 value, or z32 length and bytes, or nothing
--
-- Source: zenoh-protocol and zenoh-codec 1.10, `src/core` and `src/common` of each.

if not ... then return end

local Cursor = require("wirelap.cursor")
local all = require("wirelap.zenoh.fields")
local F, X = all.fields, all.experts
local floor, has = math.floor, Cursor.has

local wire = {}

-- Reads an integer of at most 32 bits; `z16` does the same for 16 bits, `z64` for 64.
function wire.z32(at, node, field)
    local from = at.at
    local value = at:z32()
    node:leaf(field, from, at.at, value)
    return value
end

function wire.z16(at, node, field)
    local from = at.at
    local value = at:z16()
    node:leaf(field, from, at.at, value)
    return value
end

function wire.z64(at, node, field)
    local from = at.at
    local value, low, high = at:z64()
    node:leaf64(field, from, at.at, low, high)
    return value
end

-- Reads a message's header byte: the id in bits 0 to 4, three flags above it.
function wire.header(at, node, id_field, ...)
    local from = at.at
    local header = at:u8()
    node:leaf(id_field, from, from + 1)
    for index = 1, select("#", ...) do
        node:leaf(select(index, ...), from, from + 1)
    end
    node:leaf(F.extensions_follow, from, from + 1)
    return header, header % 32
end

-- Reads bytes behind their length; returns the positions of their start and end.
local function counted(at, read, node, field)
    local len = read(at)
    local from, to = at:skip(len)
    if len > 0 then node:leaf(field, from, to) end
    return from, to
end

function wire.bytes16(at, node, field)
    return counted(at, at.z16, node, field)
end

-- Reads a text behind its length; raises an error if it has more than `limit` bytes.
function wire.text(at, node, field, limit)
    local len = at:z64()
    if limit and len > limit then Cursor.malformed("a text of more than " .. limit .. " bytes", "bad_length") end
    local from = at.at
    local text = at:take(len)
    node:text(field, from, at.at, text)
    return text
end

-- Reads a Zenoh id, whose length less one is in the upper half of `flags`.
function wire.zid(at, flags, node, field)
    local from = at.at
    at:take(1 + floor(flags / 16))
    node:leaf(field or F.zid, from, at.at)
end

-- Reads a timestamp: NTP64, which is seconds since 1970 and a fraction of 32 bits, and the id of its source.
function wire.timestamp(at, node)
    local from = at.at
    local _, fraction, seconds = at:z64()
    local value = NSTime and NSTime.new(seconds, floor(fraction * 1000000000.0 / 4294967296.0)) or nil
    node:leaf(F.timestamp, from, at.at, value)
    local len = at:z64()
    if len > 16 then Cursor.malformed("a timestamp's id has at most 16 bytes", "bad_length") end
    local start, stop = at:skip(len)
    node:leaf(F.timestamp_id, start, stop)
end

function wire.encoding(at, node)
    local from = at.at
    local value = at:z32()
    node:leaf(F.encoding, from, at.at, floor(value / 2) % 65536)
    if value % 2 == 1 then wire.text(at, node, F.schema, 255) end
end

-- Reads a key expression in its sent form; returns { scope, suffix, by_sender, from, to }.
function wire.expr(at, node, named, by_sender)
    local from = at.at
    local scope = wire.z16(at, node, F.scope)
    local suffix = ""
    if named then
        local len = at:z16()
        local start = at.at
        suffix = at:take(len)
        node:text(F.suffix, start, at.at, suffix)
    end
    return { scope = scope, suffix = suffix, by_sender = by_sender, from = from, to = at.at }
end

-- Reads the body of an extension with this header; shows its value unless `visit` returns true.
local function ext_body(at, header, node, visit, id)
    local kind = floor(header / 32) % 4
    if kind == 0 then
        if visit then visit(id, node, nil) end
    elseif kind == 1 then
        local from = at.at
        local value, low, high = at:z64()
        if not (visit and visit(id, node, value, from, at.at)) then
            node:leaf64(F.ext_value, from, at.at, low, high)
        end
    elseif kind == 2 then
        local len = wire.z32(at, node, F.ext_len)
        local body = at:within(len)
        local from, to = body.at, body.stop
        if not (visit and visit(id, node, body)) then
            node:leaf(F.ext_data, from, to)
        end
    else
        Cursor.malformed("an extension of an encoding that does not exist")
    end
end

-- Reads one extension; `known` has the names of the message's extensions. Returns whether another extension follows.
function wire.ext(at, node, known, visit)
    local from = at.at
    local header = at:u8()
    local id = header % 16
    local branch = node:branch(from, from + 1, "Extension: " .. (known[id] or "unknown (" .. id .. ")"))
    branch:leaf(F.ext_id, from, from + 1)
    branch:leaf(F.ext_must, from, from + 1)
    branch:leaf(F.ext_encoding, from, from + 1)
    branch:leaf(F.ext_more, from, from + 1)
    if not known[id] and has(header, 0x10) then
        branch:expert(X.mandatory, "Unknown mandatory extension " .. id)
    end
    ext_body(at, header, branch, visit, id)
    branch:close(from, at.at)
    return has(header, 0x80)
end

-- Reads all extensions of a message with this header byte.
function wire.exts(at, header, node, known, visit)
    local more = has(header, 0x80)
    while more do
        more = wire.ext(at, node, known, visit)
    end
end

-- Shows the QoS of a message; returns its priority.
function wire.qos(node, value, from, to)
    local priority = value % 8
    node:leaf(F.priority, from, to, priority)
    node:leaf(F.block, from, to, has(value, 8))
    node:leaf(F.express, from, to, has(value, 16))
    return priority
end

-- Reads a message's source: zid length (7..4) | zid | z32 entity | z32 SN.
function wire.source(body, node)
    local flags = body:u8()
    wire.zid(body, flags, node, F.source_zid)
    wire.z32(body, node, F.source_entity)
    wire.z32(body, node, F.source_sn)
end

return wire
