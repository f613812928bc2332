-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Decides whether bytes are XRCE. Only the messages that open a session have a magic number; for other messages, all
-- lengths, ids and streams must be possible by the specification.

if not ... then return end

local Cursor = require("wirelap.cursor")
local Node = require("wirelap.node")
local submessage = require("wirelap.xrce.submessage")

local survey = {}

-- Length in bytes of the shortest message: a header without key, and a RESET.
survey.SHORTEST = 8

-- Shortest and longest length in bytes of each submessage's body (§8.3.5).
local LENGTHS = {
    [0] = { 16 }, { 8 }, { 5 }, { 4, 4 }, { 2 }, { 6 }, { 6 }, { 4 }, { 5 }, { 4 }, { 5, 5 }, { 5, 5 }, { 0, 0 },
    { 1 }, { 8, 8 }, { 24, 24 },
}

local function fits(sub, stream)
    local limits = LENGTHS[sub.id]
    if sub.len < limits[1] or sub.len > (limits[2] or 65535) then return false end
    if sub.id == 13 then return stream >= 0x80 end
    if sub.id == 0 or sub.id == 4 then return stream == 0 end
    if sub.id == 1 or sub.id >= 7 and sub.id <= 9 then return stream ~= 0 end
    return true
end

local function walk(at)
    local from = at.at
    local session, stream = at:u8(), at:u8()
    at:skip(session < 0x80 and 6 or 2)
    local strong = false
    if at:is_empty() then return nil end
    while not at:is_empty() do
        local sub = submessage.header(at, Node.none)
        if not fits(sub, stream) then return nil end
        local body = at:take(sub.len)
        if sub.id == 0 or sub.id == 4 then
            local cookie = body:sub(sub.id == 0 and 1 or 3, sub.id == 0 and 4 or 6)
            if cookie ~= "XRCE" then return nil end
            strong = true
        end
        at:skip(math.min((4 - (at.at - from) % 4) % 4, at:remaining()))
        if at:remaining() < 4 then at:skip(at:remaining()) end
    end
    return strong and "certain" or "likely"
end

-- Whether [from, to) of `bytes` is a message: "certain", with the magic number; "likely"; "cut", if the captured bytes
-- are possible but end too early; or nil.
function survey.message(bytes, from, to)
    local fine, found = pcall(walk, Cursor.new(bytes, from, to))
    if not fine and not Cursor.is_stop(found) then error(found, 0) end
    if not fine then return found == Cursor.CUT and "cut" or nil end
    return found
end

return survey
