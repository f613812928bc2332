-- SPDX-License-Identifier: Apache-2.0 OR MIT
--
-- Newer versions of Wireshark have dissectors of their own for some protocols; those stay in charge.

if not ... then return end

-- A new protocol, or nil if this Wireshark has one of that name.
return function(name, text)
    local has_one, found = pcall(Dissector.get, name)
    if has_one and found then return nil end
    local fine, proto = pcall(Proto, name, text)
    return fine and proto or nil
end
