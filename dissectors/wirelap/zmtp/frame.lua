-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Greetings and frames (RFC 23 and 37; RFC 15 for version 2).
--
--        signature             version      mechanism        as-server   filler
--   +----+-------------+----+-------+-------+----------------+-----------+----------+
--   | FF | 8 × padding | 7F | major | minor | 20 × ASCII, 0s |   0 or 1  |  31 × 0  |   3.x: 64 bytes
--   +----+-------------+----+-------+-------+----------------+-----------+----------+
--   | FF | 8 × padding | 7F | major | socket type | 00 | length | identity |           2.0
--   +----+-------------+----+-------+-------------+----+--------+----------+
--
--     7 6 5 4 3   2      1      0
--   +-----------+------+------+------+
--   |     0     | CMD  | LONG | MORE |   CMD: a command, never with MORE
--   +-----------+------+------+------+
--   | length: 1 byte, or 8 (LONG), BE|   counts the body
--   +--------------------------------+
--   | body                           |
--   +--------------------------------+
--
-- libzmq sends 3 as the major version also to peers of version 2, and continues in their format. Byte 12 (from 0) distinguishes the
-- formats: it is the mechanism's first letter in version 3, and 0 in version 2.

if not ... then return end

local Cursor = require("wirelap.cursor")
local F = require("wirelap.zmtp.fields").fields
local has = Cursor.has

local frame = {}

-- Whether `bytes` start a greeting: no frame has the flags 0xFF.
function frame.is_greeting(bytes)
    return bytes:byte(1) == 0xFF
end

-- Whether `bytes` are certainly a greeting's start. The specification ignores the padding, but all known libraries send
-- zeros, and checking these prevents mistakes.
function frame.opens(bytes)
    return bytes:find("^\255\0\0\0\0\0\0\0.\127") ~= nil
end

local function greeting_len(bytes)
    if #bytes < 13 then return #bytes < 10 or bytes:byte(10) == 0x7F, true end
    if bytes:byte(10) ~= 0x7F then return nil end
    local next = bytes:byte(13)
    if bytes:byte(11) >= 3 and next >= 65 and next <= 90 then return 64 end
    if next ~= 0 then return nil end
    if #bytes < 14 then return true, true end
    return 14 + bytes:byte(14)
end

-- Length in bytes of the greeting or frame that starts with `bytes`; the first 14 bytes are enough. Returns nil if neither
-- can start so, and whether more bytes could decide it.
function frame.len(bytes)
    if frame.is_greeting(bytes) then
        local len, more = greeting_len(bytes)
        if more then return nil, len end
        return len, false
    end
    local flags = bytes:byte(1)
    if not flags or flags > 6 or flags == 5 then return nil, flags == nil end
    local header = has(flags, 2) and 9 or 2
    if #bytes < header then return nil, true end
    local len = Cursor.new(bytes, 1, header)
    return header + (header == 2 and len:u8() or (len:be64())), false
end

local function text(at, node, field, len)
    local from = at.at
    local bytes = at:take(len)
    local shown = bytes:match("^[^\0]*")
    node:leaf(field, from, at.at, shown)
    return shown
end

local function bytes(at, node, field, len)
    local from, to = at:skip(len)
    if to > from then node:leaf(field, from, to) end
end

-- Shows a greeting. Returns { secure } for version 3 and { socket } for version 2.
function frame.greeting(at, node)
    bytes(at, node, F.signature, 10)
    bytes(at, node, F.major, 1)
    if at.bytes:byte(at.at + 2) == 0 then
        local socket = at:u8()
        node:leaf(F.socket_number, at.at - 1, at.at)
        at:skip(1)
        bytes(at, node, F.identity, at:u8())
        local names = { [0] = "PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB", "XSUB" }
        return { socket = names[socket] }
    end
    bytes(at, node, F.minor, 1)
    local mechanism = text(at, node, F.mechanism, 20)
    local from = at.at
    node:leaf(F.as_server, from, from + 1, at:u8() == 1)
    bytes(at, node, F.filler, 31)
    return { secure = mechanism ~= "NULL" and mechanism ~= "PLAIN" }
end

-- Shows a frame's header; returns { command, more, len }, with the body's length in bytes.
function frame.header(at, node)
    local from = at.at
    local flags = at:u8()
    for _, field in ipairs({ F.is_command, F.long, F.more }) do node:leaf(field, from, from + 1) end
    from = at.at
    local len, low, high
    if has(flags, 2) then
        len, low, high = at:be64()
    else
        len = at:u8()
        low, high = len, 0
    end
    node:leaf64(F.length, from, at.at, low, high)
    return { command = has(flags, 4), more = has(flags, 1), len = len }
end

local function properties(at, node)
    local socket
    while not at:is_empty() do
        local from = at.at
        local branch = node:branch(from, from + 1, "Property")
        local name = text(at, branch, F.property, at:u8())
        local len = at:be(4)
        local value = at.at + len <= #at.bytes and at.bytes:sub(at.at + 1, at.at + len) or ""
        if value ~= "" and not value:find("[^\32-\126]") then
            text(at, branch, F.property_text, len)
        else
            bytes(at, branch, F.property_bytes, len)
        end
        branch:close(from, at.at, name .. ": " .. value:gsub("[^\32-\126]", "."))
        if name:lower() == "socket-type" then socket = value end
    end
    return socket
end

local KNOWN = {}
for name in ("READY ERROR HELLO WELCOME INITIATE SUBSCRIBE CANCEL JOIN LEAVE PING PONG MESSAGE"):gmatch("%a+") do
    KNOWN[name] = true
end

-- Shows a command. Returns its name ("command" if it is unknown) and, for READY, the socket type.
function frame.command(at, node)
    local from = at.at
    local fine, name = pcall(function() return at:take(at:u8()) end)
    if not fine and not Cursor.is_stop(name) then error(name, 0) end
    if not fine or not KNOWN[name] then
        at.at = from
        bytes(at, node, F.data, at:remaining())
        return "command"
    end
    node:leaf(F.command, from + 1, at.at, name)
    if name == "READY" then return name, properties(at, node) end
    local subscribes = name == "SUBSCRIBE" or name == "CANCEL"
    bytes(at, node, subscribes and F.subscription or F.data, at:remaining())
    return name
end

return frame
