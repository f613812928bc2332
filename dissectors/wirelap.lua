-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- What became of the messages in a packet, for Wireshark and tshark 4.0 and later (Lua 5.2 to 5.4): a recording of
-- wirelap's tells it in comments, this makes fields of them. `wirelap/message/fields` is all that filters can name,
-- `wirelap/message/summary` the window "Tools > wirelap > Messages" and what `tshark -o wirelap.summary:TRUE` prints.

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
-- Several recordings in one file number their messages each for itself.
local has_sections, section = pcall(Field.new, "frame.section_number")

-- By message, the packet with the last byte of each leg.
local packets = {}

function wirelap.init() packets = {} end

local function u64(number)
    return UInt64.new(number % 4294967296, math.floor(number / 4294967296))
end

-- ns, as people read it.
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

-- `rx` for the interface `lo rx`, `xmit` for `lo tx-queue`.
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

local function add_leg(tree, told)
    local item = add_time(tree, F.leg_time, told.leg_time)
    if told.begins then add_time(tree, F.begins, told.begins) end
    local longest
    for _, segment in ipairs(told.segments) do
        local field = all.segments[segment.name]
        if field then add_time(item, field, segment.time) end
        if not longest or segment.time > longest.time then longest = segment end
    end
    if longest then item:append_text(", most of it " .. longest.name) end
end

local function add_verdict(tree, told)
    local found = told.held_up
    if not found then return end
    local item = add(tree, F.verdict, found.cause)
    add_time(item, F.verdict_time, found.time)
    add(item, F.verdict_leg, found.leg)
    add(item, F.verdict_segment, found.segment)
    local is_grave = found.time >= 1e6 and found.time * 2 > (told.one_way or 0) and found.cause ~= "idle_wakeup"
    local text = string.format("Held up by %s in leg %d, %s, for %s", found.cause, found.leg, found.segment,
        time(found.time))
    if told.has_end and found.leg == told.leg then
        item:add_proto_expert_info(is_grave and X.late or X.held_up, text)
    end
end

local function add_links(tree, told, pinfo)
    local key = (has_sections and section() and tostring(section().value) or "") .. " " .. told.id
    local legs = packets[key]
    if not legs then
        legs = {}
        packets[key] = legs
    end
    if not pinfo.visited and told.has_end then legs[told.leg] = legs[told.leg] or pinfo.number end
    local before, after = legs[told.leg - 1], legs[told.leg + 1]
    if before then add(tree, F.previous, before) end
    if after then add(tree, F.next, after) end
end

local function add_part(tree, told)
    local part = told.part
    if not part then return end
    add(tree, F.part_from, u64(part.from))
    add(tree, F.part_to, u64(part.to))
    add(tree, F.part_of, u64(part.of))
end

-- It was not seen to be delivered.
local function add_last_seen(tree, standing, told)
    local last = told.last_seen
    if not last then return end
    add(tree, F.last_leg, last.leg)
    add(tree, F.last_stage, last.stage)
    if told.standing == "undelivered" and told.has_end and told.leg == told.legs then
        local text = string.format("Not seen to be delivered, last seen in leg %d at %s", last.leg, last.stage)
        standing:add_proto_expert_info(X.undelivered, text)
    end
end

local function title(told)
    local row = told.middleware .. (told.broker and " at " .. told.broker or "")
    local text = string.format(" %d, leg %d of %d, %s", told.id, told.leg, told.legs, row)
    if told.one_way then text = text .. ", one way " .. time(told.one_way) end
    if told.held_up then text = text .. ", held up by " .. told.held_up.cause end
    if told.standing == "undelivered" then text = text .. ", not seen to be delivered" end
    return text
end

local function add_message(tree, told, pinfo)
    local item = tree:add(wirelap):set_text("wirelap: message" .. title(told))
    item:set_generated()
    add(item, F.id, u64(told.id))
    add(item, F.middleware, told.middleware)
    if told.broker then add(item, F.broker, told.broker) end
    if told.topic then add(item, F.topic, told.topic) end
    add(item, F.leg, told.leg)
    add(item, F.legs, told.legs)
    local at = stage()
    if at then add(item, F.stage, at) end
    if told.one_way then
        add_time(item, F.one_way, told.one_way)
        add(item, F.one_way_us, told.one_way / 1e3)
    end
    add_verdict(item, told)
    if told.leg_time then add_leg(item, told) end
    add_end(item, F.sender, F.sender_pid, F.sender_tid, told.sender)
    add_end(item, F.reader, F.reader_pid, F.reader_tid, told.reader)
    if told.queue then add(item, F.queue, told.queue) end
    if told.payload then add(item, F.payload, u64(told.payload)) end
    add_part(item, told)
    if told.readers > 1 then add(item, F.readers, told.readers) end
    add(item, F.delivers, told.has_end and told.leg == told.legs)
    local standing = add(item, F.standing, told.standing)
    if told.standing == "incomplete" then standing:add_proto_expert_info(X.incomplete) end
    add_last_seen(item, standing, told)
    add_links(item, told, pinfo)
    for _, part in ipairs(told.unreadable) do item:add_proto_expert_info(X.unreadable, part) end
end

function wirelap.dissector(_, pinfo, tree)
    for _, comment in ipairs({ comments() }) do
        local told = sentence.read(comment.value)
        if told then add_message(tree, told, pinfo) end
    end
end

register_postdissector(wirelap)

-- A listener that fills a summary, and gives it to `show` when all packets have been seen.
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
        new_dialog("wirelap: messages", window, "Only packets with (a display filter, or nothing)")
    end, MENU_TOOLS_UNSORTED)
end

local printing = false

function wirelap.prefs_changed()
    if wirelap.prefs.summary and not printing and not gui_enabled() then
        printing = true
        summarise("wirelap", function(page) io.stdout:write(page) end)
    end
end
