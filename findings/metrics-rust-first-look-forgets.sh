#!/usr/bin/env bash
# metrics-exporter-prometheus 0.18.3 (Rust): after a pause the summary's quantiles know only the
# last few dozen values of a burst; its sum and count know all.
#
# One would expect: quantiles of the last minute (three windows of 20 s), so of a burst of a
# thousand values that was just recorded, all thousand.
#
# Seen: values wait in blocks of 64, and a look (a scrape, or the upkeep each five seconds) takes
# them newest block first. When the summary is empty, its window begins with the first value of
# that block; the blocks before it are then older than the window and are dropped, one by
# one. So of a burst after a quiet minute, or after the start, only the end is seen, up to 64
# values: of 900 slow requests and 100 fast ones the 99th percentile is fast, beside a
# sum that says they took 90 s. A second burst within the minute is seen whole.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/src"
cd "$dir"
export CARGO_HOME="$dir/cargo" CARGO_TARGET_DIR="$dir/target"

cat >Cargo.toml <<'TOML'
[package]
name = "probe"
version = "0.1.0"
edition = "2021"

[dependencies]
metrics = "=0.24.6"
metrics-exporter-prometheus = { version = "=0.18.3", default-features = false }
metrics-util = { version = "=0.20.4", default-features = false }
TOML
cat >src/main.rs <<'RUST'
use metrics::histogram;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::{num::NonZeroU32, thread::sleep, time::Duration};

const SLOW: (usize, f64) = (900, 0.1);
const FAST: (usize, f64) = (100, 0.001);
// Three windows of two seconds instead of 20, so that a quiet time is over soon.
const WINDOW: Duration = Duration::from_secs(2);
const WINDOWS: u32 = 3;

/// Records slow values and then fast ones, and shows what a scrape has: quantile 0.5 and 0.99, count, sum.
fn burst(handle: &PrometheusHandle, when: &str) -> [f64; 4] {
    for (count, value) in [SLOW, FAST] {
        for _ in 0..count {
            histogram!("latency").record(value);
        }
    }
    let text = handle.render();
    let seen = ["{quantile=\"0.5\"} ", "{quantile=\"0.99\"} ", "_count ", "_sum "].map(|name| {
        let name = format!("latency{name}");
        text.lines().find_map(|line| line.strip_prefix(name.as_str())?.parse().ok()).unwrap_or(f64::NAN)
    });
    let [median, p99, count, sum] = seen;
    println!("{when:20} median {median:.4} s, 99th percentile {p99:.4} s; count {count}, sum {sum:.1} s");
    seen
}

fn main() {
    let recorder = PrometheusBuilder::new()
        .set_bucket_duration(WINDOW)
        .and_then(|builder| Ok(builder.set_bucket_count(NonZeroU32::new(WINDOWS).expect("not zero"))))
        .expect("valid windows")
        .build_recorder();
    let handle = recorder.handle();
    let seen = metrics::with_local_recorder(&recorder, || {
        println!("bursts of {} values of {} s and then {} of {} s", SLOW.0, SLOW.1, FAST.0, FAST.1);
        let first = burst(&handle, "first burst");
        let second = burst(&handle, "right after it");
        sleep(WINDOW * (WINDOWS + 1));
        [first, second, burst(&handle, "after a quiet time")]
    });
    let is_fast = |value: f64| value < 2.0 * FAST.1;
    let as_stated = is_fast(seen[0][1]) && !is_fast(seen[1][0]) && is_fast(seen[2][1]) && seen[2][2] == 3.0 * (SLOW.0 + FAST.0) as f64;
    if !as_stated {
        println!("changed: stated was a fast 99th percentile in the first and third burst, a slow median in the second");
        std::process::exit(1);
    }
}
RUST
timeout 600 cargo build --quiet >build.log 2>&1 ||
    { tail -n 3 build.log || true; echo "not tried: metrics-exporter-prometheus 0.18.3 could not be built"; exit 2; }
timeout 60 target/debug/probe || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
