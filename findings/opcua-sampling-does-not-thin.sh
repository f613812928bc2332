#!/usr/bin/env bash
# asyncua 2.1.0 (OPC UA server in Python): a client that asks for a value each 100 s
# is granted half a second and gets each of ten writes made within a moment.
#
# One would expect: the sampling interval bounds how often a variable is looked at.
# A server may grant another one ("revised"), the nearest that it can keep; in
# between, one value per interval is the most that comes.
#
# Seen: the server does not sample. It grants its publishing interval whatever was
# asked for, and puts each write in the queue of each monitored item as it is made:
# ten writes are ten values in one notification. A client that thins its data out
# by the sampling interval gets everything here; only the queue's size bounds it.
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
import time

from asyncua import Client, Server

logging.disable()
PUBLISHING_MS = 500
SAMPLING_MS = 100_000
WRITES = 10


class Values:
    def __init__(self):
        self.seen = []
        self.first, self.last = asyncio.Event(), asyncio.Event()

    def datachange_notification(self, node, value, data):
        self.seen.append(value)
        self.first.set()
        if value == WRITES:
            self.last.set()


async def main():
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"opc.tcp://127.0.0.1:{free.getsockname()[1]}/"
    server = Server()
    await server.init()
    server.set_endpoint(url)
    namespace = await server.register_namespace("urn:probe")
    variable = await server.nodes.objects.add_variable(namespace, "level", 0)
    async with server, Client(url) as client:
        granted = []
        values = Values()
        subscription = await client.create_subscription(PUBLISHING_MS, values)
        create = subscription.server.create_monitored_items

        async def create_and_note(parameters):
            results = await create(parameters)
            granted.extend(result.RevisedSamplingInterval for result in results)
            return results

        subscription.server.create_monitored_items = create_and_note
        await subscription.subscribe_data_change(client.get_node(variable.nodeid), queuesize=50, sampling_interval=SAMPLING_MS)
        await asyncio.wait_for(values.first.wait(), 10)
        start = time.monotonic()
        for value in range(1, WRITES + 1):
            await variable.write_value(value)
        try:
            await asyncio.wait_for(values.last.wait(), 20)
        except TimeoutError:
            pass
        print(f"asked for {SAMPLING_MS} ms, granted {granted[0]:.0f} ms")
        print(f"after {time.monotonic() - start:.1f} s the client has {values.seen}")
        if granted != [PUBLISHING_MS] or values.seen != list(range(WRITES + 1)):
            print("changed: stated was that the publishing interval is granted and each of 0 to 10 arrives")
            return 1
    return 0


sys.exit(asyncio.run(main()))
PY
timeout 60 "$dir/venv/bin/python" "$dir/probe.py"
