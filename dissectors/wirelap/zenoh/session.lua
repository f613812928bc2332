-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- What a conversation remembers: what its ends agreed on, the numbers they declared for key expressions, and
-- messages in fragments.

if not ... then return end

local holds = require("wirelap.stream").holds

local Session = {}
Session.__index = Session

function Session.new()
    return setmetatable({
        terms = {},
        ends = { { keys = {}, lanes = {} }, { keys = {}, lanes = {} } },
        pieces = {},
    }, Session)
end

-- An INIT was seen: everything starts anew. `terms` are those of an InitAck, or nil.
function Session:init(number, terms)
    self.terms[#self.terms + 1] = { number = number, terms = terms, opened = {} }
    for _, side in ipairs(self.ends) do
        for _, list in pairs(side.keys) do list[#list + 1] = { number = number } end
        side.lanes, side.marked, side.fresh = {}, terms ~= nil and terms.markers, true
    end
end

-- An OPEN was seen: what its sender sends after it is as agreed; after an OpenAck both do.
function Session:open(number, side, ack)
    local last = self.terms[#self.terms]
    if not last then return end
    last.opened[side] = last.opened[side] or number
    if ack then last.opened[3 - side] = last.opened[3 - side] or number end
end

-- What was agreed on when a packet came; nil if that was not seen.
function Session:terms_at(number)
    local entry = holds(self.terms, number)
    return entry and entry.terms
end

-- Whether one message at a time is sent, with a length of four bytes.
function Session:is_low_latency(number, side)
    local entry = holds(self.terms, number)
    if not (entry and entry.terms and entry.terms.low_latency) then return false end
    local opened = entry.opened[side]
    return opened ~= nil and opened < number
end

-- From packet `number` on, an end's number stands for `text`; nil: for nothing, from the next packet on.
function Session:declare(number, side, id, text)
    local keys = self.ends[side].keys
    local list = keys[id]
    if not list then
        list = {}
        keys[id] = list
    end
    list[#list + 1] = { number = text and number or number + 1, text = text }
end

local function lookup(self, number, side, id)
    local list = self.ends[side].keys[id]
    local entry = list and holds(list, number)
    return entry and entry.text
end

-- The whole key expression of a message that `side` sent in packet `number`, or nil.
function Session:resolve(number, side, expr)
    if expr.scope == 0 then return expr.suffix end
    local prefix = lookup(self, number, expr.by_sender and side or 3 - side, expr.scope)
    return prefix and prefix .. expr.suffix
end

-- Whose number the prefix of a declared key expression is, which the message does not say: as Zenoh reads
-- it, the receiver's; failing that, the sender's.
function Session:complete(number, side, expr)
    expr.by_sender = not lookup(self, number, 3 - side, expr.scope)
end

return Session
