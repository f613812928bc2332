-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Reads a batch: transport messages, network messages in FRAMEs, and network messages reassembled from FRAGMENTs.

if not ... then return end

local Cursor = require("wirelap.cursor")
local Node = require("wirelap.node")
local fragments = require("wirelap.zenoh.fragments")
local network = require("wirelap.zenoh.network")
local scouting = require("wirelap.zenoh.scouting")
local transport = require("wirelap.zenoh.transport")
local all = require("wirelap.zenoh.fields")
local F, X = all.fields, all.experts

local Batch = {}
Batch.__index = Batch

-- Number of messages of a batch that the packet list names; further messages are only counted.
local MAX_LINES = 6

-- session: the conversation's state; side: the end that sent the batch; number: the packet's; fresh: whether this is the
-- packet's first dissection.
function Batch.new(session, side, number, fresh)
    local self = setmetatable({ session = session, side = side, number = number, fresh = fresh }, Batch)
    self.lines, self.count = {}, 0
    self.keys = {
        resolve = function(expr) return session:resolve(number, side, expr) end,
        complete = function(expr) session:complete(number, side, expr) end,
        declare = function(id, text)
            if fresh then session:declare(number, side, id, text) end
        end,
    }
    return self
end

function Batch:line(text)
    self.count = self.count + 1
    if self.count <= MAX_LINES then self.lines[self.count] = text end
end

-- The batch's text in the packet list.
function Batch:summary()
    local text = table.concat(self.lines, ", ")
    if self.count > MAX_LINES then text = text .. ", " .. (self.count - MAX_LINES) .. " more" end
    return text
end

-- Sets the end, the name and the label of a message's subtree.
local function named(node, from, to, name, label)
    node:generated(F.message, name)
    node:close(from, to, label)
end

function Batch:network(at, node)
    local from, message = at.at, {}
    local header = at:peek() % 32
    local branch = node:branch(from, from + 1, "Network message " .. header)
    local fine, err = pcall(network.read, at, branch, message, self.keys)
    local text = network.describe(message)
    if not fine then
        -- The name of a message that ends too early is shown as far as it was read.
        branch:close(from, math.min(at.at, at.stop), text)
        if message.name then self:line(text) end
        error(err, 0)
    end
    named(branch, from, at.at, message.name, text)
    self:line(text)
end

-- Shows the network message that a fragment completes, in its own Tvb.
function Batch:reassembled(whole, node)
    node:generated(F.fragment_count, whole.count)
    node:generated(F.reassembled_len, whole.total)
    local tvb = ByteArray.new(whole.bytes, true):tvb("Reassembled Zenoh message")
    local at = Cursor.new(whole.bytes, 0, whole.total)
    self:guarded(at, Node.new(node.tree, tvb), function(branch) self:network(at, branch) end)
end

-- Reads a FRAGMENT, which always extends to the batch's end.
function Batch:fragment(at, node, message)
    local from, to = at.at, at.stop
    local pieces = self.session.pieces
    local key = self.number .. ":" .. self.side .. ":" .. message.lane .. ":" .. message.sn
    if self.fresh then
        local bytes = at.bytes:sub(from + 1, to)
        pieces[key] = fragments.take(self.session.ends[self.side], message, self.number, bytes, to - from)
    end
    at:skip(to - from)
    node:leaf(F.fragment_len, from, to, to - from)
    node:leaf(F.fragment_data, from, to)
    if message.first then node:generated(F.fragment_first, true) end
    if message.dropped then node:generated(F.fragment_dropped, true) end
    local piece = pieces[key]
    local whole = piece and piece.whole
    if not whole then
        if not message.dropped then node:expert(X.lost, "The message's first fragments were not captured") end
        return nil
    end
    node:generated(F.fragment_index, piece.index)
    if whole.first_number ~= self.number then node:generated(F.reassembled_from, whole.first_number) end
    if not piece.last and whole.complete then node:generated(F.reassembled_in, whole.last_number) end
    return piece.last and whole
end

function Batch:transport(at, node)
    local from = at.at
    local branch = node:branch(from, from + 1, "Transport message " .. at:peek() % 32)
    local message = transport.read(at, branch)
    if message.frame then
        if self.fresh then fragments.frame(self.session.ends[self.side], message) end
        named(branch, from, at.at, message.name, string.format("FRAME %.0f", message.sn))
        return
    elseif message.fragment then
        local whole = self:fragment(at, branch, message)
        local label = string.format("FRAGMENT %.0f", message.sn)
        named(branch, from, at.at, message.name, label)
        self:line(label)
        if whole then self:reassembled(whole, branch) end
        return
    end
    if self.fresh and message.init then
        self.session:init(self.number, message.ack and message.terms or nil)
    elseif self.fresh and message.open then
        self.session:open(self.number, self.side, message.ack)
    end
    named(branch, from, at.at, message.name, message.name)
    self:line(message.name)
end

-- Runs `read` and shows the cursor's error, if it raises one; other errors are passed on.
function Batch:guarded(at, node, read)
    local fine, err = pcall(read, node)
    if fine then return true end
    if not Cursor.is_stop(err) then error(err, 0) end
    if err == Cursor.CUT then
        node:expert(X.truncated, "Not captured to its end")
        self:line("[not captured]")
    else
        node:expert(X[err.kind], "Malformed: " .. err.reason)
        self:line("[malformed]")
    end
    return false
end

-- Reads the compression header, one byte of 0 or 1, if the ends agreed on compression; returns whether the batch is
-- compressed. Only two messages start with these bytes: OAM, which is never sent, and InitSyn, whose next byte is the
-- version, with which no LZ4 block can start. The header is therefore found even if the session's start was not captured.
function Batch:compression(at, node)
    local terms = self.session:terms_at(self.number)
    local header = at:peek()
    if header > 1 or terms and not terms.compression then return false end
    local second = at.bytes:byte(at.at + 2)
    if header == 1 and second == transport.VERSION then return false end
    if header == 0 and not terms and not (second and second % 32 >= 3 and second % 32 <= 7) then return false end
    local from = at:skip(1)
    node:leaf(F.compressed, from, from + 1, header == 1)
    return header == 1
end

function Batch:walk(at, node)
    if self:compression(at, node) then
        local from, to = at:skip(at:remaining())
        node:leaf(F.compressed_data, from, to)
        node:generated(F.message, "BATCH (compressed)")
        return self:line("compressed batch")
    end
    while not at:is_empty() do
        if network.starts_with(at:peek()) then
            self:network(at, node)
        else
            self:transport(at, node)
        end
    end
end

-- Reads the batch in [from, to) of `bytes`.
function Batch:read(bytes, from, to, node)
    local at = Cursor.new(bytes, from, to)
    return self:guarded(at, node, function() self:walk(at, node) end)
end

-- Reads a datagram, which is a scouting message or a batch.
function Batch:datagram(bytes, to, node)
    if pcall(scouting.read, Cursor.new(bytes, 0, to), Node.none) then
        local branch = node:branch(0, to, "Scouting message")
        local name = scouting.read(Cursor.new(bytes, 0, to), branch)
        named(branch, 0, to, name, name)
        return self:line(name)
    end
    return self:read(bytes, 0, to, node)
end

return Batch
