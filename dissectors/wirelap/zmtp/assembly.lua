-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Messages of several parts. Each part is a frame; all but the last have the flag MORE. The role of a part depends on
-- the sockets:
--
--   PUB, XPUB         topic · payload …             the first of several parts is the topic
--   REQ, REP          [identity …] · empty · payload …        the parts up to the empty one are the envelope
--   DEALER, ROUTER    payload …, or an envelope like REQ's, if a part before the last is empty
--   other sockets     payload …
--   unknown sockets   like PUB; with an empty part, like REQ
--
-- The topic in the first part is a convention of applications: ZeroMQ itself compares a subscription with a message's
-- first bytes. A message of one part has only payload.

if not ... then return end

local Assembly = {}
Assembly.__index = Assembly

-- Longest first part in bytes that counts as a topic if the kinds of both sockets are unknown.
local PLAUSIBLE_TOPIC = 255

-- Longest topic in bytes that is stored and shown.
local LONGEST_TOPIC = 4096

local KINDS = {
    PUB = "publisher", XPUB = "publisher", RADIO = "publisher", SUB = "subscriber", XSUB = "subscriber",
    REQ = "requester", REP = "requester", DEALER = "router", ROUTER = "router",
}

-- The kind of a socket type; types whose messages have the same form have the same kind.
function Assembly.kind(name)
    return KINDS[name] or "other"
end

-- The form of the sender's messages, from the kinds of both sockets.
local function pattern(sender, receiver)
    if sender == "requester" or receiver == "requester" then return "envelope" end
    if sender == "router" or not sender and receiver == "router" then return "perhaps" end
    if sender == "publisher" or not sender and receiver == "subscriber" then return "topic" end
    if sender or receiver then return "plain" end
    return "unknown"
end

function Assembly.new()
    return setmetatable({}, Assembly)
end

local function role(self, how, len, more, is_first)
    if how == "topic" and is_first and more then return "topic" end
    if how == "plain" or how == "topic" then return "payload" end
    if not self.delimited and more and len == 0 then return "delimiter" end
    if how == "envelope" and not self.delimited and more then return "envelope" end
    if how == "unknown" and is_first and more and len <= PLAUSIBLE_TOPIC then return "topic" end
    return "payload"
end

-- Adds a part: its length in bytes, whether more parts follow, and its captured bytes. Returns the part's role and, with
-- the last part, the message's topic, payload_len (bytes) and parts (count).
function Assembly:part(sender, receiver, len, more, body)
    local is_first = not self.open
    if is_first then
        self.open, self.delimited, self.topic, self.payload_len, self.parts = true, false, "", 0, 0
    end
    local found = { role = role(self, pattern(sender, receiver), len, more, is_first) }
    self.parts = self.parts + 1
    if found.role == "topic" and #body == len and len <= LONGEST_TOPIC then
        self.topic = body
    elseif found.role == "delimiter" then
        self.delimited, self.topic, self.payload_len = true, "", 0
    elseif found.role == "payload" then
        self.payload_len = self.payload_len + len
    end
    if not more then
        found.topic, found.payload_len, found.parts = self.topic, self.payload_len, self.parts
        self.open = false
    end
    return found
end

return Assembly
