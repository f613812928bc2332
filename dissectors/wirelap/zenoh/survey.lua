-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Whether bytes at no known port are Zenoh: strictly, and without a conversation's memory.

if not ... then return end

local Cursor = require("wirelap.cursor")
local Node = require("wirelap.node")
local network = require("wirelap.zenoh.network")
local scouting = require("wirelap.zenoh.scouting")
local transport = require("wirelap.zenoh.transport")

local survey = {}

-- Where nothing is remembered, every number stands for something.
local KEYS = {
    resolve = function(expr) return expr.suffix end,
    complete = function() end,
    declare = function() end,
}

-- Key expressions are text without control characters.
local function is_key_expr(message)
    return not (message.expr and message.expr.suffix:find("%c"))
end

-- The network messages of a FRAME, at least one; the last one may be cut.
local function frame(at)
    local found = false
    while not at:is_empty() and network.starts_with(at:peek()) do
        local message = {}
        network.read(at, Node.none, message, KEYS)
        if not is_key_expr(message) then return false end
        found = true
    end
    return found
end

-- Whether [from, to) of `bytes` starts as a batch that nothing else looks like: with the protocol's version
-- in it, or with a whole network message in a FRAME.
local function batch(bytes, from, to)
    local at = Cursor.new(bytes, from, to)
    local message = transport.read(at, Node.none)
    if message.init or message.join then
        return message.version == transport.VERSION and at:is_empty()
    end
    return message.frame and frame(at) and at:is_empty()
end

local function try(read, ...)
    local fine, found = pcall(read, ...)
    if not fine and not Cursor.is_stop(found) then error(found, 0) end
    return fine and found
end

-- Looks at bytes of a TCP stream.
function survey.stream(bytes)
    if #bytes < 5 then return false end
    local low, high = bytes:byte(1, 2)
    local len = high * 256 + low
    return len > 0 and len + 2 <= #bytes and try(batch, bytes, 2, len + 2) or false
end

-- Looks at a datagram.
function survey.datagram(bytes)
    if #bytes < 2 then return false end
    return try(scouting.read, Cursor.new(bytes, 0, #bytes), Node.none) or try(batch, bytes, 0, #bytes) or false
end

return survey
