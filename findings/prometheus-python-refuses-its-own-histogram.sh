#!/usr/bin/env bash
# prometheus-client 0.26.0 (PyPI): a histogram with a bound below zero is written in a form that
# the same package's OpenMetrics parser refuses, and with it the rest of the scrape.
#
# One would expect: what the one half of a package writes the other half reads; and for values
# that can be negative (the offset of two clocks, a difference to a set value) a
# histogram is the same as for others.
#
# Seen: OpenMetrics allows no sum beside negative bounds, and a count only with a sum. The client
# leaves out the sum and writes the count, its parser asks for both or none; with the sum
# (as the project's client for Rust writes it) it refuses the text as a negative counter.
# Only buckets alone can be read, which neither of the two writes. The error ends
# the reading, so the other metrics of the scrape that come after are lost too.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: prometheus-client==0.26.0 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: prometheus-client 0.26.0 could not be installed"; exit 2; }

timeout 60 "$dir/venv/bin/python" - <<'PY'
import sys

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def write(bounds, values):
    registry = CollectorRegistry()
    Counter("messages", "Messages", registry=registry)
    offset = Histogram("offset", "Offset of the clocks", buckets=bounds, registry=registry)
    for value in values:
        offset.observe(value)
    return generate_latest(registry).decode()


def read(text):
    try:
        return f"{len(list(text_string_to_metric_families(text)))} metrics"
    except ValueError as error:
        return f"error: {error}"


def without(text, *suffixes):
    return "".join(line for line in text.splitlines(True) if not line.startswith(tuple("offset_" + s for s in suffixes)))


text = write([-0.001, 0, 0.001], [-0.002, 0.0005])
print(text, end="")
texts = {
    "bounds above zero": write([0.001, 0.002], [0.0005, 0.0015]),
    "bound below zero, as written": text,
    "with the sum": text.replace("offset_count", "offset_sum -0.0015\noffset_count"),
    "without the count": without(text, "count"),
}
seen = []
for name, text in texts.items():
    seen.append(read(text))
    print(f"{name:28} {seen[-1]}")
is_error = [result.startswith("error") for result in seen]
if is_error != [False, True, True, False]:
    print("changed: stated was that the two in the middle are refused")
    sys.exit(1)
PY
