-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The topics of writers and readers, from CREATE submessages (DDS-XRCE 1.0 §7.7.3, §8.3.5.2).
--
--   +------------+-----------+------+--------+--------+------------+----------------+
--   | request, 2 | object, 2 | kind | format | pad, 2 | length u32 | representation |
--   +------------+-----------+------+--------+--------+------------+----------------+
--   format: 1 name of a profile that the agent knows · 2 XML · 3 binary

if not ... then return end

local Cursor = require("wirelap.cursor")
local holds = require("wirelap.stream").holds

local objects = {}

local TOPIC, DATA_WRITER, DATA_READER, REPLIER = 2, 5, 6, 8

local function u32(at, little)
    return little and at:le(4) or at:be(4)
end

-- The topic of a profile's name: many profiles have their topic's name with a suffix for the kind of object.
local function reference(text)
    local name = text:gsub("\0$", "")
    for _, suffix in ipairs({ "__t", "__dw", "__dr" }) do
        if name:sub(-#suffix) == suffix then return name:sub(1, -#suffix - 1) end
    end
    return name
end

-- The name of the topic, or for requesters and repliers of the service, in an XML representation.
local function xml(text, kind)
    if kind > DATA_READER then return text:match('service_name="([^"]*)"') end
    local _, from = text:find("<topic", 1, true)
    local name = from and text:match("<name>(.-)</name>", from + 1)
    return name and name:match("^%s*(.-)%s*$")
end

local function binary(text, kind, little, topic_of)
    local at = Cursor.new(text, 0, #text)
    if kind == TOPIC or kind > DATA_READER then
        return at:take(u32(at, little))
    end
    return topic_of(at:be(2))
end

-- The name of the topic of an object with this representation, or nil. `topic_of` gives the topic of another object.
function objects.topic(kind, format, text, little, topic_of)
    if kind ~= TOPIC and (kind < DATA_WRITER or kind > REPLIER) then return nil end
    local name
    if format == 1 then
        name = reference(text)
    elseif format == 2 then
        name = xml(text, kind)
    elseif format == 3 then
        local fine, found = pcall(binary, text, kind, little, topic_of)
        if not fine and not Cursor.is_stop(found) then error(found, 0) end
        name = fine and found or nil
    end
    name = name and name:match("^[^\0]*")
    if name and name ~= "" and #name <= 256 then return name end
end

-- The topic of an object at packet `number`, or nil if it is unknown.
function objects.lookup(known, number, session, object)
    local list = known[session * 65536 + object]
    local entry = list and holds(list, number)
    return entry and entry.topic
end

function objects.learn(known, number, session, object, topic)
    local key = session * 65536 + object
    known[key] = known[key] or {}
    table.insert(known[key], { number = number, topic = topic })
end

return objects
