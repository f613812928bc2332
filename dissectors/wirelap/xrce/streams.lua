-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The state of a stream: the sequence numbers that were seen, and fragments of submessages (DDS-XRCE 1.0 §8.4.14).
--
-- A reliable stream retransmits messages, in any order. A message has at most one fragment, so that the message's
-- sequence number is the fragment's number.

if not ... then return end

local Stream = {}
Stream.__index = Stream

-- WINDOW: how many sequence numbers before the newest are stored; MAX_PIECES: how many fragments are stored.
local WINDOW, MAX_PIECES = 128, 1024

local function wrap(number)
    return number % 65536
end

function Stream.new()
    return setmetatable({ seen = {}, pieces = {}, waiting = 0 }, Stream)
end

-- Notes a message with this sequence number; returns whether it was seen before.
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
        -- A number outside the window is of another session.
        self.seen, self.pieces, self.waiting = {}, {}, 0
    end
    self.newest = number
    self.seen[number] = true
    return false
end

-- Whether a submessage starts with this fragment: the previous message must be its predecessor's last fragment or no
-- fragment. If no earlier message of the stream was seen, the fragment must look like a submessage's start.
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

-- The sequence numbers of the first and last fragment of the submessage that fragment `number` belongs to; nil while
-- fragments are missing.
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

-- Adds a fragment that was not seen before: { bytes, len, last, packet }. `looks_like_one` is whether a submessage
-- could start with it. Returns the submessage if this fragment completes it: { bytes, len, count, packet }.
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
