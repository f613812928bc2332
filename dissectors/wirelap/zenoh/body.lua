-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The bodies of PUSH, REQUEST and RESPONSE.
--
--   1 PUT    5: timestamp     6: encoding     [timestamp] [encoding] extensions, z32 length, payload
--   2 DEL    5: timestamp                     [timestamp] extensions
--   3 QUERY  5: consolidation 6: parameters   [z64] [z64 length, text] extensions
--   4 REPLY  5: consolidation                 [z64] extensions, then PUT or DEL
--   5 ERR                     6: encoding     [encoding] extensions, z32 length, payload
--
--   extensions   PUT, ERR: 1 source, 2 shared memory (unit); PUT: 3 attachment
--                QUERY: 1 source, 3 body (encoding, payload), 4 the body that follows is in shared memory
--   shared       z32 slices, each z32 kind | z32 length | bytes; kind 0: the data themselves,
--   memory       1: the data's address in shared memory
--
-- The payload length of a message in shared memory is the number of bytes that travel: the slices' bytes, and for a single
-- slice without its kind and length.
--
-- Source: zenoh-protocol and zenoh-codec 1.10, `src/zenoh` of each and `src/core/zbuf.rs`.

if not ... then return end

local Cursor = require("wirelap.cursor")
local wire = require("wirelap.zenoh.wire")
local names = require("wirelap.zenoh.names")
local F = require("wirelap.zenoh.fields").fields
local known = names.extensions
local has = Cursor.has

local body = {}

-- Shows the application's bytes in [from, to). The payload length is set before the bytes are read, so that a truncated
-- payload has a length, too.
local function carries(node, message, from, to)
    message.payload_len = to - from
    local field = node:leaf(F.payload_len, from, to, to - from)
    if to > from then field:leaf(F.payload, from, to) end
end

local function slices(at, node, message)
    local count = wire.z32(at, node, F.slice_count)
    local all = at.at
    for _ = 1, count do
        local branch = node:branch(at.at, at.at + 1, "Slice")
        local from = at.at
        wire.z32(at, branch, F.slice_kind)
        local start, stop = at:skip(wire.z32(at, branch, F.slice_len))
        branch:close(from, stop)
        if count == 1 then return carries(node, message, start, stop) end
    end
    carries(node, message, all, at.at)
end

local function attachment(node, value)
    node:leaf(F.attachment_len, value.at, value.stop, value.stop - value.at)
    node:leaf(F.attachment, value.at, value.stop)
    return true
end

-- Reads extensions and payload, the last parts of PUT and ERR.
local function payload(at, header, node, message, extensions)
    local shared = false
    wire.exts(at, header, node, extensions, function(id, branch, value)
        if id == 1 and type(value) == "table" then
            wire.source(value, branch)
            return true
        elseif id == 2 and value == nil then
            shared = true
        elseif id == 3 and type(value) == "table" then
            return attachment(branch, value)
        end
    end)
    if shared then
        message.name = message.name .. " (shm)"
        return slices(at, node, message)
    end
    local from, to = at:skip(at:z32())
    carries(node, message, from, to)
end

local function put(at, node, message)
    local header = wire.header(at, node, F.body_id, F.has_timestamp, F.has_encoding)
    if has(header, 0x20) then wire.timestamp(at, node) end
    if has(header, 0x40) then wire.encoding(at, node) end
    payload(at, header, node, message, known.put)
end

local function del(at, node, message)
    local header = wire.header(at, node, F.body_id, F.has_timestamp)
    if has(header, 0x20) then wire.timestamp(at, node) end
    wire.exts(at, header, node, known.del, function(id, branch, value)
        if id == 1 and type(value) == "table" then
            wire.source(value, branch)
            return true
        elseif id == 2 and type(value) == "table" then
            return attachment(branch, value)
        end
    end)
    carries(node, message, at.at, at.at)
end

-- Reads PUT or DEL and sets `message.name`.
local function sample(at, node, message, deleted)
    local id = at:peek() % 32
    local branch = node:branch(at.at, at.at + 1, names.body[id] or "Body")
    local from = at.at
    if id == 1 then
        put(at, branch, message)
    elseif id == 2 then
        message.name = deleted
        del(at, branch, message)
    else
        Cursor.malformed("the body is neither PUT nor DEL")
    end
    branch:close(from, at.at)
end

local function consolidation(at, node)
    local from = at.at
    node:leaf(F.consolidation, from, at.at + 1, at:z64() % 256)
end

-- Reads the body of a PUSH.
function body.push(at, node, message)
    message.name = "Put"
    sample(at, node, message, "Del")
end

local function err(at, node, message)
    message.name = "Err"
    local from = at.at
    local branch = node:branch(from, from + 1, "ERR")
    local header = wire.header(at, branch, F.body_id, F.has_encoding)
    if has(header, 0x40) then wire.encoding(at, branch) end
    payload(at, header, branch, message, known.err)
    branch:close(from, at.at)
end

-- Reads the body of a RESPONSE.
function body.response(at, node, message)
    local id = at:peek() % 32
    if id == 5 then return err(at, node, message) end
    if id ~= 4 then Cursor.malformed("the body is neither REPLY nor ERR") end
    message.name = "Reply"
    local from = at.at
    local branch = node:branch(from, from + 1, "REPLY")
    local header = wire.header(at, branch, F.body_id, F.has_consolidation)
    if has(header, 0x20) then consolidation(at, branch) end
    wire.exts(at, header, branch, known.reply)
    sample(at, branch, message, "Reply")
    branch:close(from, at.at)
end

-- Reads a QUERY's body in shared memory. Its end is that of its slices: the extension's length does not count all of them.
local function shared_body(at, node, message)
    local from = at.at
    local branch = node:branch(from, from + 1, "Extension: Body in shared memory")
    local header = at:u8()
    branch:leaf(F.ext_id, from, from + 1)
    wire.z32(at, branch, F.ext_len)
    wire.encoding(at, branch)
    message.name = "Query (shm)"
    slices(at, branch, message)
    branch:close(from, at.at)
    return has(header, 0x80)
end

-- Reads the body of a REQUEST.
function body.query(at, node, message)
    if at:peek() % 32 ~= 3 then Cursor.malformed("the body is no QUERY") end
    message.name = "Query"
    local from, shared = at.at, false
    local branch = node:branch(from, from + 1, "QUERY")
    local header = wire.header(at, branch, F.body_id, F.has_consolidation, F.has_parameters)
    if has(header, 0x20) then consolidation(at, branch) end
    if has(header, 0x40) then wire.text(at, branch, F.parameters) end
    local function visit(id, ext, value)
        if id == 1 and type(value) == "table" then
            wire.source(value, ext)
        elseif id == 3 and type(value) == "table" then
            wire.encoding(value, ext)
            carries(ext, message, value.at, value.stop)
        elseif id == 5 and type(value) == "table" then
            attachment(ext, value)
        else
            shared = shared or id == 4 and value == nil
            return false
        end
        return true
    end
    local more = has(header, 0x80)
    while more do
        local next_header = at:peek()
        if shared and next_header % 16 == 3 and math.floor(next_header / 32) % 4 == 2 then
            shared = false
            more = shared_body(at, branch, message)
        else
            more = wire.ext(at, branch, known.query, visit)
        end
    end
    branch:close(from, at.at)
end

return body
