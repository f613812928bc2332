#!/usr/bin/env bash
# Node.js 20.20.2 (perf_hooks): add() of a histogram into one with a smaller range loses the
# values that do not fit, but counts them all; count and percentiles contradict
# each other, and "exceeds" says that nothing was lost.
#
# One would expect: what record() does. A value above the range is not in count and
# adds one to exceeds. Or an error: the Python, Java and Go versions of the same
# histogram raise one or return the number that did not fit.
#
# Seen: of ten values of 5 and ninety of 5000 added to a histogram up to 1000, the
# sum says count 100, exceeds 0, highest value 5 and 99th percentile 5. Nothing tells
# it from a hundred fast requests, where it is ten fast and ninety slow ones.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
command -v node >/dev/null || { echo "not tried: no node"; exit 2; }
timeout 30 node - <<'JS' || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
const { createHistogram } = require('perf_hooks');

const FAST = 5, SLOW = 5000;

function filled(options) {
  const histogram = createHistogram(options);
  for (let i = 0; i < 100; i++) histogram.record(i < 10 ? FAST : SLOW);
  return histogram;
}

const show = ({ count, exceeds, max, mean }, p50, p99) => ({ count, exceeds, max, mean, p50, p99 });
const summary = (histogram) => show(histogram, histogram.percentile(50), histogram.percentile(99));

const added = createHistogram({ highest: 1000 });
added.add(filled());
const recorded = filled({ highest: 1000 });
console.log('Node', process.version);
console.log('recorded up to 1000:', JSON.stringify(summary(recorded)));
console.log('added up to 1000:   ', JSON.stringify(summary(added)));
const stated = { count: 100, exceeds: 0, max: FAST, mean: FAST, p50: FAST, p99: FAST };
const asStated = JSON.stringify(summary(added)) === JSON.stringify(stated) && recorded.count === 10 && recorded.exceeds === 90;
if (!asStated) console.log('changed: stated was', JSON.stringify(stated));
process.exit(asStated ? 0 : 1);
JS
