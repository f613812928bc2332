#!/usr/bin/env bash
# Zenoh (Python binding 1.10.2): of five replies to a query on one key the asker
# gets one, the last. A time range among the query's parameters brings all five.
#
# One would expect: a queryable that replies five times (the history of a sensor,
# pages of a listing) sends a stream of five replies, and the asker's loop sees
# each as it comes. Parameters behind the `?` are the application's own.
#
# Seen: five replies cross the network; the asker's library holds them back until
# the query has ended and hands out one for each key, the newest. Unless set, the
# consolidation is "automatic", and automatic reads the parameters: with `_time` in
# them it is "none", and all five come. The handler is the same, and what it
# sends as well. Who counts replies on the wire counts others than the application.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: eclipse-zenoh==1.10.2 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: eclipse-zenoh 1.10.2 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import json
import socket
import sys

import zenoh


def open_session(**endpoints):
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    for role in ("listen", "connect"):
        config.insert_json5(f"{role}/endpoints", json.dumps(endpoints.get(role, [])))
    return zenoh.open(config)


def reply_five_times(query):
    answered.append(str(query.selector))
    for i in range(5):
        query.reply("sensor", str(i))


with socket.create_server(("127.0.0.1", 0)) as free:
    endpoint = f"tcp/127.0.0.1:{free.getsockname()[1]}"
answered = []
sensor = open_session(listen=[endpoint])
asker = open_session(connect=[endpoint])
queryable = sensor.declare_queryable("sensor", reply_five_times)

changed = False
stated = {
    "sensor": ["4"],
    "sensor?room=1": ["4"],
    "sensor?_time=[now(-1h)..now()]": ["0", "1", "2", "3", "4"],
}
while not answered:  # The asker does not know of the queryable at first.
    list(asker.get("sensor"))
for selector, replies in stated.items():
    seen = [reply.ok.payload.to_string() for reply in asker.get(selector)]
    print(f"five replies to {selector}: the asker gets {seen}")
    if seen != replies:
        print(f"changed: stated was {replies}")
        changed = True
asker.close()
sensor.close()
sys.exit(changed)
PY
result=0
timeout 60 "$dir/venv/bin/python" "$dir/probe.py" || result=$?
[ $result = 124 ] && { echo "not tried: the sessions do not find each other"; exit 2; }
exit $result
