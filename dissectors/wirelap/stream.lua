-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- What the dissectors have in common: which conversation a packet belongs to, what is remembered of it, and the
-- packet list's columns.
--
-- Wireshark dissects a packet many times, and in any order after the first time. So everything that is remembered
-- is kept with the packet from which on it holds, and only a packet's first dissection changes it.

if not ... then return end

local stream = {}

-- pinfo.port_type, from Wireshark's epan/address.h.
local PORT_TYPE_TCP = 2

function stream.is_tcp(pinfo)
    return pinfo.port_type == PORT_TYPE_TCP
end

-- A name for the conversation, and which of its two ends sent the packet. By address and port, as the number that
-- Wireshark gives to a conversation is not to be had while no tree is wanted, which is when a file is opened. A
-- protocol must therefore notice by itself that a connection begins anew.
local function name_of(pinfo)
    local from = pinfo.src_port .. " " .. tostring(pinfo.src)
    local to = pinfo.dst_port .. " " .. tostring(pinfo.dst)
    if from < to then return from .. " " .. to, 1 end
    return to .. " " .. from, 2
end

-- What conversations remember: `new` makes it for one. Gives a function that finds it and the end that sent a
-- packet, 1 or 2, and one that forgets everything.
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

-- Cuts a segment into PDUs. `len_of` gives the bytes of the PDU at an offset, or nil and whether more bytes could
-- help to tell; where none can start, `dissect` gets all that is left. So it does where the PDU's end was not
-- captured: what comes after it is not there to be looked at, and looking is an error.
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

-- Where the PDU starts that a segment has not all of, and how many bytes of it are missing, if that is known.
local function incomplete(tvb, len_of)
    local offset = 0
    while offset < tvb:len() do
        local len, more = len_of(tvb, offset)
        if not len then return more and offset or nil, DESEGMENT_ONE_MORE_SEGMENT end
        if offset + len > tvb:len() then return offset, offset + len - tvb:len() end
        offset = offset + len
    end
end

-- A heuristic for TCP: a segment that looks like it makes the conversation `proto`'s. Wireshark calls heuristics
-- without leave to desegment, which dissect_tcp_pdus would need, but does it when asked.
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

-- The last entry of a list that holds for a packet.
function stream.holds(list, number)
    for index = #list, 1, -1 do
        if list[index].number <= number then return list[index] end
    end
end

local shown = {}

-- Fills the columns. A packet can have several PDUs, which come one after the other.
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
