-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- DDS-XRCE 1.0 over UDP and TCP in the form that Micro XRCE-DDS uses, for Wireshark and tshark 4.0 and later (Lua 5.2
-- to 5.4).
--
-- The files of wirelap/xrce/: `message` reads messages and reassembles fragments, with the help of `streams`;
-- `submessage` reads the submessages; `objects` finds the topics of writers and readers; `survey` decides whether
-- bytes are XRCE; `fields` defines the fields.

local here = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
package.path = here .. "?.lua;" .. here .. "?.module;" .. package.path

local Node = require("wirelap.node")
local stream = require("wirelap.stream")
local Message = require("wirelap.xrce.message")
local survey = require("wirelap.xrce.survey")
local all = require("wirelap.xrce.fields")
local F, X = all.fields, all.experts

local xrce = Proto("xrce", "DDS-XRCE")
xrce.fields = all.fields
xrce.experts = all.experts

-- Ports of agents: the two of the specification, and the port of Micro XRCE-DDS's examples.
local PORTS = { 2018, 2019, 8888 }

local memory_of, forget = stream.memory(Message.memory)

function xrce.init()
    forget()
end

-- Dissects the message in [from, to) of the Tvb; the bytes before `from` are its length.
local function dissect_message(tvb, pinfo, tree, from, to)
    local item = tree:add(xrce, tvb(0, tvb:len()))
    local node = Node.new(item, tvb)
    if from > 0 then node:leaf(F.length, 0, from, to - from) end
    local memory, side = memory_of(pinfo)
    local message = Message.new(memory, side, pinfo.number, not pinfo.visited)
    message:read(tvb:raw(0, tvb:len()), from, to, node)
    item:append_text(", " .. message:summary())
    stream.show(pinfo, tvb, "XRCE", message:summary())
    return tvb:reported_len()
end

-- Length in bytes of the message at `offset` and of its length field, or nil and whether more bytes could decide it.
local function message_len(tvb, offset)
    if tvb:len() < offset + 2 then return nil, true end
    local len = tvb(offset, 2):le_uint()
    return len >= survey.SHORTEST and len + 2 or nil, false
end

local function dissect_pdu(tvb, pinfo, tree)
    local len = message_len(tvb, 0)
    local is_one = len and len <= tvb:reported_len() and survey.message(tvb:raw(0, tvb:len()), 2, len)
    if is_one then return dissect_message(tvb, pinfo, tree, 2, len) end
    local node = Node.new(tree:add(xrce, tvb(0, tvb:len())), tvb)
    node:leaf(F.continuation, 0, tvb:len()):expert(X.continuation, "Not at a message's start")
    stream.show(pinfo, tvb, "XRCE", "Continuation")
    return tvb:reported_len()
end

function xrce.dissector(tvb, pinfo, tree)
    if tvb:len() == 0 then return 0 end
    if not stream.is_tcp(pinfo) then return dissect_message(tvb, pinfo, tree, 0, tvb:reported_len()) end
    return stream.tcp(tvb, tree, message_len, dissect_pdu)
end

for _, port in ipairs(PORTS) do
    DissectorTable.get("udp.port"):add(port, xrce)
    DissectorTable.get("tcp.port"):add(port, xrce)
end

-- On other ports only the first message of a session identifies the protocol, because it has the magic number.
local function is_certain(tvb, from, to)
    return survey.message(tvb:raw(0, tvb:len()), from, to) == "certain"
end

xrce:register_heuristic("tcp", stream.heuristic(xrce, function(tvb)
    local len = message_len(tvb, 0)
    return len and len <= tvb:len() and is_certain(tvb, 2, len)
end, message_len))

xrce:register_heuristic("udp", function(tvb, pinfo, tree)
    if tvb:len() < survey.SHORTEST or not is_certain(tvb, 0, tvb:len()) then return false end
    pinfo.conversation = xrce
    xrce.dissector(tvb, pinfo, tree)
    return true
end)
