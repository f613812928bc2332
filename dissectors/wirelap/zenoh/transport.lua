-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Transport messages, of which a batch consists.
--
--   TCP:  | u16 length, little-endian | batch |          UDP: a datagram is a batch
--
--   batch: [ compression header: 1 byte, if negotiated ] message*
--
--            7 6 5   4 3 2 1 0
--          +-------+-----------+
--   header | flags |    id     |    then the body, then extensions if flag 7 (Z) is set
--          +-------+-----------+
--
--   0 OAM        5,6: encoding    z16 id, extensions, then unit | z64 | z32 length and bytes
--   1 INIT       5: ack 6: sizes  version, zid length and role, zid, [resolution, u16 batch size], [cookie]
--   2 OPEN       5: ack 6: secs   z64 lease, z64 first SN, [cookie if no ack]
--   3 CLOSE      5: session       reason
--   4 KEEP_ALIVE
--   5 FRAME      5: reliable      z64 SN, extensions, then network messages
--   6 FRAGMENT   5: reliable      z64 SN, extensions, then a part of a network message, up to the
--                6: more          batch's end
--   7 JOIN       5: secs 6: sizes as INIT, z64 lease, z64 next reliable SN, z64 next best-effort SN
--
-- Source: zenoh-protocol and zenoh-codec 1.10, `src/transport` of each.

if not ... then return end

local Cursor = require("wirelap.cursor")
local names = require("wirelap.zenoh.names")
local wire = require("wirelap.zenoh.wire")
local all = require("wirelap.zenoh.fields")
local F, X = all.fields, all.experts
local known = names.extensions
local has = Cursor.has

local transport = { VERSION = 9 }

-- The priority of messages without a QoS extension: data.
local DEFAULT_PRIORITY = 5

-- Reads version, role, zid and sizes, which INIT and JOIN have in common.
local function introduction(at, header, node, message)
    local from = at.at
    message.version = at:u8()
    local version = node:leaf(F.version, from, at.at)
    if message.version ~= transport.VERSION then
        version:expert(X.version, "Version " .. message.version)
    end
    local flags = at:u8()
    if flags % 4 == 3 then Cursor.malformed("a role that does not exist") end
    node:leaf(F.role, at.at - 1, at.at)
    wire.zid(at, flags, node)
    if has(header, 0x40) then
        from = at:skip(1)
        node:leaf(F.sn_bits, from, from + 1)
        node:leaf(F.request_bits, from, from + 1)
        from = at.at
        node:leaf(F.batch_size, from, from + 2, at:le(2))
    end
end

local function init(at, node)
    local header = wire.header(at, node, F.transport_id, F.ack, F.has_sizes)
    local ack = has(header, 0x20)
    local message = { name = ack and "InitAck" or "InitSyn", init = true, ack = ack, terms = {} }
    introduction(at, header, node, message)
    if ack then wire.bytes16(at, node, F.cookie) end
    wire.exts(at, header, node, known.init, function(id, _, value)
        if id == 5 then message.terms.low_latency = true end
        if id == 6 then message.terms.compression = true end
        if id == 7 and type(value) == "number" then message.terms.markers = value >= 1 end
    end)
    return message
end

local function open(at, node)
    local header = wire.header(at, node, F.transport_id, F.ack, F.lease_seconds)
    local ack = has(header, 0x20)
    wire.z32(at, node, F.lease)
    wire.z64(at, node, F.first_sn)
    if not ack then wire.bytes16(at, node, F.cookie) end
    wire.exts(at, header, node, known.open)
    return { name = ack and "OpenAck" or "OpenSyn", open = true, ack = ack }
end

local function close(at, node)
    local header = wire.header(at, node, F.transport_id, F.close_session)
    local from = at:skip(1)
    node:leaf(F.close_reason, from, from + 1)
    wire.exts(at, header, node, known.none)
    return { name = "Close" }
end

local function keep_alive(at, node)
    local header = wire.header(at, node, F.transport_id)
    wire.exts(at, header, node, known.none)
    return { name = "KeepAlive" }
end

-- Reads sequence number and extensions, which FRAME and FRAGMENT have in common. A lane is a priority and reliability with
-- its own sequence numbers.
local function numbered(at, header, node, message, extensions)
    message.sn = wire.z64(at, node, F.sn)
    local priority = DEFAULT_PRIORITY
    wire.exts(at, header, node, extensions, function(id, branch, value, from, to)
        if id == 1 and type(value) == "number" then
            priority = wire.qos(branch, value, from, to)
            return true
        elseif id == 2 then
            message.first = true
        elseif id == 3 then
            message.dropped = true
        end
    end)
    message.lane = priority + (has(header, 0x20) and 8 or 0)
end

local function frame(at, node)
    local header = wire.header(at, node, F.transport_id, F.reliable)
    local message = { name = "FRAME", frame = true }
    numbered(at, header, node, message, known.frame)
    return message
end

local function fragment(at, node)
    local header = wire.header(at, node, F.transport_id, F.reliable, F.more)
    local message = { name = "FRAGMENT", fragment = true, more = has(header, 0x40) }
    numbered(at, header, node, message, known.fragment)
    return message
end

local function join(at, node)
    local header = wire.header(at, node, F.transport_id, F.join_lease_seconds, F.has_sizes)
    local message = { name = "Join", join = true }
    introduction(at, header, node, message)
    wire.z32(at, node, F.lease)
    wire.z64(at, node, F.next_reliable)
    wire.z64(at, node, F.next_best_effort)
    wire.exts(at, header, node, known.join)
    return message
end

-- Reads an OAM message, which the transport and network layers have in common.
function transport.oam(at, node, id_field)
    local header = wire.header(at, node, id_field)
    wire.z16(at, node, F.oam_id)
    wire.exts(at, header, node, known.oam)
    local encoding = math.floor(header / 32) % 4
    if encoding == 1 then
        wire.z64(at, node, F.oam_value)
    elseif encoding == 2 then
        local from, to = at:skip(at:z64())
        node:leaf(F.oam_data, from, to)
    elseif encoding == 3 then
        Cursor.malformed("an OAM of an encoding that does not exist")
    end
    return { name = "OAM" }
end

local function oam(at, node)
    return transport.oam(at, node, F.transport_id)
end

local readers = { [0] = oam, init, open, close, keep_alive, frame, fragment, join }

-- Reads a transport message; of a FRAME, only the part before its network messages.
function transport.read(at, node)
    local read = readers[at:peek() % 32]
    if not read then Cursor.malformed("no transport message has this id") end
    return read(at, node)
end

return transport
