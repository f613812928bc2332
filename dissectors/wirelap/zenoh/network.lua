-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Network messages: a FRAME carries whole ones, a FRAGMENT a part of one.
--
--   0x1D PUSH            5: named 6: by sender   wire expr, extensions, then PUT or DEL
--   0x1C REQUEST         5: named 6: by sender   z32 request, wire expr, extensions, then QUERY
--   0x1B RESPONSE        5: named 6: by sender   z32 request, wire expr, extensions, then REPLY or ERR
--   0x1A RESPONSE_FINAL                          z32 request, extensions
--   0x1E DECLARE         5: answers an interest  [z32 interest], extensions, then a declaration
--   0x19 INTEREST        5,6: mode               z32 interest, unless final: options, [wire expr]; extensions
--   0x1F OAM             5,6: encoding           as the transport's
--
--   declarations:
--     0 key expression   5: named                z16 id, wire expr, extensions
--     1 … withdrawn                              z16 id, extensions
--     2 subscriber, 4 queryable, 6 token         z32 id, wire expr, extensions
--     3, 5, 7 … withdrawn                        z32 id, extensions
--     0x1A final                                 extensions
--
-- No network message has the id of a transport message, so that a FRAME ends where a transport message starts.
--
-- Source: zenoh-protocol and zenoh-codec 1.10, `src/network` of each.

if not ... then return end

local Cursor = require("wirelap.cursor")
local body = require("wirelap.zenoh.body")
local transport = require("wirelap.zenoh.transport")
local wire = require("wirelap.zenoh.wire")
local names = require("wirelap.zenoh.names")
local all = require("wirelap.zenoh.fields")
local F, X = all.fields, all.experts
local known = names.extensions
local has, floor = Cursor.has, math.floor

local network = {}

-- Whether a network message can start with this header byte.
function network.starts_with(header)
    return header % 32 >= 0x19
end

-- Shows a message's key expression; `keys` resolves declared numbers.
local function about(node, message, expr, field, keys)
    message.expr = expr
    local text = keys.resolve(expr)
    if not text then
        node:expert(X.unresolved, "Number " .. expr.scope .. " was declared before the capture began")
        return
    end
    message.keyexpr = text
    node:leaf(field, expr.from, expr.to, text)
    node:leaf(F.keyexpr, expr.from, expr.to, text):mark_generated()
end

local function addressed(at, node, message, header, field, keys)
    local expr = wire.expr(at, node, has(header, 0x20), has(header, 0x40))
    about(node, message, expr, field, keys)
end

local function visit_common(id, node, value, from, to)
    if id == 1 and type(value) == "number" then
        wire.qos(node, value, from, to)
        return true
    elseif id == 2 and type(value) == "table" then
        wire.timestamp(value, node)
        return true
    end
end

local function push(at, node, message, keys)
    local header = wire.header(at, node, F.network_id, F.named, F.by_sender)
    addressed(at, node, message, header, F.push_keyexpr, keys)
    wire.exts(at, header, node, known.push, visit_common)
    body.push(at, node, message)
end

local function request(at, node, message, keys)
    local header = wire.header(at, node, F.network_id, F.named, F.by_sender)
    wire.z32(at, node, F.request)
    addressed(at, node, message, header, F.request_keyexpr, keys)
    wire.exts(at, header, node, known.request, visit_common)
    body.query(at, node, message)
end

local function response(at, node, message, keys)
    local header = wire.header(at, node, F.network_id, F.named, F.by_sender)
    wire.z32(at, node, F.request)
    addressed(at, node, message, header, F.response_keyexpr, keys)
    wire.exts(at, header, node, known.response, visit_common)
    body.response(at, node, message)
end

local function response_final(at, node, message)
    local header = wire.header(at, node, F.network_id)
    wire.z32(at, node, F.request)
    wire.exts(at, header, node, known.response, visit_common)
    message.name = "ResponseFinal"
end

local function interest(at, node, message, keys)
    local header = wire.header(at, node, F.network_id, F.interest_mode)
    wire.z32(at, node, F.interest)
    if floor(header / 32) % 4 ~= 0 then
        local from = at.at
        local options = at:u8()
        local branch = node:leaf(F.interest_options, from, from + 1)
        for _, field in ipairs({ F.wants_keyexprs, F.wants_subscribers, F.wants_queryables, F.wants_tokens,
            F.restricted, F.aggregate }) do
            branch:leaf(field, from, from + 1)
        end
        if has(options, 0x10) then addressed(at, node, message, options, F.interest_keyexpr, keys) end
    end
    wire.exts(at, header, node, known.declare, visit_common)
    message.name = "Interest"
end

-- The declarations of entities; the id after each of these is its withdrawal.
local entities = { [2] = "Subscriber", [4] = "Queryable", [6] = "Token" }

local function declaration(at, node, message, keys)
    local id = at:peek() % 32
    local header
    if id == 0 or entities[id] then
        header = wire.header(at, node, F.declaration_id, F.named, F.by_sender)
        if id == 0 then
            local number = wire.z16(at, node, F.declared_scope)
            local expr = wire.expr(at, node, has(header, 0x20), true)
            keys.complete(expr)
            about(node, message, expr, F.declare_keyexpr, keys)
            message.declares = number
            message.name = "DeclareKeyExpr"
        else
            wire.z32(at, node, F.declared_entity)
            addressed(at, node, message, header, F.declare_keyexpr, keys)
            message.name = "Declare" .. entities[id]
        end
    else
        header = wire.header(at, node, F.declaration_id)
        if id == 1 then
            message.withdraws = wire.z16(at, node, F.declared_scope)
            message.name = "UndeclareKeyExpr"
        elseif entities[id - 1] then
            wire.z32(at, node, F.declared_entity)
            message.name = "Undeclare" .. entities[id - 1]
        elseif id == 0x1A then
            message.name = "DeclareFinal"
        else
            Cursor.malformed("no declaration has this id")
        end
    end
    wire.exts(at, header, node, known.declaration)
end

local function declare(at, node, message, keys)
    local header = wire.header(at, node, F.network_id, F.has_interest)
    if has(header, 0x20) then wire.z32(at, node, F.interest) end
    wire.exts(at, header, node, known.declare, visit_common)
    local from = at.at
    local branch = node:branch(from, from + 1, names.declaration[at:peek() % 32] or "Declaration")
    declaration(at, branch, message, keys)
    branch:close(from, at.at)
end

local function oam(at, node, message)
    message.name = transport.oam(at, node, F.network_id).name
end

local readers = {
    [0x19] = interest, [0x1A] = response_final, [0x1B] = response, [0x1C] = request, [0x1D] = push,
    [0x1E] = declare, [0x1F] = oam,
}

-- Reads a network message into `message`: name, keyexpr, payload_len, declares, withdraws. If the bytes end early,
-- `message` has the fields that were read before.
function network.read(at, node, message, keys)
    local read = readers[at:peek() % 32]
    if not read then Cursor.malformed("no network message has this id") end
    read(at, node, message, keys)
    if message.declares then keys.declare(message.declares, message.keyexpr) end
    if message.withdraws then keys.declare(message.withdraws, nil) end
end

-- A line of text on a message.
function network.describe(message)
    local text = message.name or "Network message"
    if message.keyexpr then
        text = text .. " " .. message.keyexpr
    elseif message.expr and message.expr.scope ~= 0 then
        text = text .. " [" .. message.expr.scope .. "]" .. message.expr.suffix
    end
    if message.payload_len then text = text .. string.format(" (%.0f bytes)", message.payload_len) end
    return text
end

return network
