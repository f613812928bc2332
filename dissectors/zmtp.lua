-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- ZMTP 3.0 and 3.1 over TCP (ZeroMQ RFC 23 and 37), and 2.0 (RFC 15), which libzmq still speaks with old peers; for
-- versions of Wireshark and tshark from 4.0 that have no own dissector for ZMTP (Lua 5.2 to 5.4).
--
-- `wirelap/zmtp/frame` reads greetings, frames and commands; `assembly` finds the role of each part of a message;
-- `fields` defines the fields. ZeroMQ has no registered port: the greeting identifies it, or "Decode as".

local here = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
package.path = here .. "?.lua;" .. here .. "?.module;" .. package.path

local zmtp = require("wirelap.absent")("zmtp", "ZMTP")
if not zmtp then return end

local Cursor = require("wirelap.cursor")
local Node = require("wirelap.node")
local stream = require("wirelap.stream")
local Assembly = require("wirelap.zmtp.assembly")
local frame = require("wirelap.zmtp.frame")
local all = require("wirelap.zmtp.fields")
local F, X = all.fields, all.experts

zmtp.fields = all.fields
zmtp.experts = all.experts

-- The state of a conversation: by side, the socket's kind and the message that is being assembled; whether messages are
-- encrypted; and by frame the findings that depend on earlier frames.
local memory_of, forget = stream.memory(function()
    return { sockets = {}, messages = { Assembly.new(), Assembly.new() }, found = {} }
end)

function zmtp.init()
    forget()
end

-- The name of the subscription in a frame, or nil. Up to version 3.0 a subscription is a message: 1 to subscribe or 0 to
-- cancel, then the topic's prefix (RFC 23).
local function subscription(memory, side, part, body)
    local sender, receiver = memory.sockets[side], memory.sockets[3 - side]
    local subscribes = sender == "subscriber" or not sender and receiver == "publisher"
    if not subscribes or part.more or memory.messages[side].open then return nil end
    return ({ [0] = "CANCEL", "SUBSCRIBE" })[body:byte(1)]
end

-- Finds the role of a message's frame; called only at the frame's first dissection, because it changes the state.
local function find(memory, side, part, body)
    if memory.secure or not memory.sockets[1] and not memory.sockets[2] and body:find("^\7MESSAGE") then
        memory.secure = true
        return { secret = true }
    end
    local name = subscription(memory, side, part, body)
    if name then return { name = name } end
    return memory.messages[side]:part(memory.sockets[side], memory.sockets[3 - side], part.len, part.more, body)
end

-- Shows a message's frame; returns the frame's name and a line of text.
local function message(context, at, node, part)
    local from, to = at:skip(part.len)
    local memory = context.memory
    if context.fresh then
        memory.found[context.key] = find(memory, context.side, part, at.bytes:sub(from + 1, to))
    end
    local name = part.more and "message-more" or "message-last"
    local found = memory.found[context.key] or {}
    if found.name then
        node:leaf(F.subscription, from + 1, to)
        return found.name, found.name
    elseif not found.role then
        node:leaf(F.body, from, to)
        return name, name
    end
    if to > from then node:leaf(found.role == "payload" and F.payload or F.body, from, to) end
    node:generated(F.role, found.role)
    if not found.payload_len then return name, found.role end
    node:generated(F.topic, found.topic)
    node:generated(F.payload_len, found.payload_len)
    node:generated(F.parts, found.parts)
    local topic = found.topic ~= "" and found.topic:gsub("[^\32-\126]", ".") .. " " or ""
    return name, string.format("Message %s(%.0f bytes)", topic, found.payload_len)
end

local function greeting(context, at, node)
    local said = frame.greeting(at, node)
    if context.fresh then
        -- A greeting starts a connection, possibly a new one between the same ports, so that the old state is deleted.
        context.memory.messages[context.side], context.memory.sockets[context.side] = Assembly.new(), nil
        context.memory.secure = said.secure
        if said.socket then context.memory.sockets[context.side] = Assembly.kind(said.socket) end
    end
    return "greeting", "Greeting"
end

-- Reads a greeting or a frame; returns its name and a line of text.
local function read(context, at, node)
    if frame.is_greeting(at.bytes) then return greeting(context, at, node) end
    local part = frame.header(at, node)
    if not part.command then return message(context, at, node, part) end
    local name, socket = frame.command(at, node)
    if socket and context.fresh and not context.memory.secure then
        context.memory.sockets[context.side] = Assembly.kind(socket)
    end
    return name, name
end

local function dissect_frame(tvb, pinfo, tree)
    local len, reported = tvb:len(), tvb:reported_len()
    local item = tree:add(zmtp, tvb(0, len))
    local node, bytes = Node.new(item, tvb), tvb:raw(0, len)
    local memory, side = memory_of(pinfo)
    local text, stop = "Continuation", frame.len(bytes)
    if stop and stop <= reported then
        local key = pinfo.number .. ":" .. tvb:offset() .. ":" .. stop
        local context = { memory = memory, side = side, key = key, fresh = not pinfo.visited }
        local fine, name, said = pcall(read, context, Cursor.new(bytes, 0, stop), node)
        if fine then
            node:generated(F.message, name)
            text = said
        elseif not Cursor.is_stop(name) then
            error(name, 0)
        elseif name == Cursor.CUT then
            node:expert(X.truncated, "Not captured to its end")
            text = "[not captured]"
        else
            node:expert(X[name.kind], "Malformed: " .. name.reason)
            text = "[malformed]"
        end
    else
        node:leaf(F.continuation, 0, len):expert(X.continuation, "Not at a frame's start")
    end
    item:append_text(", " .. text)
    stream.show(pinfo, tvb, "ZMTP", text)
    return reported
end

-- Length in bytes of the frame at `offset`, or nil and whether more bytes could decide it.
local function frame_len(tvb, offset)
    local len, more = frame.len(tvb:raw(offset, math.min(tvb:len() - offset, 14)))
    if len and len > 4294967295 then return nil, false end
    return len, more
end

function zmtp.dissector(tvb, _, tree)
    if tvb:len() == 0 then return 0 end
    return stream.tcp(tvb, tree, frame_len, dissect_frame)
end

DissectorTable.get("tcp.port"):add_for_decode_as(zmtp)

zmtp:register_heuristic("tcp", stream.heuristic(zmtp, function(tvb)
    return tvb:len() >= 10 and frame.opens(tvb:raw(0, 10))
end, frame_len))
