//! The cost of a scrape, with as many rows as there can be.

use criterion::{Criterion, criterion_group, criterion_main};
use std::sync::Arc;
use wirelap_correlate::{Group, Snapshot};
use wirelap_events::{GroupId, Segment};
use wirelap_history::{Bins, RowSlice, SegmentSlice, Slice, Update};
use wirelap_metrics::{Format, SharedMeasured};

const ROWS: u32 = 1_000;

fn update() -> Update {
    let times: Bins = (0..1_000u64).map(|n| 20_000 + n * n * 40).collect();
    let groups = (0..ROWS).map(|n| Group {
        id: GroupId(n),
        middleware: "mqtt".into(),
        broker: Some(format!("broker{n}")),
        ..Group::default()
    });
    let segment =
        |segment| SegmentSlice { leg: 0, segment, sum: 1, count: 1, times: Bins::default() };
    let rows = (0..ROWS).map(|n| RowSlice {
        one_way: times.clone(),
        sched_gap: times.clone(),
        dwell: times.clone(),
        segments: Segment::ALL.into_iter().map(segment).collect(),
        ..RowSlice::new(GroupId(n))
    });
    Update {
        snapshot: Arc::new(Snapshot { groups: groups.collect(), ..Snapshot::default() }),
        slice: Slice { rows: rows.collect(), ..Slice::default() },
    }
}

fn scrape(bench: &mut Criterion) {
    let measured = SharedMeasured::default();
    measured.lock().take(&update());
    let registry = wirelap_metrics::registry(measured.clone());
    bench.bench_function("scrape, 1,000 rows, text", |b| b.iter(|| Format::Text.write(&registry)));
    #[cfg(feature = "protobuf")]
    bench.bench_function("scrape, 1,000 rows, protocol buffers", |b| {
        b.iter(|| Format::Protobuf.write(&registry));
    });
    let update = update();
    bench.bench_function("update, 1,000 rows", |b| b.iter(|| measured.lock().take(&update)));
}

criterion_group!(benches, scrape);
criterion_main!(benches);
