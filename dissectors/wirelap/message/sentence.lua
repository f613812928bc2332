-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- What wirelap wrote beside a packet of a message's: its comment. The grammar is in docs/recording.md; parts that are
-- not known here are left out.

if not ... then return end

local sentence = {}

-- Each takes a part's text and notes what it says; false if that is not what the part should look like.
local readers = {}

readers["one"] = function(text, told)
    told.one_way = tonumber(text:match("^one way (%d+) ns$"))
    return told.one_way
end

readers["begins"] = function(text, told)
    told.begins = tonumber(text:match("^begins at (%d+) ns$"))
    return told.begins
end

readers["this"] = function(text, told)
    local all, parts = text:match("^this leg (%d+) ns:?(.*)$")
    if not all then return false end
    told.leg_time = tonumber(all)
    for name, time in parts:gmatch("([%w_]+) (%d+)") do
        told.segments[#told.segments + 1] = { name = name, time = tonumber(time) }
    end
    return true
end

local function process(text)
    local name, pid, tid = text:match("^%l+ (.-) ?(%d+)/(%d+)$")
    if not pid then return false end
    return { name = name, pid = tonumber(pid), tid = tonumber(tid) }
end

readers["sender"] = function(text, told)
    told.sender = process(text)
    return told.sender
end

readers["reader"] = function(text, told)
    told.reader = process(text)
    return told.reader
end

readers["queue"] = function(text, told)
    told.queue = tonumber(text:match("^queue (%d+)$"))
    return told.queue
end

readers["held"] = function(text, told)
    local cause, leg, segment, time = text:match("^held up by ([%w_]+) in leg (%d+) ([%w_]+) for (%d+) ns$")
    if not cause then return false end
    told.held_up = { cause = cause, leg = tonumber(leg), segment = segment, time = tonumber(time) }
    return true
end

readers["bytes"] = function(text, told)
    local from, to, of = text:match("^bytes (%d+) to (%d+) of (%d+)$")
    if not from then return false end
    told.part = { from = tonumber(from), to = tonumber(to), of = tonumber(of) }
    return true
end

readers["payload"] = function(text, told)
    told.payload = tonumber(text:match("^payload (%d+) bytes$"))
    return told.payload
end

readers["warm-up"] = function(_, told)
    told.standing = "warm-up"
    return true
end

readers["an"] = function(_, told)
    told.standing = "incomplete"
    return true
end

readers["not"] = function(text, told)
    local by_end, place = text:match("^not seen to be delivered( ?[%l ]*)(.*)$")
    if not by_end then return false end
    told.standing = by_end == " by the end" and "under way" or "undelivered"
    local leg, stage = place:match("^, last seen in leg (%d+) at (%l+)$")
    if leg then told.last_seen = { leg = tonumber(leg), stage = stage } end
    return (by_end == "" or by_end == " by the end") and (leg or place == "")
end

-- Where in the file as it was written: this one may have other numbers by now, so links are found anew.
readers["leg"] = function() return true end

-- The first part: message M, leg L of N, NAME at BROKER.
local function head(text)
    local id, leg, legs, row = text:match("^message (%d+), leg (%d+) of (%d+), (.*)$")
    if not id then return nil end
    local middleware, broker = row:match("^(.-) at (.*)$")
    return {
        id = tonumber(id), leg = tonumber(leg), legs = tonumber(legs), middleware = middleware or row, broker = broker,
        segments = {}, standing = "counted", readers = 1, unreadable = {},
    }
end

-- What a comment tells of a message, or nil if it is another comment.
function sentence.read(comment)
    local topic
    local start, stop = comment:find("; topic ", 1, true)
    local parts = comment
    if start then parts, topic = comment:sub(1, start - 1), comment:sub(stop + 1) end
    local first = parts:match("^[^;]*")
    local told = head(first)
    if not told then return nil end
    told.topic = topic
    for part in parts:sub(#first + 1):gmatch("; ([^;]*)") do
        local readers_count = part:match("^(%d+) readers$")
        local reader = readers[part:match("^[%a-]+") or ""]
        if readers_count then
            told.readers = tonumber(readers_count)
        elseif reader and not reader(part, told) then
            told.unreadable[#told.unreadable + 1] = part
        end
    end
    -- The packet with the last byte is the one whose times are told.
    told.has_end = not told.part or told.part.to == told.part.of
    return told
end

return sentence
