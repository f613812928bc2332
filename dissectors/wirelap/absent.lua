-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Newer versions of Wireshark have their own dissectors for some protocols. wirelap's dissectors do not replace these.

if not ... then return end

-- Makes a protocol, or returns nil if Wireshark has a dissector of that name.
return function(name, text)
    local has_one, found = pcall(Dissector.get, name)
    if has_one and found then return nil end
    local fine, proto = pcall(Proto, name, text)
    return fine and proto or nil
end
