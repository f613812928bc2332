-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Parses the packet comments that wirelap writes, one for each message in a packet. docs/recording.md has the grammar;
-- unknown parts are ignored.

if not ... then return end

local sentence = {}

-- By a part's first word: a function that parses the part's text into a parsed comment, and returns a false value if the
-- text does not have the part's form.
local readers = {}

readers["one"] = function(text, parsed)
    parsed.one_way = tonumber(text:match("^one way (%d+) ns$"))
    return parsed.one_way
end

readers["begins"] = function(text, parsed)
    parsed.begins = tonumber(text:match("^begins at (%d+) ns$"))
    return parsed.begins
end

readers["this"] = function(text, parsed)
    local all, parts = text:match("^this leg (%d+) ns:?(.*)$")
    if not all then return false end
    parsed.leg_time = tonumber(all)
    for name, time in parts:gmatch("([%w_]+) (%d+)") do
        parsed.segments[#parsed.segments + 1] = { name = name, time = tonumber(time) }
    end
    return true
end

local function process(text)
    local name, pid, tid = text:match("^%l+ (.-) ?(%d+)/(%d+)$")
    if not pid then return false end
    return { name = name, pid = tonumber(pid), tid = tonumber(tid) }
end

readers["sender"] = function(text, parsed)
    parsed.sender = process(text)
    return parsed.sender
end

readers["reader"] = function(text, parsed)
    parsed.reader = process(text)
    return parsed.reader
end

readers["queue"] = function(text, parsed)
    parsed.queue = tonumber(text:match("^queue (%d+)$"))
    return parsed.queue
end

readers["held"] = function(text, parsed)
    local cause, leg, segment, time = text:match("^held up by ([%w_]+) in leg (%d+) ([%w_]+) for (%d+) ns$")
    if not cause then return false end
    parsed.held_up = { cause = cause, leg = tonumber(leg), segment = segment, time = tonumber(time) }
    return true
end

readers["bytes"] = function(text, parsed)
    local from, to, of = text:match("^bytes (%d+) to (%d+) of (%d+)$")
    if not from then return false end
    parsed.part = { from = tonumber(from), to = tonumber(to), of = tonumber(of) }
    return true
end

readers["payload"] = function(text, parsed)
    parsed.payload = tonumber(text:match("^payload (%d+) bytes$"))
    return parsed.payload
end

readers["warm-up"] = function(_, parsed)
    parsed.standing = "warm-up"
    return true
end

readers["an"] = function(_, parsed)
    parsed.standing = "incomplete"
    return true
end

readers["not"] = function(text, parsed)
    local by_end, place = text:match("^not seen to be delivered( ?[%l ]*)(.*)$")
    if not by_end then return false end
    parsed.standing = by_end == " by the end" and "under way" or "undelivered"
    local leg, stage = place:match("^, last seen in leg (%d+) at (%l+)$")
    if leg then parsed.last_seen = { leg = tonumber(leg), stage = stage } end
    return (by_end == "" or by_end == " by the end") and (leg or place == "")
end

-- The packet number of another leg is ignored: it is of the file that wirelap wrote, and this file can be a copy with
-- other numbers. The dissector finds the packets itself.
readers["leg"] = function() return true end

-- Parses the first part: message M, leg L of N, NAME at BROKER.
local function head(text)
    local id, leg, legs, row = text:match("^message (%d+), leg (%d+) of (%d+), (.*)$")
    if not id then return nil end
    local middleware, broker = row:match("^(.-) at (.*)$")
    return {
        id = tonumber(id), leg = tonumber(leg), legs = tonumber(legs), middleware = middleware or row, broker = broker,
        segments = {}, standing = "counted", readers = 1, unreadable = {},
    }
end

-- Parses a comment on a message; nil if the comment is none of wirelap's.
function sentence.read(comment)
    local topic
    local start, stop = comment:find("; topic ", 1, true)
    local parts = comment
    if start then parts, topic = comment:sub(1, start - 1), comment:sub(stop + 1) end
    local first = parts:match("^[^;]*")
    local parsed = head(first)
    if not parsed then return nil end
    parsed.topic = topic
    for part in parts:sub(#first + 1):gmatch("; ([^;]*)") do
        local readers_count = part:match("^(%d+) readers$")
        local reader = readers[part:match("^[%a-]+") or ""]
        if readers_count then
            parsed.readers = tonumber(readers_count)
        elseif reader and not reader(part, parsed) then
            parsed.unreadable[#parsed.unreadable + 1] = part
        end
    end
    -- A leg's times are those of the packet with its last byte.
    parsed.has_end = not parsed.part or parsed.part.to == parsed.part.of
    return parsed
end

return sentence
