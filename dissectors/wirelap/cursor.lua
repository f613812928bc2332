-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- A bounded reader over the captured bytes of a Tvb, which it has as one Lua string.
--
-- The code is for Lua 5.2 to 5.4, where numbers may be doubles. It therefore uses no bit operators and no integer
-- division, and returns an integer of 64 bits as a number (exact up to 2^53) and as two halves.

-- Wireshark also runs every file in its plugin folder as a script, without arguments; a module must then do nothing.
if not ... then return end

local byte, sub, floor = string.byte, string.sub, math.floor

local Cursor = {}
Cursor.__index = Cursor

-- The error for a read of bytes that the packet had but that were not captured.
Cursor.CUT = setmetatable({}, { __tostring = function() return "not captured" end })

-- The error for bytes that break the protocol's rules; `kind` names the expert info.
local Malformed = { __tostring = function(self) return self.reason end }

-- bytes: the captured bytes; at: position of the first byte to read, from 0; stop: the message's end, which can be
-- behind the captured bytes.
function Cursor.new(bytes, at, stop)
    return setmetatable({ bytes = bytes, at = at, stop = stop }, Cursor)
end

-- Raises the error for bytes that break the protocol's rules.
function Cursor.malformed(reason, kind)
    error(setmetatable({ reason = reason, kind = kind or "malformed" }, Malformed), 0)
end

-- Whether a caught error is one of the two above and no programming error.
function Cursor.is_stop(err)
    return err == Cursor.CUT or getmetatable(err) == Malformed
end

-- Whether `flag`, a power of two, is set in `value`.
function Cursor.has(value, flag)
    return value % (2 * flag) >= flag
end

function Cursor:remaining()
    return self.stop - self.at
end

function Cursor:is_empty()
    return self.at >= self.stop
end

-- Whether all bytes up to the message's end were captured.
function Cursor:is_whole()
    return self.stop <= #self.bytes
end

local function fail(self)
    if self.at >= self.stop then
        Cursor.malformed("ends inside a message", "bad_length")
    end
    error(Cursor.CUT, 0)
end

function Cursor:peek()
    if self.at >= self.stop then fail(self) end
    return byte(self.bytes, self.at + 1) or fail(self)
end

function Cursor:u8()
    local at = self.at
    if at >= self.stop then fail(self) end
    local value = byte(self.bytes, at + 1) or fail(self)
    self.at = at + 1
    return value
end

-- Skips n bytes, captured or not; returns the positions of their start and end.
function Cursor:skip(n)
    local from = self.at
    if n > self.stop - from then
        Cursor.malformed("a length of " .. string.format("%.0f", n) .. " bytes passes the end", "bad_length")
    end
    self.at = from + n
    return from, from + n
end

-- The next n bytes as a string; raises CUT if not all of them were captured.
function Cursor:take(n)
    local from, to = self:skip(n)
    if to > #self.bytes then
        self.at = from
        error(Cursor.CUT, 0)
    end
    return sub(self.bytes, from + 1, to)
end

-- Skips the next n bytes and returns a cursor over them.
function Cursor:within(n)
    local from, to = self:skip(n)
    return Cursor.new(self.bytes, from, to)
end

-- A big-endian integer of n bytes, at most 6; `le` is the same for little-endian.
function Cursor:be(n)
    local value = 0
    for _ = 1, n do value = value * 256 + self:u8() end
    return value
end

function Cursor:le(n)
    local value, weight = 0, 1
    for _ = 1, n do
        value = value + self:u8() * weight
        weight = weight * 256
    end
    return value
end

-- A big-endian integer of 64 bits; returns the number, its low half and its high half.
function Cursor:be64()
    local high = self:be(4)
    local low = self:be(4)
    return high * 4294967296 + low, low, high
end

-- Zenoh's variable-length integer: 7 bits in each byte, least significant first; a ninth byte has 8 bits.
-- Returns the number, its low half and its high half.
function Cursor:z64()
    local first = self:u8()
    if first < 128 then return first, first, 0 end
    -- The value is collected in parts of 28, 28 and 8 bits, because Lua's numbers are exact only up to 2^53.
    local parts, part, weight, value = { 0, 0 }, 1, 128, first - 128
    for index = 2, 8 do
        local b = self:u8()
        value = value + (b % 128) * weight
        weight = weight * 128
        if index == 4 then
            parts[1], part, value, weight = value, 2, 0, 1
        end
        if b < 128 then
            if index ~= 4 then parts[part] = value end
            part = 0
            break
        end
    end
    local top = 0
    if part == 2 then
        parts[2], top = value, self:u8()
    end
    local low = parts[1] + (parts[2] % 16) * 268435456
    local high = floor(parts[2] / 16) + top * 16777216
    if high == 0 then return low, low, 0 end
    return low + high * 4294967296.0, low, high
end

local function at_most(limit, what)
    return function(self)
        local value = self:z64()
        if value > limit then Cursor.malformed("an integer passes " .. what) end
        return value
    end
end

Cursor.z32 = at_most(4294967295, "32 bits")
Cursor.z16 = at_most(65535, "16 bits")

return Cursor
