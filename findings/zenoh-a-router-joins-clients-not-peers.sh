#!/usr/bin/env bash
# Zenoh 1.10.2 (Python): what one peer publishes through a router does not reach another peer of that router, and nobody is told.
#
# One would expect: a router passes messages and queries on between all that are connected to it, whatever their mode; "peer" is the mode that a
# session has unless it asks for another.
#
# Seen: two sessions are connected to one router and to nothing else (they listen nowhere, multicast scouting is off), and each says that it
# knows the router. As clients, they get each other's publications, and a query gets its reply. As peers, nothing arrives: a publication is
# lost, and a query ends at once or after its time limit without a reply and without an error. It makes no difference whether gossip
# is on. A peer in the router's place does the same: it passes on between clients, and not between peers. Peers are meant to connect to each other.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >probe.py <<'PY'
import json
import queue
import socket
import sys
import time

import zenoh

TRIES, PATIENCE_S = 5, 20


def opened(mode, gossip, listen=(), connect=()):
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("scouting/gossip/enabled", json.dumps(gossip))
    config.insert_json5("listen/endpoints", json.dumps(list(listen)))
    config.insert_json5("connect/endpoints", json.dumps(list(connect)))
    return zenoh.open(config)


def neighbours(session):
    return len(list(session.info.peers_zid())) + len(list(session.info.routers_zid()))


def through(middle, ends, gossip):
    """Publications and replies that arrive, of TRIES each."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"tcp/127.0.0.1:{unused.getsockname()[1]}"
    arrived = queue.Queue()
    with opened(middle, gossip, listen=[address]), opened(ends, gossip, connect=[address]) as one, opened(ends, gossip, connect=[address]) as other:
        subscriber = other.declare_subscriber("told", lambda sample: arrived.put(sample))
        queryable = other.declare_queryable("asked", lambda query: query.reply("asked", b"answer"))
        give_up = time.monotonic() + PATIENCE_S
        while min(neighbours(one), neighbours(other)) < 1:
            if time.monotonic() > give_up:
                raise OSError("the sessions are not connected")
            time.sleep(0.05)
        # What was declared needs a moment to be known at the other end.
        time.sleep(2)
        if (neighbours(one), neighbours(other)) != (1, 1):
            raise OSError("the two sessions are connected to each other")
        replies = 0
        for _ in range(TRIES):
            one.put("told", b"news")
            replies += sum(reply.ok is not None for reply in one.get("asked", timeout=2.0))
        time.sleep(1)
        subscriber.undeclare()
        queryable.undeclare()
    return arrived.qsize(), replies


def main():
    changed = False
    for middle in ("router", "peer"):
        for ends, expected in (("client", (TRIES, TRIES)), ("peer", (0, 0))):
            for gossip in (True, False):
                found = through(middle, ends, gossip)
                print(f"two sessions in mode {ends} at a {middle}, gossip {gossip}: {found[0]} of {TRIES} publications and {found[1]} of {TRIES} replies arrive")
                changed |= found != expected
    if changed:
        print("changed: stated was that everything arrives between clients and nothing between peers")
        sys.exit(1)


try:
    main()
except (OSError, zenoh.ZError) as error:
    print("not tried:", repr(error))
    sys.exit(2)
PY
python3 -m venv "$dir/venv" >log 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: eclipse-zenoh==1.10.2 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: eclipse-zenoh 1.10.2 could not be installed"; exit 2; }
timeout 180 "$dir/venv/bin/python" probe.py || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
