#!/usr/bin/env bash
# asyncua 2.1.0 (OPC UA server): a value that climbs in steps smaller than the deadband is
# never reported, however far it climbs.
#
# One would expect: with a deadband of 5 a client hears of the value when it is more
# than 5 away from what it was told last; so the specification says ("last cached
# value", the last one that was put into the queue). The client's picture is never
# off by more than the deadband.
#
# Seen: each value is compared with the one written before, reported or not. From 0 to 1000 in
# steps of 1 no notification comes, the client still has 0; a single step of 6 is
# reported. A tank that fills slowly stays empty for who watches it, and the faster the
# server is written to, the less a client hears.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir asyncua==2.1.0 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: asyncua 2.1.0 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import asyncio
import logging
import socket
import sys

from asyncua import Client, Server

logging.disable()
PUBLISHING_MS = 100
DEADBAND = 5.0
TOP = 1000.0
STEP = DEADBAND + 1


class Values(asyncio.Queue):
    def datachange_notification(self, node, value, data):
        self.put_nowait(value)

    async def until(self, last):
        """All that comes up to a value."""
        seen = []
        while not seen or seen[-1] != last:
            seen.append(await asyncio.wait_for(self.get(), 30))
        return seen


async def main():
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"opc.tcp://127.0.0.1:{free.getsockname()[1]}/"
    server = Server()
    await server.init()
    server.set_endpoint(url)
    namespace = await server.register_namespace("urn:probe")
    variable = await server.nodes.objects.add_variable(namespace, "level", 0.0)
    async with server, Client(url) as client:
        values = Values()
        subscription = await client.create_subscription(PUBLISHING_MS, values)
        await subscription.deadband_monitor(client.get_node(variable.nodeid), DEADBAND, queuesize=1000)
        await values.until(0.0)
        for value in range(1, int(TOP) + 1):
            await variable.write_value(float(value))
        # This one is reported, and all that was reported before it comes first.
        await variable.write_value(TOP + STEP)
        seen = await values.until(TOP + STEP)
    reported = seen[:-1]
    print(f"deadband {DEADBAND:.0f}: the client has 0, then 1 to {TOP:.0f} are written one by one: {len(reported)} notifications {reported[:5]}")
    print(f"then a step of {STEP:.0f}: {seen[-1:]}")
    if reported:
        print("changed: stated was that nothing of the climb is reported")
        return 1
    return 0


try:
    sys.exit(asyncio.run(main()))
except (OSError, TimeoutError, asyncio.TimeoutError) as error:
    print("not tried:", repr(error))
    sys.exit(2)
PY
timeout 120 "$dir/venv/bin/python" "$dir/probe.py" || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
