-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Messages (DDS-XRCE 1.0 §8.3).
--
--   +---------+--------+--------------+ +------------------------+
--   | session | stream | sequence u16 | | client key, 4 bytes    |   the key: if session < 128
--   +---------+--------+--------------+ +------------------------+
--   +----+-------+------------+----------------+-----+
--   | id | flags | length u16 | body           | pad |  × n; each starts at a multiple of 4
--   +----+-------+------------+----------------+-----+
--
-- The numbers in headers are little-endian. In a TCP stream, each message follows its length, 2 bytes
-- little-endian (§11.3).

if not ... then return end

local Cursor = require("wirelap.cursor")
local Node = require("wirelap.node")
local Stream = require("wirelap.xrce.streams")
local objects = require("wirelap.xrce.objects")
local submessage = require("wirelap.xrce.submessage")
local all = require("wirelap.xrce.fields")
local F, X = all.fields, all.experts
local has = Cursor.has

local Message = {}
Message.__index = Message

-- memory: the conversation's state; side: the end that sent the message; number: the packet's; fresh: whether this is
-- the packet's first dissection.
function Message.new(memory, side, number, fresh)
    local self = { memory = memory, side = side, number = number, fresh = fresh, lines = {} }
    return setmetatable(self, Message)
end

-- The initial state of a conversation: topics by session and object, streams, and findings by message.
function Message.memory()
    return { objects = {}, streams = {}, again = {}, pieces = {} }
end

function Message:summary()
    return table.concat(self.lines, ", ")
end

local function header(at, node)
    local from = at.at
    local found = { session = at:u8(), stream = at:u8() }
    node:leaf(F.session, from, from + 1)
    node:leaf(F.stream, from + 1, from + 2)
    found.sequence = at:le(2)
    node:leaf(F.sequence, from + 2, from + 4, found.sequence)
    if found.session < 0x80 then
        from = at:skip(4)
        node:leaf(F.key, from, from + 4)
    end
    return found
end

function Message:stream()
    local head, streams = self.head, self.memory.streams
    local key = (self.side * 256 + head.session) * 256 + head.stream
    streams[key] = streams[key] or Stream.new()
    return streams[key]
end

-- Deletes the streams of a session that starts again, because their sequence numbers restart.
function Message:forget(session)
    for side = 1, 2 do
        for number = 0, 255 do self.memory.streams[(side * 256 + session) * 256 + number] = nil end
    end
end

-- Whether the message is a retransmission. Messages of stream 0 are never sent again and have no numbers (§8.3.2.2).
function Message:see(at, key)
    if self.fresh then
        local id = at.bytes:byte(at.at + 1)
        if id == 0 then
            -- CREATE_CLIENT has the session's id behind its header (4 bytes), cookie, version, vendor and key (12 bytes).
            local session = at.bytes:byte(at.at + 4 + 12 + 1)
            if session then self:forget(session) end
        elseif self.head.stream ~= 0 and self:stream():see(self.head.sequence) then
            self.memory.again[key] = true
        end
    end
    return self.memory.again[key]
end

function Message:context()
    local known, session = self.memory.objects, self.head.session
    return {
        topic_of = function(object) return objects.lookup(known, self.number, session, object) end,
        learn = function(object, topic)
            if self.fresh then objects.learn(known, self.number, session, object, topic) end
        end,
    }
end

-- Whether bytes start like a submessage that is sent in fragments.
local function looks_whole(bytes)
    local id, flags = bytes:byte(1, 2)
    return (id == 1 or id == 7 or id == 9) and flags ~= nil and flags <= 0x0F and #bytes >= 4
end

-- Shows the reassembled submessage of the fragments. Its length field is 0 if the length does not fit into 16 bits, so that the
-- reassembled length is used.
function Message:whole(whole, node)
    node:generated(F.reassembled_len, whole.len)
    if not looks_whole(whole.bytes) then return end
    node:generated(F.fragment_count, whole.count)
    local tvb = ByteArray.new(whole.bytes, true):tvb("Reassembled XRCE submessage")
    local inside = Node.new(node.tree, tvb):branch(0, 4, "Submessage")
    local at = Cursor.new(whole.bytes, 0, whole.len)
    self:guarded(inside, function()
        local sub = submessage.header(at, inside)
        submessage.body(at, inside, sub, self:context())
        inside:generated(F.message, sub.name)
        inside:close(0, whole.len, sub.label)
        self.lines[#self.lines + 1] = sub.label
    end)
end

function Message:fragment(at, node, sub, key)
    local from, to = at:skip(sub.len)
    local pieces = self.memory.pieces
    if self.fresh and not self.memory.again[key] then
        local bytes = at.bytes:sub(from + 1, to)
        local piece = { bytes = bytes, len = sub.len, last = has(sub.flags, 2), packet = self.number }
        pieces[key] = piece
        self:stream():add(self.head.sequence, piece, looks_whole(bytes))
    end
    node:leaf(F.fragment, from, to)
    node:generated(F.message, sub.name)
    node:close(sub.from, to)
    self.lines[#self.lines + 1] = "FRAGMENT"
    local whole = pieces[key] and pieces[key].whole
    if whole and whole.packet == self.number then
        self:whole(whole, node)
    elseif whole then
        node:generated(F.reassembled_in, whole.packet)
    end
end

function Message:submessage(at, node, start, key)
    local from = at.at
    local branch = node:branch(from, from + 4, "Submessage")
    local sub = submessage.header(at, branch)
    branch:close(from, from + 4 + sub.len, sub.label)
    if sub.id == 13 then
        self:fragment(at, branch, sub, key)
    else
        submessage.body(at:within(sub.len), branch, sub, self:context())
        branch:generated(F.message, sub.name)
        branch:close(from, at.at, sub.label)
        self.lines[#self.lines + 1] = sub.label
    end
    -- Submessages are aligned relative to the message's start; fewer bytes than a header are padding.
    at:skip(math.min((4 - (at.at - start) % 4) % 4, at:remaining()))
    if at:remaining() < 4 then at:skip(at:remaining()) end
end

-- Runs `read` and shows the cursor's error, if it raises one; other errors are passed on.
function Message:guarded(node, read)
    local fine, err = pcall(read)
    if fine then return end
    if not Cursor.is_stop(err) then error(err, 0) end
    if err == Cursor.CUT then
        node:expert(X.truncated, "Not captured to its end")
        self.lines[#self.lines + 1] = "[not captured]"
    else
        node:expert(X[err.kind], "Malformed: " .. err.reason)
        self.lines[#self.lines + 1] = "[malformed]"
    end
end

-- Reads the message in [from, to) of `bytes`.
function Message:read(bytes, from, to, node)
    self:guarded(node, function()
        local at = Cursor.new(bytes, from, to)
        self.head = header(at, node)
        local head = self.head
        local key = table.concat({ self.number, self.side, head.session, head.stream, head.sequence }, ":")
        if self:see(at, key) then
            node:generated(F.again, true):expert(X.again, "Retransmitted")
        end
        while not at:is_empty() do self:submessage(at, node, from, key) end
    end)
end

return Message
