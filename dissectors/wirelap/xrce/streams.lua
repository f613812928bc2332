-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- What was seen of each stream: sequence numbers, and submessages in parts (DDS-XRCE 1.0 §8.4.14).
--
-- A reliable stream sends messages again, in any order. A fragment is the only submessage of its kind in a
-- message, so the message's number is the fragment's.

if not ... then return end

local Stream = {}
Stream.__index = Stream

-- How far back a number is known to have been there, and the most fragments that wait.
local WINDOW, MAX_PIECES = 128, 1024

local function wrap(number)
    return number % 65536
end

function Stream.new()
    return setmetatable({ seen = {}, pieces = {}, waiting = 0 }, Stream)
end

-- A message with this number is here. Gives whether it was before.
function Stream:see(number)
    local newest = self.newest
    if newest and wrap(newest - number) < WINDOW then
        local before = self.seen[number] or false
        self.seen[number] = true
        return before
    end
    local ahead = newest and wrap(number - newest) or WINDOW
    if ahead < WINDOW then
        for step = 1, ahead do self.seen[wrap(newest + step - WINDOW)] = nil end
    else
        -- Too far away to be the same session.
        self.seen, self.pieces, self.waiting = {}, {}, 0
    end
    self.newest = number
    self.seen[number] = true
    return false
end

-- Whether a submessage starts with this fragment, as far as is known: what was before it is no fragment that
-- goes on. On a stream of which nothing is known before it, it must look like one.
local function starts(self, number, looks_like_one)
    local before = wrap(number - 1)
    local piece = self.pieces[before]
    if piece then return piece.last end
    if not looks_like_one or self.seen[before] then return looks_like_one end
    for back = 2, WINDOW - 1 do
        if self.seen[wrap(number - back)] then return false end
    end
    return true
end

-- The numbers of the submessage that a piece belongs to, if it is complete.
local function extent(self, number)
    local first, last = number, number
    while not self.pieces[first].first do
        first = wrap(first - 1)
        local before = self.pieces[first]
        if not before or before.last then return nil end
    end
    while not self.pieces[last].last do
        last = wrap(last + 1)
        if not self.pieces[last] then return nil end
    end
    return first, last
end

-- Takes a fragment that was not here before: { bytes, len, last, packet }. `looks_like_one` tells that a
-- submessage could start with it. Gives the submessage that is complete with it: { bytes, len, count, packet }.
function Stream:add(number, piece, looks_like_one)
    if self.waiting == MAX_PIECES then self.pieces, self.waiting = {}, 0 end
    piece.first = starts(self, number, looks_like_one)
    self.pieces[number] = piece
    self.waiting = self.waiting + 1
    local first, last = extent(self, number)
    if not first then return nil end
    local whole = { len = 0, count = 0, packet = piece.packet }
    local parts, cut, at = {}, false, first
    repeat
        local part = self.pieces[at]
        if not cut then parts[#parts + 1] = part.bytes end
        cut = cut or #part.bytes < part.len
        whole.len, whole.count = whole.len + part.len, whole.count + 1
        part.whole, part.bytes, self.pieces[at] = whole, nil, nil
        self.waiting = self.waiting - 1
        local done = at == last
        at = wrap(at + 1)
    until done
    whole.bytes = table.concat(parts)
    return whole
end

return Stream
