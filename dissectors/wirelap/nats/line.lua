-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The control line that starts every operation (NATS client protocol, "Protocol conventions").
--
--   verb (any case) · arguments, each after a run of spaces and tabs · CR LF
--
--   PUB  subject [reply-to]               #total CRLF payload CRLF        client → server
--   HPUB subject [reply-to]       #header #total CRLF header payload CRLF
--   MSG  subject sid [reply-to]           #total CRLF payload CRLF        server → client
--   HMSG subject sid [reply-to]   #header #total CRLF header payload CRLF
--   RMSG, LMSG …                          #total CRLF payload CRLF        server → server
--
-- Numbers are decimal; `#total` counts header and payload without the last CR LF.

if not ... then return end

local line = {}

-- Bytes without a line's end of more than this length are no control line.
local LONGEST = 32 * 1024

-- The verbs; `kind` is the form of the arguments, `header` and `sid` are arguments that only some messages have.
local VERBS = {
    PUB = { kind = "message" }, HPUB = { kind = "message", header = true },
    MSG = { kind = "message", sid = true }, HMSG = { kind = "message", sid = true, header = true },
    RMSG = { kind = "forward" }, LMSG = { kind = "forward" },
    SUB = { kind = "sub" }, UNSUB = { kind = "unsub" },
    INFO = { kind = "options" }, CONNECT = { kind = "options" },
    PING = { kind = "none" }, PONG = { kind = "none" }, ["+OK"] = { kind = "none" }, ["-ERR"] = { kind = "error" },
    ["RS+"] = { kind = "internal" }, ["RS-"] = { kind = "internal" }, ["LS+"] = { kind = "internal" },
    ["LS-"] = { kind = "internal" }, ["A+"] = { kind = "internal" }, ["A-"] = { kind = "internal" },
}

-- The words between the positions `from` and `to`, which count from 1. Each word is { text, from, to }; its positions count
-- from 0.
local function words(text, from, to)
    local found = {}
    for start, word, stop in text:sub(from, to):gmatch("()([^ \t]+)()") do
        found[#found + 1] = { text = word, from = from + start - 2, to = from + stop - 2 }
    end
    return found
end

-- A size as a number, or a false value: servers accept at most nine digits.
local function size(word)
    return word and #word.text <= 9 and word.text:match("^%d+$") and tonumber(word.text)
end

-- Sets subject, sid, reply-to and sizes of a message's line; returns nil if the arguments are not those of a message.
local function message(found)
    local args, last = found.words, #found.words
    found.total = size(args[last])
    found.total_word, last = args[last], last - 1
    found.header_len = 0
    if found.verb.header then
        found.header_len = size(args[last])
        found.header_word, last = args[last], last - 1
    end
    local first = 2
    found.subject = last >= 1 and args[1] or nil
    if found.verb.sid then
        found.sid, first = last >= 2 and args[2] or nil, 3
        if not found.sid then return nil end
    end
    found.reply_to = last >= first and args[first] or nil
    if not (found.total and found.header_len and found.subject) or last > first then return nil end
    return found.header_len <= found.total and found or nil
end

local function payload_of(found)
    if found.verb.kind == "message" then return message(found) and found.total + 2 end
    if found.verb.kind == "forward" then
        local total = size(found.words[#found.words])
        return total and total + 2
    end
    return 0
end

-- Reads the control line at the start of `bytes`. Returns { verb, name, words, line_len, len }, with the arguments that
-- `message` sets; or nil and whether more bytes could decide it.
function line.read(bytes)
    local word = bytes:match("^[%a+-]+") or ""
    if #word == #bytes and #word <= 7 then return nil, true end
    local verb = VERBS[word:upper()]
    if not verb or not bytes:find("^[ \t\r\n]", #word + 1) then return nil, false end
    local stop = bytes:find("\n", #word + 1, true)
    if not stop then return nil, #bytes < LONGEST end
    if stop > LONGEST then return nil, false end
    local last = bytes:byte(stop - 1) == 13 and stop - 2 or stop - 1
    local found = { verb = verb, name = word:upper(), from = #word, to = last, line_len = stop }
    found.words = words(bytes, #word + 1, last)
    local payload = payload_of(found)
    if not payload then return nil, false end
    found.len = stop + payload
    return found
end

-- Whether `bytes` are an end's first line: INFO from the server or CONNECT from the client, with a JSON object.
function line.opens(bytes)
    local word, rest = bytes:match("^(%a+)[ \t]+(.)")
    word = word and word:upper()
    return (word == "INFO" or word == "CONNECT") and rest == "{"
end

return line
