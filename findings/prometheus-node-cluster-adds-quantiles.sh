#!/usr/bin/env bash
# prom-client 15.1.3 (npm, Prometheus client for Node): in a cluster the quantiles of a
# summary are added up over the workers; four with a median of 10 ms report 40 ms.
#
# One would expect: the aggregation for clusters adds what can be added (a summary's sum
# and count, a histogram's buckets) and leaves quantiles out, or takes an average as it
# does for its own event loop percentiles. A median lies between the medians of its parts.
#
# Seen: each line of a summary is summed, those of its quantiles as well. The more workers,
# the slower the service looks, and the time of the slowest request is passed by the
# median. Sum divided by count in the same answer is right, 10 ms.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

npm install --silent --no-audit --no-fund --ignore-scripts --cache "$dir/npm" --prefix "$dir" prom-client@15.1.3 >log 2>&1 ||
    { tail -n 3 log || true; echo "not tried: prom-client 15.1.3 could not be installed"; exit 2; }

cat >probe.js <<'JS'
const cluster = require('cluster');
const { AggregatorRegistry, Summary } = require('prom-client');

const WORKERS = 4, REQUESTS = 1000, QUANTILES = [0.5, 0.99];
// Evenly from 5 to 15 ms: the median is 10.
const latency = (i) => 5 + (10 * i) / (REQUESTS - 1);
const registry = new AggregatorRegistry();

if (cluster.isPrimary) {
  let ready = 0;
  cluster.on('message', async (_, message) => {
    if (message !== 'ready' || ++ready < WORKERS) return;
    const text = await registry.clusterMetrics().catch((error) => {
      console.log('not tried:', error.message);
      process.exit(2);
    });
    const value = (name) => Number(text.split('\n').find((line) => line.startsWith(name + ' ')).split(' ')[1]);
    const [median, high] = QUANTILES.map((q) => value(`latency{quantile="${q}"}`));
    const mean = value('latency_sum') / value('latency_count');
    console.log(`${WORKERS} workers with ${REQUESTS} requests each, of 5 to 15 ms`);
    console.log(`reported for the cluster: median ${median.toFixed(1)}, 99th percentile ${high.toFixed(1)}, sum / count ${mean.toFixed(1)}`);
    const asStated = Math.abs(median - 40) < 1 && Math.abs(high - 4 * 14.9) < 1 && Math.abs(mean - 10) < 0.1;
    if (!asStated) console.log('changed: stated was 40.0, 59.6 and 10.0');
    process.exitCode = asStated ? 0 : 1;
    cluster.disconnect();
  });
  for (let i = 0; i < WORKERS; i++) cluster.fork();
} else {
  const summary = new Summary({ name: 'latency', help: 'x', percentiles: QUANTILES });
  for (let i = 0; i < REQUESTS; i++) summary.observe(latency(i));
  process.send('ready');
}
JS
timeout 60 node probe.js || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
