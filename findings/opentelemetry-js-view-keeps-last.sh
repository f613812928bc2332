#!/usr/bin/env bash
# OpenTelemetry SDK for JavaScript 2.12.1: a view that drops an attribute of an
# observable counter keeps one value of those that fall together; the Python SDK
# (1.45.2) adds them up.
#
# One would expect: to drop an attribute adds up what fell together, as it does for
# a counter that is incremented; the specification asks for it for asynchronous
# counters too (what a callback reports is a set of counts that add up).
#
# Seen: of 10, 20 and 30 messages in three queues of one broker, the view without
# the queue reports 30 in JavaScript and 60 in Python; the same for an up-down counter.
# It is the value that was observed last, so in another order of the queues the
# "total" can fall without a message lost. A counter in the same process and view is 60.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

npm install --silent --no-audit --no-fund --ignore-scripts --cache "$dir/npm" --prefix "$dir" \
    @opentelemetry/sdk-metrics@2.12.1 @opentelemetry/api@1 >log 2>&1 &&
    python3 -m venv "$dir/venv" >log 2>&1 &&
    "$dir/venv/bin/pip" -q install --no-cache-dir --only-binary=:all: opentelemetry-sdk==1.45.2 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: the OpenTelemetry SDKs could not be installed"; exit 2; }

cat >probe.js <<'JS'
const { MeterProvider, MetricReader, createAllowListAttributesProcessor } = require('@opentelemetry/sdk-metrics');

const MESSAGES = { q1: 10, q2: 20, q3: 30 };

class Reader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

async function totals(queues) {
  const reader = new Reader();
  const views = [{ instrumentName: '*', attributesProcessors: [createAllowListAttributesProcessor(['broker'])] }];
  const meter = new MeterProvider({ readers: [reader], views }).getMeter('x');
  const observe = (result) => queues.forEach((queue) => result.observe(MESSAGES[queue], { broker: 'b', queue }));
  meter.createObservableCounter('observed').addCallback(observe);
  meter.createObservableUpDownCounter('observed_up_down').addCallback(observe);
  const counter = meter.createCounter('counted');
  queues.forEach((queue) => counter.add(MESSAGES[queue], { broker: 'b', queue }));
  const { resourceMetrics } = await reader.collect();
  const metrics = resourceMetrics.scopeMetrics[0].metrics;
  return Object.fromEntries(metrics.map((metric) => [metric.descriptor.name, metric.dataPoints.map((point) => point.value)]));
}

(async () => {
  console.log(JSON.stringify([await totals(['q1', 'q2', 'q3']), await totals(['q3', 'q2', 'q1'])]));
})();
JS
cat >probe.py <<'PY'
import json
import subprocess
import sys

from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View

MESSAGES = {"q1": 10, "q2": 20, "q3": 30}


def totals(queues):
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], views=[View(instrument_name="*", attribute_keys={"broker"})]).get_meter("x")
    observe = lambda _: [Observation(MESSAGES[queue], {"broker": "b", "queue": queue}) for queue in queues]
    meter.create_observable_counter("observed", [observe])
    meter.create_observable_up_down_counter("observed_up_down", [observe])
    counter = meter.create_counter("counted")
    for queue in queues:
        counter.add(MESSAGES[queue], {"broker": "b", "queue": queue})
    metrics = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    return {metric.name: [point.value for point in metric.data.data_points] for metric in metrics}


python = [totals(["q1", "q2", "q3"]), totals(["q3", "q2", "q1"])]
try:
    node = json.loads(subprocess.run(["node", "probe.js"], check=True, capture_output=True, timeout=60).stdout)
except (OSError, subprocess.SubprocessError) as error:
    print("not tried:", error)
    sys.exit(2)
for order, in_python, in_node in zip(("q1 (10), q2 (20), q3 (30)", "q3 (30), q2 (20), q1 (10)"), python, node):
    print(f"observed in the order {order}:")
    for name in ("observed", "observed_up_down", "counted"):
        print(f"  {name:16}  Python {in_python[name]}, JavaScript {in_node[name]}")
stated = [{"observed": [last], "observed_up_down": [last], "counted": [60]} for last in (30, 10)]
if node != stated or python != [dict.fromkeys(stated[0], [60])] * 2:
    print("changed: stated was 60 in Python, and 30 and 10 in JavaScript for what is observed")
    sys.exit(1)
PY
"$dir/venv/bin/python" probe.py
