-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- What the dissectors have in common: which conversation a packet belongs to, what is remembered of it, and the
-- packet list's columns.
--
-- Wireshark dissects a packet many times, and in any order after the first time. So everything that is remembered
-- is kept with the packet from which on it holds, and only a packet's first dissection changes it.

if not ... then return end

local stream = {}

local tcp_stream, udp_stream = Field.new("tcp.stream"), Field.new("udp.stream")

-- pinfo.port_type, from Wireshark's epan/address.h.
local PORT_TYPE_TCP = 2

function stream.is_tcp(pinfo)
    return pinfo.port_type == PORT_TYPE_TCP
end

-- A name for the conversation. In tunnels the innermost one counts.
local function key_of(pinfo, over_tcp)
    local found = { (over_tcp and tcp_stream or udp_stream)() }
    local last = found[#found]
    if last then return (over_tcp and "t" or "u") .. tostring(last.value) end
    local ends = { pinfo.src_port .. tostring(pinfo.src), pinfo.dst_port .. tostring(pinfo.dst) }
    table.sort(ends)
    return table.concat(ends, " ")
end

-- What conversations remember: `new` makes it for one. Gives a function that finds it and the end that sent a
-- packet, 1 or 2, and one that forgets everything.
function stream.memory(new)
    local all = {}
    local function of(pinfo, over_tcp)
        local key = key_of(pinfo, over_tcp)
        local found = all[key]
        local sender = pinfo.src_port
        if sender == pinfo.dst_port then sender = tostring(pinfo.src) end
        if not found then
            found = { first = sender, memory = new() }
            all[key] = found
        end
        return found.memory, found.first == sender and 1 or 2
    end
    return of, function() all = {} end
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
