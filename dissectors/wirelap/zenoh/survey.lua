-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Decides whether bytes on an unregistered port are Zenoh, with strict checks and without a conversation's state.

if not ... then return end

local Cursor = require("wirelap.cursor")
local Node = require("wirelap.node")
local network = require("wirelap.zenoh.network")
local scouting = require("wirelap.zenoh.scouting")
local transport = require("wirelap.zenoh.transport")

local survey = {}

-- Resolves every number, because the declared numbers are unknown here.
local KEYS = {
    resolve = function(expr) return expr.suffix end,
    complete = function() end,
    declare = function() end,
}

-- Whether the message's key expression has no control characters.
local function is_key_expr(message)
    return not (message.expr and message.expr.suffix:find("%c"))
end

-- Whether a FRAME has at least one network message; the last one may be truncated.
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

-- Whether [from, to) of `bytes` is a batch that no other protocol looks like: it has the protocol's version, or a
-- network message in a FRAME.
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

-- Whether bytes of a TCP stream are Zenoh.
function survey.stream(bytes)
    if #bytes < 5 then return false end
    local low, high = bytes:byte(1, 2)
    local len = high * 256 + low
    return len > 0 and len + 2 <= #bytes and try(batch, bytes, 2, len + 2) or false
end

-- Whether a datagram is Zenoh.
function survey.datagram(bytes)
    if #bytes < 2 then return false end
    return try(scouting.read, Cursor.new(bytes, 0, #bytes), Node.none) or try(batch, bytes, 0, #bytes) or false
end

return survey
