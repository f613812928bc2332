//! Shows the figures until it is time to stop: on the screen, or as lines.

use super::args::{LiveArgs, WIDTH};
use super::experiments::Workloads;
use super::json_lines::JsonLines;
use super::source::LiveSource;
use crate::metrics::LiveSink;
use std::cell::{Cell, RefCell};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use wirelap_experiment::TrialStopped;
use wirelap_history::Update;
use wirelap_process::{Failure, Signals, output};
use wirelap_report::{ReportedBreakdown, ReportedSlowSubscribers};
use wirelap_session::{Tracer, machine};
use wirelap_tui::{ScreenOptions, plain};

/// The interval between two blocks of plain lines.
const BLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// Shows snapshots until it is time to stop.
///
/// # Errors
/// A workload of `--on` has ended, or the screen cannot be shown.
pub fn watch(
    args: &LiveArgs,
    tracer: &Tracer<LiveSink>,
    source: &mut LiveSource<'_, '_, '_>,
    updates: Option<Receiver<Update>>,
    workloads: &RefCell<Workloads<'_, '_>>,
    signals: &Signals,
) -> Result<(), TrialStopped> {
    let end = args.duration.and_then(|time| Instant::now().checked_add(time));
    let stopped = Cell::new(None);
    let should_stop = || {
        let stop = stopped.take().or_else(|| workloads.borrow_mut().failure());
        let has_stopped = stop.is_some();
        stopped.set(stop);
        let over = end.is_some_and(|end| Instant::now() >= end);
        over || has_stopped || signals.caught().is_some() || tracer.has_ended()
    };
    let shown = if args.shows_screen() {
        let options = ScreenOptions { mouse: !args.no_mouse, ..ScreenOptions::default() };
        wirelap_tui::run(options, source, &should_stop)
            .map(drop)
            .map_err(|error| Failure::Machine(format!("{error}: try `wirelap live --plain`")))
    } else if let Some(updates) = updates {
        json_lines(&updates, &should_stop)
    } else {
        lines(tracer, &should_stop, args)
    };
    match stopped.take() {
        Some(stopped) => Err(stopped),
        None => shown.map_err(TrialStopped::Failed),
    }
}

/// Prints a line of JSON each second, and one for each entry of the log, until it is time to stop.
fn json_lines(updates: &Receiver<Update>, should_stop: &dyn Fn() -> bool) -> Result<(), Failure> {
    let mut lines = JsonLines::new(machine::wall_offset());
    while !should_stop() {
        std::thread::sleep(Duration::from_millis(20));
        let text: String = updates.try_iter().map(|update| lines.take(&update)).collect();
        if !text.is_empty() && output::print_unless_gone(&text, should_stop)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Prints a block of lines each second until it is time to stop.
fn lines(
    tracer: &Tracer<LiveSink>,
    should_stop: &dyn Fn() -> bool,
    args: &LiveArgs,
) -> Result<(), Failure> {
    let mut printed = Instant::now();
    while !should_stop() {
        std::thread::sleep(Duration::from_millis(20));
        if printed.elapsed() < BLOCK_INTERVAL {
            continue;
        }
        printed = Instant::now();
        let latest = tracer.latest();
        let rows = args.breakdown.table(ReportedBreakdown::of(&latest).as_ref());
        let slow = ReportedSlowSubscribers::of(&latest).filter(|slow| slow.behind > 0);
        let slow = slow.map(|slow| format!("\n{}", slow.table())).unwrap_or_default();
        let text = format!("{}{rows}{slow}\n", plain(&latest, WIDTH));
        if args.writes_to_stdout() {
            output::say(&text);
        } else if output::print_unless_gone(&text, should_stop)?.is_break() {
            break;
        }
    }
    Ok(())
}
