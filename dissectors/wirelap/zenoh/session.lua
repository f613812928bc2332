-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The state of a conversation: the agreed options, the numbers that its ends declared for key expressions, and messages
-- in fragments.

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

-- Handles an INIT, which resets the session. `terms` are the options in an InitAck, or nil for an InitSyn.
function Session:init(number, terms)
    self.terms[#self.terms + 1] = { number = number, terms = terms, opened = {} }
    for _, side in ipairs(self.ends) do
        for _, list in pairs(side.keys) do list[#list + 1] = { number = number } end
        side.lanes, side.marked, side.fresh = {}, terms ~= nil and terms.markers, true
    end
end

-- Handles an OPEN: from then on its sender uses the agreed options, and after an OpenAck both ends do.
function Session:open(number, side, ack)
    local last = self.terms[#self.terms]
    if not last then return end
    last.opened[side] = last.opened[side] or number
    if ack then last.opened[3 - side] = last.opened[3 - side] or number end
end

-- The options that are valid for packet `number`; nil if the session's start was not captured.
function Session:terms_at(number)
    local entry = holds(self.terms, number)
    return entry and entry.terms
end

-- Whether the session is in low-latency mode: each batch has one message and a length of four bytes.
function Session:is_low_latency(number, side)
    local entry = holds(self.terms, number)
    if not (entry and entry.terms and entry.terms.low_latency) then return false end
    local opened = entry.opened[side]
    return opened ~= nil and opened < number
end

-- Notes that an end declared its number `id` for the key expression `text` in packet `number`; with `text` nil, that it withdrew
-- the number, which is valid from the next packet on.
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

-- The complete key expression of a message that `side` sent in packet `number`, or nil if its number is unknown.
function Session:resolve(number, side, expr)
    if expr.scope == 0 then return expr.suffix end
    local prefix = lookup(self, number, expr.by_sender and side or 3 - side, expr.scope)
    return prefix and prefix .. expr.suffix
end

-- The complete key expression of a declaration. The message does not say which end declared the prefix's number: Zenoh takes the
-- receiver's number, and this function the sender's if the receiver has none.
function Session:complete(number, side, expr)
    expr.by_sender = not lookup(self, number, 3 - side, expr.scope)
end

return Session
