//! The cost of a delivery for the tracing thread, and of an update and of a window for the screen: 100 rows, of which each has 250
//! deliveries of two legs in each quarter of a second, and a minute of them.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use wirelap_correlate::snapshot::{
    Group, HISTORY_SECONDS, HistoryPoint, Part, Process, Severity, Verdict, VerdictKind, Why,
    WorstMessage,
};
use wirelap_correlate::{DeliverySink, Snapshot};
use wirelap_events::{Delivery, GroupId, MessageId, Nanos, Stage};
use wirelap_history::{DeliveryCollector, FigureWindow, SessionHistory, Update};
use wirelap_test_support::delivered::{delivery, leg};
use wirelap_test_support::random::Random;

const ROWS: u32 = 100;
const EACH: u32 = 250;
const QUARTER: Nanos = Nanos::from_millis(250);

fn message(random: &mut Random, group: u32) -> Delivery {
    let mut at = 1_000_000_000;
    let mut next = |scale: u64| {
        at += scale + random.number() % scale;
        at
    };
    let mut stages = || {
        leg(&[
            (Stage::Send, next(1_000)),
            (Stage::Sent, next(2_000)),
            (Stage::Queue, next(3_000)),
            (Stage::Xmit, next(1_000)),
            (Stage::Rx, next(4_000)),
            (Stage::Ready, next(2_000)),
            (Stage::Wakeup, next(2_000)),
            (Stage::Running, next(9_000)),
            (Stage::Read, next(3_000)),
        ])
    };
    let legs = [stages(), stages()];
    Delivery { message: MessageId(1), group: GroupId(group), ..delivery(legs) }
}

/// A row as a screen has it after some minutes.
fn group(random: &mut Random, id: u32) -> Group {
    let worst = || WorstMessage { delivery: message(&mut Random::new(1), id), one_way: Nanos(9) };
    let verdict = Verdict::new(VerdictKind::RunQueueContention, Severity::Problem);
    Group {
        id: GroupId(id),
        middleware: "mqtt".into(),
        broker: Some("mosquitto".into()),
        why: Why {
            worst: (0..10).map(|_| worst()).collect(),
            verdicts: vec![verdict; 3],
            ..Why::default()
        },
        processes: vec![Process { role: "publisher".into(), ..Process::default() }; 3],
        history: vec![
            HistoryPoint { delivered: random.number(), ..HistoryPoint::default() };
            HISTORY_SECONDS
        ],
        ..Group::default()
    }
}

/// Makes updates, one after the other.
struct Source {
    deliveries: Vec<Delivery>,
    groups: Vec<Group>,
    collector: DeliveryCollector,
    updates: Receiver<Update>,
    at: Nanos,
}

impl Source {
    fn new() -> Source {
        let mut random = Random::new(3);
        let (collector, updates) = DeliveryCollector::new(4);
        Source {
            deliveries: (0..ROWS * EACH).map(|n| message(&mut random, n % ROWS)).collect(),
            groups: (0..ROWS).map(|id| group(&mut random, id)).collect(),
            collector,
            updates,
            at: Nanos::from_millis(1_000_000),
        }
    }

    fn update(&mut self) -> Update {
        for delivery in &self.deliveries {
            self.collector.judged(delivery, None);
        }
        for group in &mut self.groups {
            group.messages.matched += u64::from(EACH);
            group.messages.delivered += u64::from(EACH);
            for (n, part) in Part::ALL.into_iter().enumerate() {
                group.overhead.detail.legs[1][part] += 1_000 * n as u64;
            }
        }
        self.at += QUARTER;
        let snapshot = Snapshot { at: self.at, groups: self.groups.clone(), ..Snapshot::default() };
        self.collector.published(&Arc::new(snapshot));
        self.updates.try_recv().unwrap()
    }
}

fn collector(criterion: &mut Criterion) {
    let mut source = Source::new();
    let mut group = criterion.benchmark_group("collector");
    group.throughput(Throughput::Elements(u64::from(ROWS * EACH)));
    group.bench_function("a quarter second of deliveries, the slice included", |bencher| {
        let snapshot = Arc::new(Snapshot::default());
        bencher.iter(|| {
            for delivery in &source.deliveries {
                source.collector.judged(delivery, None);
            }
            source.collector.published(&snapshot);
            black_box(source.updates.try_recv().is_ok())
        });
    });
    group.finish();
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4_096
}

fn history(criterion: &mut Criterion) {
    let mut source = Source::new();
    let mut history = SessionHistory::default();
    let before = resident();
    for _ in 0..300 {
        history.add(source.update());
    }
    println!("75 s of {ROWS} rows take {} MiB", resident().saturating_sub(before) >> 20);
    let mut group = criterion.benchmark_group("history, 100 rows");
    group.sample_size(20);
    group.bench_function("an update", |bencher| {
        let update = || source.update();
        bencher.iter_batched(update, |update| history.add(update), BatchSize::PerIteration);
    });
    group.bench_function("an update and the snapshot of a minute", |bencher| {
        let update = || source.update();
        bencher.iter_batched(
            update,
            |update| {
                history.add(update);
                history.snapshot(FigureWindow::Minute)
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("the snapshot of a minute once more", |bencher| {
        bencher.iter(|| black_box(history.snapshot(FigureWindow::Minute)));
    });
    group.bench_function("a minute of one row in 120 columns", |bencher| {
        let (from, to) = history.extent(FigureWindow::Minute);
        bencher.iter(|| black_box(history.over_time(GroupId(7), (from, to), 120)));
    });
    group.finish();
}

criterion_group!(benches, collector, history);
criterion_main!(benches);
