-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- An item of Wireshark's tree, with the Tvb of its byte ranges. A range is cut to its captured part before it is read,
-- so that no method raises an error for a range that was not captured.

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

-- Adds a field with the given value, or with the value of its bytes if there is none.
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

-- Adds a field with a text in UTF-8.
function Node:text(field, from, to, value)
    local range = self:range(from, to)
    if range and to <= self.len then
        return wrap(self, self.tree:add_packet_field(field, range, ENC_UTF_8 + ENC_STRING))
    end
    return self:leaf(field, from, to, value)
end

-- Adds a field with an integer of 64 bits, from its two halves.
function Node:leaf64(field, from, to, low, high)
    return self:leaf(field, from, to, UInt64.new(low, high))
end

-- Marks the item as generated: its value is not in the packet in this form.
function Node:mark_generated()
    self.tree:set_generated()
end

-- Adds a generated field: its value is not in the packet's bytes.
function Node:generated(field, value)
    local item = self.tree:add(field, value)
    item:set_generated()
    return wrap(self, item)
end

-- Adds a subtree with a label.
function Node:branch(from, to, label)
    local range = self:range(from, to)
    local item = range and self.tree:add(range, label) or self.tree:add(label)
    return wrap(self, item)
end

-- Sets the subtree's end and, if given, its label.
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

-- A node that ignores everything: with it, bytes can be parsed without a tree.
local none = {}
function none.range() return nil end
for name, method in pairs(Node) do
    if type(method) == "function" and name ~= "new" and name ~= "range" then
        none[name] = function(self) return self end
    end
end
Node.none = none

return Node
