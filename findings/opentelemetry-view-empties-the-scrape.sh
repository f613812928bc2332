#!/usr/bin/env bash
# OpenTelemetry for Python (SDK 1.45.2, Prometheus exporter 0.66b2): one view with an exponential
# histogram, and the scrape gives an error instead of all metrics.
#
# One would expect: the exporter writes it as a native histogram, or with buckets, or
# leaves this one metric out with the warning that it has for kinds it does not know.
# The view is the SDK's own, and the OTLP exporter takes it.
#
# Seen: from the first value that is recorded each scrape is answered with status 500, so counters
# that have nothing to do with it are gone as well, until the process starts again.
# Before that value all is well, so a service can be up for days and lose its metrics
# with the first slow request that is worth a measurement.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv" >"$dir/log" 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: opentelemetry-sdk==1.45.2 \
        opentelemetry-exporter-prometheus==0.66b2 prometheus_client==0.26.0 >"$dir/log" 2>&1 ||
    { tail -n 3 "$dir/log" || true; echo "not tried: the Prometheus exporter 0.66b2 could not be installed"; exit 2; }

cat >"$dir/probe.py" <<'PY'
import sys
import urllib.error
import urllib.request

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from prometheus_client import start_http_server

view = View(instrument_name="latency", aggregation=ExponentialBucketHistogramAggregation())
meter = MeterProvider([PrometheusMetricReader()], views=[view]).get_meter("x")
counter, latency = meter.create_counter("requests"), meter.create_histogram("latency")
server, thread = start_http_server(0, addr="127.0.0.1")
seen = []


def scrape(when):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
            status = answer.status
    except urllib.error.HTTPError as error:
        lines, status = [], error.code
    seen.append((status, any(line.startswith("requests_total{") for line in lines)))
    print(f"{when}: status {seen[-1][0]}, {'with' if seen[-1][1] else 'without'} the counter")


counter.add(1)
scrape("a counter has a value                   ")
latency.record(3.0)
scrape("the exponential histogram has one       ")
counter.add(1)
scrape("the counter has another                 ")
server.shutdown()
if seen != [(200, True), (500, False), (500, False)]:
    print("changed: stated was 200 with the counter, then 500 without it")
    sys.exit(1)
PY
"$dir/venv/bin/python" "$dir/probe.py" 2>"$dir/errors"
