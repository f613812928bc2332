-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Messages of several parts, each a frame with MORE but the last.
--
--   PUB, XPUB         topic · payload …             the first of several parts is the topic
--   REQ, REP          [identity …] · empty · payload …        all to the empty part is the envelope
--   DEALER, ROUTER    payload …, or with an envelope as above, if there is an empty part before the last
--   anything else     payload …
--   not known         as PUB; with an empty part, as REQ
--
-- That the first part is the topic is a convention of applications, for what they subscribe to are only the
-- first bytes. A message of one part is all payload.

if not ... then return end

local Assembly = {}
Assembly.__index = Assembly

-- With nothing known of the sockets, a longer first part is no topic.
local PLAUSIBLE_TOPIC = 255

-- A longer topic is not kept.
local LONGEST_TOPIC = 4096

local KINDS = {
    PUB = "publisher", XPUB = "publisher", RADIO = "publisher", SUB = "subscriber", XSUB = "subscriber",
    REQ = "requester", REP = "requester", DEALER = "router", ROUTER = "router",
}

-- What kind of socket a name is of, as far as it matters to what a message looks like.
function Assembly.kind(name)
    return KINDS[name] or "other"
end

-- How a sender builds its messages, by the kinds of both sockets.
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

-- Takes a part: its length, whether more follow, and what was captured of it. Gives what it is, and of the last
-- part the message: role, topic, payload_len, parts.
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
