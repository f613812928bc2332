-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Names of the numbers in Zenoh 1.x messages. Source: zenoh-protocol 1.10, `src`.

if not ... then return end

return {
    transport = {
        [0] = "OAM", "INIT", "OPEN", "CLOSE", "KEEP_ALIVE", "FRAME", "FRAGMENT", "JOIN",
    },
    scouting = { "SCOUT", "HELLO" },
    network = {
        [0x19] = "INTEREST", [0x1A] = "RESPONSE_FINAL", [0x1B] = "RESPONSE", [0x1C] = "REQUEST",
        [0x1D] = "PUSH", [0x1E] = "DECLARE", [0x1F] = "OAM",
    },
    body = { "PUT", "DEL", "QUERY", "REPLY", "ERR" },
    declaration = {
        [0] = "Key expression", "Key expression withdrawn", "Subscriber", "Subscriber withdrawn",
        "Queryable", "Queryable withdrawn", "Token", "Token withdrawn", [0x1A] = "Final",
    },
    role = { [0] = "router", "peer", "client" },
    close = {
        [0] = "generic", "unsupported", "invalid", "too many sessions", "too many links", "expired",
        "unresponsive", "connection to self",
    },
    priority = {
        [0] = "control", "real time", "interactive high", "interactive low", "data high", "data",
        "data low", "background",
    },
    interest_mode = { [0] = "final", "current", "future", "current and future" },
    target = { [0] = "best matching", "all", "all complete" },
    consolidation = { [0] = "auto", "none", "monotonic", "latest" },
    encoding = { [0] = "unit", "z64", "buffer" },
    bits = { [0] = "8 bits", "16 bits", "32 bits", "64 bits" },
    slice = { [0] = "data", "place in shared memory" },

    -- Names of extensions, by message.
    extensions = {
        init = {
            "QoS", "Shared memory", "Authentication", "Multilink", "Low latency", "Compression", "Patch",
            "Region",
        },
        open = {
            "QoS", "Shared memory", "Authentication", "Multilink", "Low latency", "Compression",
            "Remote bound",
        },
        join = { "QoS", "Shared memory", [7] = "Patch" },
        none = {},
        oam = { "QoS", "Timestamp" },
        frame = { "QoS" },
        fragment = { "QoS", "First", "Drop" },
        push = { "QoS", "Timestamp", "Node", [7] = "Timestamps on the way" },
        request = {
            "QoS", "Timestamp", "Node", "Target", "Budget", "Timeout", "Timestamps on the way",
        },
        response = { "QoS", "Timestamp", "Responder", [7] = "Timestamps on the way" },
        declare = { "QoS", "Timestamp", "Node" },
        declaration = { "Info", [15] = "Key expression" },
        put = { "Source", "Shared memory", "Attachment" },
        del = { "Source", "Attachment" },
        query = { "Source", [3] = "Body", [4] = "Body in shared memory", [5] = "Attachment" },
        reply = {},
        err = { "Source", "Shared memory" },
    },
}
