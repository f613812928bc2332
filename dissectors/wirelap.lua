-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- The messages in a packet, for Wireshark and tshark 4.0 and later (Lua 5.2 to 5.4). wirelap writes the messages'
-- latency, segments and verdicts into packet comments; this dissector makes fields of these comments.
-- `wirelap/message/fields` defines the fields for display filters; `wirelap/message/summary` makes the text of the
-- window "Tools > wirelap > Messages" and of `tshark -o wirelap.summary:TRUE`.

local here = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
package.path = here .. "?.lua;" .. here .. "?.module;" .. package.path

local sentence = require("wirelap.message.sentence")
local Summary = require("wirelap.message.summary")
local all = require("wirelap.message.fields")
local F, X = all.fields, all.experts

local wirelap = Proto("wirelap", "wirelap: messages")
wirelap.fields = F
wirelap.experts = X
wirelap.prefs.summary = Pref.bool("Summary of messages (tshark)", false, "Print a summary of all messages at the end")

local comments = Field.new("frame.comment")
local interface = Field.new("frame.interface_name")
-- A message's number is unique only within one recording, which is one section of the file.
local has_sections, section = pcall(Field.new, "frame.section_number")

-- For each message: by leg, the number of the packet with the leg's last byte.
local packets = {}

function wirelap.init() packets = {} end

local function u64(number)
    return UInt64.new(number % 4294967296, math.floor(number / 4294967296))
end

-- A duration in nanoseconds as text with a readable unit.
local function time(ns)
    if ns < 1000 then return string.format("%d ns", ns) end
    if ns < 1e6 then return string.format("%.1f µs", ns / 1e3) end
    if ns < 1e9 then return string.format("%.1f ms", ns / 1e6) end
    return string.format("%.2f s", ns / 1e9)
end

local function add(tree, field, value)
    local item = tree:add(field, value)
    item:set_generated()
    return item
end

local function add_time(tree, field, ns)
    local item = add(tree, field, u64(ns))
    if ns >= 1000 then item:append_text(", " .. time(ns)) end
    return item
end

-- The stage of the interface's hook: `rx` for `lo rx`, `xmit` for `lo tx-queue`.
local function stage()
    local found = interface()
    local place = found and found.value:match("(%S+)$")
    return ({ rx = "rx", ["tx-queue"] = "xmit" })[place]
end

local function add_end(tree, field, pid, tid, found)
    if not found then return end
    local branch = add(tree, field, found.name)
    add(branch, pid, found.pid)
    add(branch, tid, found.tid)
    branch:append_text(string.format(", process %d, thread %d", found.pid, found.tid))
end

local function add_leg(tree, parsed)
    local item = add_time(tree, F.leg_time, parsed.leg_time)
    if parsed.begins then add_time(tree, F.begins, parsed.begins) end
    local longest
    for _, segment in ipairs(parsed.segments) do
        local field = all.segments[segment.name]
        if field then add_time(item, field, segment.time) end
        if not longest or segment.time > longest.time then longest = segment end
    end
    if longest then item:append_text(", most of it " .. longest.name) end
end

local function add_verdict(tree, parsed)
    local found = parsed.held_up
    if not found then return end
    local item = add(tree, F.verdict, found.cause)
    add_time(item, F.verdict_time, found.time)
    add(item, F.verdict_leg, found.leg)
    add(item, F.verdict_segment, found.segment)
    local is_grave = found.time >= 1e6 and found.time * 2 > (parsed.one_way or 0) and found.cause ~= "idle_wakeup"
    local text = string.format("Held up by %s in leg %d, %s, for %s", found.cause, found.leg, found.segment,
        time(found.time))
    if parsed.has_end and found.leg == parsed.leg then
        item:add_proto_expert_info(is_grave and X.late or X.held_up, text)
    end
end

local function add_links(tree, parsed, pinfo)
    local key = (has_sections and section() and tostring(section().value) or "") .. " " .. parsed.id
    local legs = packets[key]
    if not legs then
        legs = {}
        packets[key] = legs
    end
    if not pinfo.visited and parsed.has_end then legs[parsed.leg] = legs[parsed.leg] or pinfo.number end
    local before, after = legs[parsed.leg - 1], legs[parsed.leg + 1]
    if before then add(tree, F.previous, before) end
    if after then add(tree, F.next, after) end
end

local function add_part(tree, parsed)
    local part = parsed.part
    if not part then return end
    add(tree, F.part_from, u64(part.from))
    add(tree, F.part_to, u64(part.to))
    add(tree, F.part_of, u64(part.of))
end

-- Adds where a message without a seen delivery was seen last.
local function add_last_seen(tree, standing, parsed)
    local last = parsed.last_seen
    if not last then return end
    add(tree, F.last_leg, last.leg)
    add(tree, F.last_stage, last.stage)
    if parsed.standing == "undelivered" and parsed.has_end and parsed.leg == parsed.legs then
        local text = string.format("Not seen to be delivered, last seen in leg %d at %s", last.leg, last.stage)
        standing:add_proto_expert_info(X.undelivered, text)
    end
end

local function title(parsed)
    local row = parsed.middleware .. (parsed.broker and " at " .. parsed.broker or "")
    local text = string.format(" %d, leg %d of %d, %s", parsed.id, parsed.leg, parsed.legs, row)
    if parsed.one_way then text = text .. ", one way " .. time(parsed.one_way) end
    if parsed.held_up then text = text .. ", held up by " .. parsed.held_up.cause end
    if parsed.standing == "undelivered" then text = text .. ", not seen to be delivered" end
    return text
end

local function add_message(tree, parsed, pinfo)
    local item = tree:add(wirelap):set_text("wirelap: message" .. title(parsed))
    item:set_generated()
    add(item, F.id, u64(parsed.id))
    add(item, F.middleware, parsed.middleware)
    if parsed.broker then add(item, F.broker, parsed.broker) end
    if parsed.topic then add(item, F.topic, parsed.topic) end
    add(item, F.leg, parsed.leg)
    add(item, F.legs, parsed.legs)
    local at = stage()
    if at then add(item, F.stage, at) end
    if parsed.one_way then
        add_time(item, F.one_way, parsed.one_way)
        add(item, F.one_way_us, parsed.one_way / 1e3)
    end
    add_verdict(item, parsed)
    if parsed.leg_time then add_leg(item, parsed) end
    add_end(item, F.sender, F.sender_pid, F.sender_tid, parsed.sender)
    add_end(item, F.reader, F.reader_pid, F.reader_tid, parsed.reader)
    if parsed.queue then add(item, F.queue, parsed.queue) end
    if parsed.payload then add(item, F.payload, u64(parsed.payload)) end
    add_part(item, parsed)
    if parsed.readers > 1 then add(item, F.readers, parsed.readers) end
    add(item, F.delivers, parsed.has_end and parsed.leg == parsed.legs)
    local standing = add(item, F.standing, parsed.standing)
    if parsed.standing == "incomplete" then standing:add_proto_expert_info(X.incomplete) end
    add_last_seen(item, standing, parsed)
    add_links(item, parsed, pinfo)
    for _, part in ipairs(parsed.unreadable) do item:add_proto_expert_info(X.unreadable, part) end
end

function wirelap.dissector(_, pinfo, tree)
    for _, comment in ipairs({ comments() }) do
        local parsed = sentence.read(comment.value)
        if parsed then add_message(tree, parsed, pinfo) end
    end
end

register_postdissector(wirelap)

-- Starts a listener that collects a summary of the packets that match `filter`, and calls `show` with its text when all
-- packets were read.
local function summarise(filter, show)
    local tap = Listener.new("frame", filter)
    local summary = Summary.new()
    function tap.packet(pinfo)
        for _, comment in ipairs({ comments() }) do summary:comment(comment.value, pinfo.number) end
    end
    function tap.draw() show(summary:text()) end
    function tap.reset() summary = Summary.new() end
    return tap
end

local function window(filter)
    local text = TextWindow.new("wirelap: messages")
    local tap = summarise(filter, function(page) text:set(page) end)
    text:set_atclose(function() tap:remove() end)
    retap_packets()
end

if gui_enabled() then
    register_menu("wirelap/Messages", function()
        new_dialog("wirelap: messages", window, "Display filter (optional)")
    end, MENU_TOOLS_UNSORTED)
end

local printing = false

function wirelap.prefs_changed()
    if wirelap.prefs.summary and not printing and not gui_enabled() then
        printing = true
        summarise("wirelap", function(page) io.stdout:write(page) end)
    end
end
