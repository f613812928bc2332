#!/usr/bin/env bash
# OpenTelemetry SDK for JavaScript 3.1.1 (metrics): the cardinality limit of 2000 attribute
# sets bounds those between two collections; what a counter exports grows past it.
#
# One would expect: the limit bounds what a metric holds and exports. From the 2000th set on
# all goes into one point that is marked as overflow, however long it took to get there;
# the limit is there against memory that grows.
#
# Seen: it is applied to what came since the last collection, and that is then added, without a
# limit, to what was exported before. 6000 users at once are 2000 points (4001 users
# in the overflow); the same 6000 in four intervals are 6000 points and no overflow. So a user
# id as an attribute passes unseen where it is slow enough, and a test with many at once
# shows that the limit works. How much is kept depends on the interval of the exporter.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

npm install --silent --no-audit --no-fund --ignore-scripts --cache "$dir/npm" --prefix "$dir" \
    @opentelemetry/sdk-metrics@3.1.1 @opentelemetry/api@1 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: the OpenTelemetry SDK could not be installed"; exit 2; }

cat >probe.js <<'JS'
const { MeterProvider, MetricReader } = require('@opentelemetry/sdk-metrics');

const USERS = 6000;

class Reader extends MetricReader {
  async onShutdown() {}
  async onForceFlush() {}
}

/** Counts a message of each user, collects after each part and returns the points of the last collection. */
async function points(parts) {
  const reader = new Reader();
  const messages = new MeterProvider({ readers: [reader] }).getMeter('probe').createCounter('messages');
  let collected;
  for (let user = 0; user < USERS; user++) {
    messages.add(1, { user });
    if ((user + 1) % (USERS / parts) === 0) collected = await reader.collect();
  }
  const points = collected.resourceMetrics.scopeMetrics[0].metrics[0].dataPoints;
  const overflow = points.filter(({ attributes }) => attributes['otel.metric.overflow']);
  return { points: points.length, sum: points.reduce((sum, { value }) => sum + value, 0), overflow: overflow.length };
}

(async () => {
  const seen = [];
  for (const parts of [1, 4, 10]) {
    seen.push(await points(parts));
    console.log(`${USERS} users, collected ${parts} times:`, JSON.stringify(seen.at(-1)));
  }
  const stated = [{ points: 2000, sum: USERS, overflow: 1 }, ...Array(2).fill({ points: USERS, sum: USERS, overflow: 0 })];
  if (JSON.stringify(seen) !== JSON.stringify(stated)) {
    console.log('changed: stated was', JSON.stringify(stated));
    process.exit(1);
  }
})().catch((error) => { console.log('not tried:', error.message); process.exit(2); });
JS
timeout 60 node probe.js
