#!/usr/bin/env bash
# confluent-kafka 2.16.1 (librdkafka 2.16.0): in its statistics all percentiles of a latency are 0
# when it is long enough, beside an average of half a second, and stay so.
#
# One would expect: percentiles lie between min and max, and a histogram that was too small
# is adapted: the statistics have a field for values out of range ("outofrange").
#
# Seen: the histogram of int_latency (how long messages wait in the producer) begins with a range
# of about 0.1 s and is made larger after an interval with values above, but only if others were
# within it. A producer with linger.ms=500 that sends a message now and then has none, so the
# range never grows: minimum and average 0.5 s, median and 99th percentile 0, in each interval.
# Nor is "outofrange" ever set back; it soon is several times the count of the interval. An
# alarm on the 99th percentile is silent for the slowest and rings for a faster producer.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: confluent-kafka==2.16.1 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: confluent-kafka 2.16.1 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import json
import sys
import time

from confluent_kafka import Producer, libversion

INTERVAL, INTERVALS = 2.0, 5
FIELDS = "min", "avg", "max", "p50", "p99", "cnt", "outofrange"


def measure(linger):
    """Writes a message each second to the library's own broker and returns int_latency of each interval."""
    seen = []

    def keep(text):
        for broker in json.loads(text)["brokers"].values():
            if broker["int_latency"]["cnt"]:
                seen.append({field: broker["int_latency"][field] for field in FIELDS})

    producer = Producer({
        "bootstrap.servers": "unused:1", "test.mock.num.brokers": 1, "log_level": 0,
        "linger.ms": linger, "statistics.interval.ms": int(INTERVAL * 1000), "stats_cb": keep,
    })
    producer.list_topics("t", timeout=30)  # The first message does not wait for the broker.
    end = time.monotonic() + 60
    while len(seen) < INTERVALS and time.monotonic() < end:
        producer.produce("t", b"x")
        again = time.monotonic() + 1
        while (left := again - time.monotonic()) > 0:
            producer.poll(left)
    producer.flush(10)
    return seen[:INTERVALS]


print("librdkafka", libversion()[0])
seen = {}
for linger in (50, 500):
    seen[linger] = measure(linger)
    print(f"int_latency in µs, each {INTERVAL:.0f} s, with linger.ms={linger} and a message each second:")
    for interval in seen[linger]:
        print("  ", *(f"{field} {value}" for field, value in interval.items()))
if min(map(len, seen.values())) < INTERVALS:
    print("not tried: too few statistics came")
    sys.exit(2)
short, long = seen.values()
has_percentiles = [s["p50"] > 0 and s["p99"] > 0 for s in short + long]
is_slow = all(s["min"] > 400_000 for s in long)
if has_percentiles != [True] * INTERVALS + [False] * INTERVALS or not is_slow or long[-1]["outofrange"] <= 2 * long[-1]["cnt"]:
    print("changed: stated were percentiles of 0 with 500 ms, and more values out of range than there were")
    sys.exit(1)
PY
timeout 180 "$dir/venv/bin/python" "$dir/probe.py" || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
