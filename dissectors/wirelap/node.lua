-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- A place in Wireshark's tree, with the Tvb that its ranges are of. Ranges that were not captured are cut,
-- never read: no range here can raise an error.

if not ... then return end

local Node = {}
Node.__index = Node

function Node.new(tree, tvb)
    return setmetatable({ tree = tree, tvb = tvb, len = tvb:len() }, Node)
end

-- The captured part of [from, to), or nil.
function Node:range(from, to)
    if to > self.len then to = self.len end
    if from >= to then return nil end
    return self.tvb(from, to - from)
end

local function wrap(self, item)
    return setmetatable({ tree = item, tvb = self.tvb, len = self.len }, Node)
end

-- A field with a value, or with the value that its bytes have.
function Node:leaf(field, from, to, value)
    local range = self:range(from, to)
    local item
    if value ~= nil and range then
        item = self.tree:add(field, range, value)
    elseif value ~= nil then
        item = self.tree:add(field, value)
    elseif range then
        item = self.tree:add(field, range)
    else
        return Node.none
    end
    return wrap(self, item)
end

-- Text in UTF-8.
function Node:text(field, from, to, value)
    local range = self:range(from, to)
    if range and to <= self.len then
        return wrap(self, self.tree:add_packet_field(field, range, ENC_UTF_8 + ENC_STRING))
    end
    return self:leaf(field, from, to, value)
end

-- 64 bits, by their halves.
function Node:leaf64(field, from, to, low, high)
    return self:leaf(field, from, to, UInt64.new(low, high))
end

-- Marks a field as one that is not in the packet as it is shown.
function Node:mark_generated()
    self.tree:set_generated()
end

-- A value that is nowhere in the packet.
function Node:generated(field, value)
    local item = self.tree:add(field, value)
    item:set_generated()
    return wrap(self, item)
end

-- A branch with a label of its own.
function Node:branch(from, to, label)
    local range = self:range(from, to)
    local item = range and self.tree:add(range, label) or self.tree:add(label)
    return wrap(self, item)
end

-- Says where the branch ends, and what it is.
function Node:close(from, to, label)
    if to > self.len then to = self.len end
    if to > from then self.tree:set_len(to - from) end
    if label then self.tree:set_text(label) end
end

function Node:append(text)
    self.tree:append_text(text)
end

function Node:expert(info, text)
    self.tree:add_proto_expert_info(info, text)
end

-- Takes everything and shows nothing: for looking at bytes without dissecting them.
local none = {}
function none.range() return nil end
for name, method in pairs(Node) do
    if type(method) == "function" and name ~= "new" and name ~= "range" then
        none[name] = function(self) return self end
    end
end
Node.none = none

return Node
