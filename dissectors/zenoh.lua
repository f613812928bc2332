-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Zenoh 1.x over TCP and UDP, for Wireshark and tshark 4.0 and later (Lua 5.2 to 5.4).
--
-- The files of wirelap/zenoh/: `wire` reads the primitives; `transport`, `scouting`, `network` and `body` read the
-- messages; `session` and `fragments` hold the state of a conversation; `batch` reads a batch with them; `survey`
-- decides whether bytes are Zenoh; `fields` defines the fields. This file cuts TCP streams and UDP datagrams into
-- batches.

local here = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
package.path = here .. "?.lua;" .. here .. "?.module;" .. package.path

local Node = require("wirelap.node")
local stream = require("wirelap.stream")
local Batch = require("wirelap.zenoh.batch")
local Session = require("wirelap.zenoh.session")
local all = require("wirelap.zenoh.fields")
local survey = require("wirelap.zenoh.survey")
local F, X = all.fields, all.experts

local zenoh = Proto("zenoh", "Zenoh")
zenoh.fields = all.fields
zenoh.experts = all.experts

-- Default ports of sessions and of multicast scouting.
local SESSION_PORT, SCOUTING_PORT = 7447, 7446

local session_of, forget = stream.memory(Session.new)

function zenoh.init()
    forget()
end

-- Size in bytes of the length field of the batch at `offset`: two, or four in low-latency mode. In that mode a side may
-- still send its Close with two bytes; the upper half of a length of four bytes is 0, and there it is not.
local function prefix_len(tvb, offset, low_latency)
    if not low_latency then return 2 end
    if tvb:len() < offset + 4 then return 4 end
    return tvb(offset + 2, 2):uint() == 0 and 4 or 2
end

-- Length in bytes of the batch at `offset` and of its length field, or nil and whether more bytes could decide it; then the
-- size of the length field.
local function batch_len(tvb, offset, low_latency)
    local prefix = prefix_len(tvb, offset, low_latency)
    if tvb:len() < offset + prefix then return nil, true end
    local len = tvb(offset, prefix):le_uint()
    if len == 0 then return nil, false end
    if tvb:len() > offset + prefix then
        local id = tvb(offset + prefix, 1):uint() % 32
        if prefix == 2 and id > 7 or prefix == 4 and id < 0x19 and id ~= 3 and id ~= 4 then return nil, false end
    end
    return prefix + len, false, prefix
end

local function show(pinfo, tvb, batch)
    stream.show(pinfo, tvb, "Zenoh", batch:summary())
end

local function dissect_batch(tvb, pinfo, tree)
    local session, side = session_of(pinfo)
    local total, reported = tvb:len(), tvb:reported_len()
    local item = tree:add(zenoh, tvb(0, total))
    local node = Node.new(item, tvb)
    local len, _, prefix = batch_len(tvb, 0, session:is_low_latency(pinfo.number, side))
    if not len then
        node:leaf(F.continuation, 0, total):expert(X.continuation, "Not at a batch's start")
        stream.show(pinfo, tvb, "Zenoh", "Continuation")
        return reported
    end
    node:leaf(F.batch_len, 0, prefix, len - prefix)
    local batch = Batch.new(session, side, pinfo.number, not pinfo.visited)
    batch:read(tvb:raw(0, total), prefix, len, node)
    item:append_text(", " .. batch:summary())
    show(pinfo, tvb, batch)
    return reported
end

local function dissect_tcp(tvb, pinfo, tree)
    local session, side = session_of(pinfo)
    local low_latency = session:is_low_latency(pinfo.number, side)
    return stream.tcp(tvb, tree, function(segment, offset)
        return batch_len(segment, offset, low_latency)
    end, dissect_batch)
end

local function dissect_udp(tvb, pinfo, tree)
    local session, side = session_of(pinfo)
    local item = tree:add(zenoh, tvb(0, tvb:len()))
    local batch = Batch.new(session, side, pinfo.number, not pinfo.visited)
    batch:datagram(tvb:raw(0, tvb:len()), tvb:reported_len(), Node.new(item, tvb))
    item:append_text(", " .. batch:summary())
    show(pinfo, tvb, batch)
    return tvb:reported_len()
end

function zenoh.dissector(tvb, pinfo, tree)
    if tvb:len() == 0 then return 0 end
    if stream.is_tcp(pinfo) then return dissect_tcp(tvb, pinfo, tree) end
    return dissect_udp(tvb, pinfo, tree)
end

DissectorTable.get("tcp.port"):add(SESSION_PORT, zenoh)
DissectorTable.get("udp.port"):add(SESSION_PORT, zenoh)
DissectorTable.get("udp.port"):add(SCOUTING_PORT, zenoh)

zenoh:register_heuristic("tcp", stream.heuristic(zenoh, function(tvb)
    return survey.stream(tvb:raw(0, tvb:len()))
end, batch_len))

zenoh:register_heuristic("udp", function(tvb, pinfo, tree)
    if tvb:len() == 0 or not survey.datagram(tvb:raw(0, tvb:len())) then return false end
    pinfo.conversation = zenoh
    zenoh.dissector(tvb, pinfo, tree)
    return true
end)
