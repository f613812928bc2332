-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Scouting messages, each a datagram of its own.
--
--   1 SCOUT                version, zid length (7..4) has zid (3) roles sought (2..0), [zid]
--   2 HELLO   5: locators  version, zid length (7..4) role (1..0), zid,
--                          [z64 count, locators: z8 length, bytes]
--
-- INIT and OPEN have the same ids, so that a datagram is a scouting message only if all of it can be read as one.
--
-- Source: zenoh-protocol and zenoh-codec 1.10, `src/scouting` of each.

if not ... then return end

local Cursor = require("wirelap.cursor")
local transport = require("wirelap.zenoh.transport")
local wire = require("wirelap.zenoh.wire")
local names = require("wirelap.zenoh.names")
local F = require("wirelap.zenoh.fields").fields
local has = Cursor.has

local scouting = {}

local function introduction(at, node)
    local from = at.at
    if at:u8() ~= transport.VERSION then Cursor.malformed("unknown protocol version") end
    node:leaf(F.version, from, at.at)
end

local function scout(at, node)
    local header = wire.header(at, node, F.scouting_id)
    if has(header, 0x20) or has(header, 0x40) then Cursor.malformed("no scouting message has these flags") end
    introduction(at, node)
    local from = at.at
    local flags = at:u8()
    node:leaf(F.scout_what, from, at.at)
    node:leaf(F.has_zid, from, at.at)
    if has(flags, 0x08) then
        wire.zid(at, flags, node)
    elseif flags >= 16 then
        Cursor.malformed("a length without a Zenoh id")
    end
    return header, "Scout"
end

local function hello(at, node)
    local header = wire.header(at, node, F.scouting_id, F.has_locators)
    if has(header, 0x40) then Cursor.malformed("no scouting message has these flags") end
    introduction(at, node)
    local from = at.at
    local flags = at:u8()
    if flags % 16 > 2 then Cursor.malformed("a role that does not exist") end
    node:leaf(F.role, from, at.at)
    wire.zid(at, flags, node)
    if has(header, 0x20) then
        for _ = 1, at:z64() do wire.text(at, node, F.locator, 255) end
    end
    return header, "Hello"
end

-- Reads a scouting message, which must extend to the datagram's end; returns its name.
function scouting.read(at, node)
    local read = ({ scout, hello })[at:peek() % 32]
    if not read then Cursor.malformed("no scouting message has this id") end
    local header, name = read(at, node)
    wire.exts(at, header, node, names.extensions.none)
    if not at:is_empty() then Cursor.malformed("bytes behind the scouting message") end
    return name
end

return scouting
