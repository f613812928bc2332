-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- All messages of a capture as a page of text: their latency, the segments that took the time, and what held up the
-- slowest messages.

if not ... then return end

local sentence = require("wirelap.message.sentence")

local Summary = {}
Summary.__index = Summary

-- Number of slowest messages that a row's page lists.
local SLOWEST = 10

-- Longest line, in characters: it fits into Wireshark's text window in its initial size.
local WIDTH = 70

function Summary.new()
    return setmetatable({ rows = {}, names = {} }, Summary)
end

local function row_of(self, parsed)
    local name = parsed.middleware .. (parsed.broker and "/" .. parsed.broker or "")
    local row = self.rows[name]
    if not row then
        row = { one_way = {}, gaps = {}, open = {}, steps = {}, order = {}, causes = {}, slowest = {}, aside = 0,
            undelivered = 0 }
        self.rows[name] = row
        self.names[#self.names + 1] = name
    end
    return row
end

-- Adds the times of a leg's segments to its row, and the message's gap: its wakeups and waits for a CPU on all legs.
local function add_leg(row, parsed)
    local gap = row.open[parsed.id]
    for _, segment in ipairs(parsed.segments) do
        local step = parsed.leg .. "." .. segment.name
        if not row.steps[step] then
            row.steps[step] = 0
            row.order[#row.order + 1] = step
        end
        row.steps[step] = row.steps[step] + segment.time
        if segment.name == "wakeup" or segment.name == "runqueue" then gap = (gap or 0) + segment.time end
    end
    row.open[parsed.id] = nil
    if gap and parsed.leg < parsed.legs then
        row.open[parsed.id] = gap
    elseif gap then
        row.gaps[#row.gaps + 1] = gap
    end
end

local function add_slow(row, parsed, frame)
    local slowest = row.slowest
    if #slowest == SLOWEST and slowest[#slowest].one_way >= parsed.one_way then return end
    slowest[#slowest + 1] = { id = parsed.id, one_way = parsed.one_way, held_up = parsed.held_up, frame = frame }
    table.sort(slowest, function(a, b)
        if a.one_way == b.one_way then return a.frame < b.frame end
        return a.one_way > b.one_way
    end)
    slowest[SLOWEST + 1] = nil
end

-- Adds the comment `text` of packet number `frame`.
function Summary:comment(text, frame)
    local parsed = sentence.read(text)
    if not parsed or not parsed.has_end then return end
    local row = row_of(self, parsed)
    if parsed.standing ~= "counted" then
        local count = parsed.standing == "undelivered" and "undelivered" or "aside"
        if parsed.leg == parsed.legs then row[count] = row[count] + 1 end
        return
    end
    add_leg(row, parsed)
    if parsed.leg ~= parsed.legs or not parsed.one_way then return end
    row.one_way[#row.one_way + 1] = parsed.one_way
    local found = parsed.held_up
    if found then
        local cause = row.causes[found.cause] or { count = 0, time = 0 }
        row.causes[found.cause] = cause
        cause.count = cause.count + 1
        cause.time = cause.time + found.time
    end
    add_slow(row, parsed, frame)
end

-- The quantile of a sorted list by the nearest rank.
local function quantile(sorted, share)
    return sorted[math.max(1, math.ceil(#sorted * share))]
end

local function us(ns)
    return ns and string.format("%.1f", ns / 1e3) or "-"
end

local function keys_by(list, value)
    local keys = {}
    for key in pairs(list) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b)
        if value(a) == value(b) then return a < b end
        return value(a) > value(b)
    end)
    return keys
end

local function steps_of(row)
    local whole = 0
    for _, time in pairs(row.steps) do whole = whole + time end
    local parts = {}
    for _, step in ipairs(keys_by(row.steps, function(step) return row.steps[step] end)) do
        local share = whole > 0 and row.steps[step] / whole * 100 or 0
        if share >= 2 then parts[#parts + 1] = string.format("%s %.0f %%", step, share) end
    end
    return parts
end

-- Breaks a list of words into lines of at most WIDTH characters.
local function wrapped(out, head, words)
    local line = head
    for index, word in ipairs(words) do
        if index < #words then word = word .. "," end
        if #line + #word + 1 > WIDTH then
            out[#out + 1] = line
            line = string.rep(" ", #head)
        end
        line = line .. " " .. word
    end
    out[#out + 1] = line
end

local function page(out, name, row)
    local line = function(...) out[#out + 1] = string.format(...) end
    line("")
    line("%s", name)
    if #row.one_way > 0 then wrapped(out, "  where:", steps_of(row)) end
    if row.aside > 0 then line("  not counted: %d (warm-up, an end not seen, or under way)", row.aside) end
    if row.undelivered > 0 then line("  not seen to be delivered: %d", row.undelivered) end
    for _, cause in ipairs(keys_by(row.causes, function(cause) return row.causes[cause].time end)) do
        local found = row.causes[cause]
        line("  held up: %d by %s, %s us each", found.count, cause, us(found.time / found.count))
    end
    if #row.slowest == 0 then return end
    line("  slowest:  message        us   packet  held up in, by")
    for _, slow in ipairs(row.slowest) do
        local found = slow.held_up
        local cause = found and string.format("leg %d %s, %s", found.leg, found.segment, found.cause) or ""
        line("  %17d %9s %8d  %s", slow.id, us(slow.one_way), slow.frame, cause)
    end
end

-- The whole page as text.
function Summary:text()
    local out = {}
    local line = function(...) out[#out + 1] = string.format(...) end
    if #self.names == 0 then
        return "No packet has a comment of wirelap: open a recording or the output of `wirelap analyze --annotate`\n"
    end
    table.sort(self.names)
    line("%-21s %8s %7s %7s %8s %8s %6s", "one way, us", "messages", "p50", "p90", "p99", "max", "gap")
    for _, name in ipairs(self.names) do
        local row = self.rows[name]
        table.sort(row.one_way)
        table.sort(row.gaps)
        local of = row.one_way
        line("%-21s %8d %7s %7s %8s %8s %6s", name, #of, us(quantile(of, 0.5)), us(quantile(of, 0.9)),
            us(quantile(of, 0.99)), us(of[#of]), us(quantile(row.gaps, 0.5)))
    end
    for _, name in ipairs(self.names) do
        if #self.rows[name].one_way + self.rows[name].undelivered > 0 then page(out, name, self.rows[name]) end
    end
    return table.concat(out, "\n") .. "\n"
end

return Summary
