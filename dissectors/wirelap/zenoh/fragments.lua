-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Reassembles fragments. The fragments of a lane have consecutive sequence numbers; a missing number ends the
-- message that is being reassembled.

if not ... then return end

local Fragments = {}

-- Bytes of one message that are stored; further bytes are only counted.
local LIMIT = 256 * 1024 * 1024

-- Whether `next` follows `last` in a counter of 7, 14, 28 or 63 bits. The counter's width is unknown here: a number of
-- all ones in one of these widths may be followed by 0.
local function follows(last, next)
    local plus = last + 1
    if next == plus then return true end
    if next ~= 0 then return false end
    while plus > 1 and plus % 2 == 0 do plus = plus / 2 end
    return plus == 1
end

local function lane_of(side, number)
    local lane = side.lanes[number]
    if not lane then
        lane = {}
        side.lanes[number] = lane
    end
    return lane
end

-- Notes a FRAME: it uses a sequence number of the lane, and ends the message that is being reassembled.
function Fragments.frame(side, message)
    local lane = lane_of(side, message.lane)
    lane.last, lane.open = message.sn, nil
end

local function take(open, number, bytes, len)
    open.count = open.count + 1
    open.total = open.total + len
    if not open.cut and open.kept + #bytes <= LIMIT then
        open.kept = open.kept + #bytes
        open.parts[#open.parts + 1] = bytes
    end
    open.cut = open.cut or #bytes < len or open.kept + #bytes > LIMIT
    open.last_number = number
end

-- Adds a fragment of `len` bytes from packet `number`; `bytes` are its captured bytes. Returns { whole, index }, where
-- `whole` has the message (bytes, total) once it is complete; nil if the message's first fragments were not captured.
function Fragments.take(side, message, number, bytes, len)
    side.marked = side.marked or message.first
    local lane = lane_of(side, message.lane)
    if lane.last == message.sn and lane.piece then return lane.piece end -- a datagram that was captured twice
    local consecutive = side.fresh or false
    if lane.last then consecutive = follows(lane.last, message.sn) end
    lane.last = message.sn
    if not consecutive or message.first or message.dropped then lane.open = nil end
    local starts = consecutive
    if side.marked then starts = message.first end
    if not lane.open and starts and not message.dropped then
        lane.open = { first_number = number, count = 0, total = 0, kept = 0, parts = {} }
    end
    local open = lane.open
    lane.piece = { whole = open, index = open and open.count, last = not message.more }
    if not open then return lane.piece end
    take(open, number, bytes, len)
    if not message.more then
        open.bytes, open.parts, open.complete, lane.open = table.concat(open.parts), nil, true, nil
    end
    return lane.piece
end

return Fragments
