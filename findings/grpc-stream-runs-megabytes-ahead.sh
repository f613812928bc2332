#!/usr/bin/env bash
# gRPC for Python 1.85.3 (its C core): a server runs 4 MiB ahead of a client that reads
# nothing, 280,000 messages of ten bytes, where HTTP/2's flow control allows 64 KiB.
#
# One would expect: a stream's window is 65,535 bytes and is opened again as the
# application reads, so a server that streams faster than its client reads is held
# back after about 64 KiB. That is what streaming is for: back-pressure.
#
# Seen: the client's library measures the line (BDP probe) and widens the window while
# the application reads nothing at all, over loopback to 4 MiB. With the probe off
# 64 KiB are all. So a "live" stream of small messages shows a slow reader
# values that are hundreds of thousands of messages old, and work on them was done
# for nothing when it cancels.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: grpcio==1.85.3 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: grpcio 1.85.3 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import sys
import time
from concurrent import futures

import grpc

MESSAGE, LENGTH_PREFIX, WINDOW = 10, 5, 65_535


class Endless(grpc.GenericRpcHandler):
    """Answers a call with messages until it ends, and counts them."""

    def __init__(self):
        self.sent = 0

    def service(self, _):
        return grpc.unary_stream_rpc_method_handler(self.stream)

    def stream(self, _, context):
        while context.is_active():
            self.sent += 1
            yield bytes(MESSAGE)


def ahead(options):
    """How many messages the server makes while the client reads none."""
    endless = Endless()
    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[endless], options=options)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        call = channel.unary_stream("/x/x")(b"")
        seen, still = 0, 0
        end = time.monotonic() + 90
        while still < 30:  # It has stopped when nothing came for three seconds.
            time.sleep(0.1)
            still = still + 1 if endless.sent == seen > 0 else 0
            seen = endless.sent
            if time.monotonic() > end:
                print("not tried: the server did not stop in time")
                sys.exit(2)
        call.cancel()
    server.stop(None).wait()
    return seen


as_usual = ahead([])
no_probe = ahead([("grpc.http2.bdp_probe", 0)])
for name, messages in (("as usual", as_usual), ("without the BDP probe", no_probe)):
    print(f"{name}: {messages} messages, {messages * (MESSAGE + LENGTH_PREFIX)} bytes, before the client reads the first")
allowed = WINDOW // (MESSAGE + LENGTH_PREFIX)
if as_usual < 8 * allowed or no_probe > 2 * allowed:
    print(f"changed: stated was far more than {allowed} messages, and about as many without the probe")
    sys.exit(1)
PY
GRPC_VERBOSITY=NONE "$dir/venv/bin/python" "$dir/probe.py"
