-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Functions that all dissectors use: which conversation a packet belongs to, state by conversation, cutting TCP streams
-- into PDUs, and the packet list's columns.
--
-- Wireshark dissects a packet many times, and in any order after the first time. Therefore every entry of the state is
-- stored with the number of the packet from which on it is valid, and only a packet's first dissection adds entries.

if not ... then return end

local stream = {}

-- pinfo.port_type, from Wireshark's epan/address.h.
local PORT_TYPE_TCP = 2

function stream.is_tcp(pinfo)
    return pinfo.port_type == PORT_TYPE_TCP
end

-- A name for the packet's conversation, from addresses and ports, and which of its two ends, 1 or 2, sent the packet.
-- Wireshark's own number of a conversation is only available with a tree, and there is none while a file is opened. The
-- same name is used again for a later connection between the same ports, so that a protocol must detect its start itself.
local function name_of(pinfo)
    local from = pinfo.src_port .. " " .. tostring(pinfo.src)
    local to = pinfo.dst_port .. " " .. tostring(pinfo.dst)
    if from < to then return from .. " " .. to, 1 end
    return to .. " " .. from, 2
end

-- State by conversation; `new` makes the initial state of one. Returns two functions: the first gives the state of a
-- packet's conversation and the end, 1 or 2, that sent the packet; the second deletes all states.
function stream.memory(new)
    local by_name = {}
    local function of(pinfo)
        local name, side = name_of(pinfo)
        local memory = by_name[name]
        if not memory then
            memory = new()
            by_name[name] = memory
        end
        return memory, side
    end
    return of, function() by_name = {} end
end

-- Cuts a segment into PDUs. `len_of` gives the length of the PDU at an offset in bytes, or nil and whether more bytes
-- could decide it. Where no PDU can start, `dissect` gets all remaining bytes, and also where a PDU's end was not
-- captured, because reading bytes behind it would raise an error.
function stream.tcp(tvb, tree, len_of, dissect)
    dissect_tcp_pdus(tvb, tree, 1, function(segment, pinfo, offset)
        local len, more = len_of(segment, offset)
        local captured, reported = segment:len(), segment:reported_len()
        local is_seen = len and (offset + len < captured or offset + len >= reported)
        if is_seen then return len end
        if more and captured == reported and pinfo.can_desegment > 0 then return 0 end
        return reported - offset
    end, dissect)
    return tvb:reported_len()
end

-- The offset of the incomplete PDU at a segment's end, and how many bytes of it are missing, or "one more segment" if
-- that is unknown; nil if the segment ends with a complete PDU.
local function incomplete(tvb, len_of)
    local offset = 0
    while offset < tvb:len() do
        local len, more = len_of(tvb, offset)
        if not len then return more and offset or nil, DESEGMENT_ONE_MORE_SEGMENT end
        if offset + len > tvb:len() then return offset, offset + len - tvb:len() end
        offset = offset + len
    end
end

-- A heuristic for TCP: a segment for which `looks_like` is true assigns the conversation to `proto`. Wireshark calls
-- heuristics without permission to desegment, which dissect_tcp_pdus needs, but desegments on request.
function stream.heuristic(proto, looks_like, len_of)
    return function(tvb, pinfo, tree)
        if tvb:len() == 0 or not looks_like(tvb) then return false end
        pinfo.conversation = proto
        local offset, missing
        if tvb:len() == tvb:reported_len() then offset, missing = incomplete(tvb, len_of) end
        if not offset then
            proto.dissector(tvb, pinfo, tree)
            return true
        end
        if offset > 0 then proto.dissector(tvb(0, offset):tvb(), pinfo, tree) end
        pinfo.desegment_offset, pinfo.desegment_len = offset, missing
        return true
    end
end

-- The latest entry of a list that is valid for packet `number`: the last one that an earlier packet or this one added.
function stream.holds(list, number)
    for index = #list, 1, -1 do
        if list[index].number <= number then return list[index] end
    end
end

local shown = {}

-- Fills the packet list's columns. The texts of several PDUs in one packet are joined by " | ".
function stream.show(pinfo, tvb, protocol, text)
    local offset = tvb:offset()
    local another = shown.number == pinfo.number and shown.offset ~= offset
    if not another then shown.number, shown.offset = pinfo.number, offset end
    pinfo.cols.protocol = protocol
    local info = pinfo.cols.info
    info:clear()
    info:append(another and " | " .. text or text)
    info:fence()
end

return stream
