//! The cost of the screen: one frame of 100 rows at 200×60, from a new snapshot to the bytes for the terminal.
//!
//! `cargo bench -p wirelap-tui --bench draw`

#![allow(missing_docs, reason = "a benchmark")]

use criterion::{Criterion, criterion_group, criterion_main};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::RefCell;
use std::hint::black_box;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

const ROWS: u32 = 100;
const SIZE: Rect = Rect { x: 0, y: 0, width: 200, height: 60 };

/// Successive snapshots of which every figure differs.
fn snapshots() -> Vec<Arc<Snapshot>> {
    let at = |tick: u32| {
        let mut snapshot = snapshots::many(ROWS);
        snapshot.at.0 += u64::from(tick) * 100_000_000;
        for group in &mut snapshot.groups {
            let times = &mut group.one_way;
            for time in [&mut times.p50, &mut times.p90, &mut times.p99, &mut times.max] {
                time.0 += u64::from(tick) * 137;
            }
            group.rate_now.msg_per_s *= 1.0 + f64::from(tick) / 100.0;
        }
        Arc::new(snapshot)
    };
    (0..10).map(at).collect()
}

/// Bytes that are written to the terminal.
#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// The bytes since the last call.
    fn take(&self) -> usize {
        std::mem::take(&mut *self.0.borrow_mut()).len()
    }
}

fn terminal(written: Written) -> Terminal<CrosstermBackend<Written>> {
    let options = TerminalOptions { viewport: Viewport::Fixed(SIZE) };
    Terminal::with_options(CrosstermBackend::new(written), options).expect("a fixed size")
}

fn frame(bench: &mut Criterion) {
    let snapshots = snapshots();
    let mut app = App::new();
    let written = Written::default();
    let mut terminal = terminal(written.clone());
    let mut next = snapshots.iter().cycle();
    let (mut frames, mut bytes) = (0usize, 0usize);
    bench.bench_function("frame of 100 rows at 200x60", |bencher| {
        bencher.iter(|| {
            app.update(Arc::clone(next.next().expect("a cycle has no end")));
            terminal.draw(|frame| render::screen(frame, &app, Theme::DARK)).expect("into memory");
            frames += 1;
            bytes += black_box(written.take());
        });
    });
    println!("{} bytes a frame in the mean", bytes / frames.max(1));
}

criterion_group!(benches, frame);
criterion_main!(benches);
