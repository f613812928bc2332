//! `wirelap live --replay`: recordings and captures on the screen of `live`.

use super::args::{LiveArgs, WIDTH};
use super::files::ScreenFiles;
use super::memory::ScreenMemory;
use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wirelap_correlate::{BreakdownQuery, Dimension};
use wirelap_events::{Delivery, Nanos};
use wirelap_history::Update;
use wirelap_process::steward::{Steward, StewardRole};
use wirelap_process::{Failure, Outputs, catch_signals, output, rights};
use wirelap_replay::playback::{FileReading, Player, ReadingState};
use wirelap_replay::{NoFollower, Replay, message};
use wirelap_report::table;
use wirelap_tui::{
    Experiments, ReadShare, ReplayControl, ReplayState, ScreenOptions, ScreenRequest, UpdateSource,
    plain,
};

/// Time between two drawings of the screen: short enough that playing looks like it.
const REFRESH: Duration = Duration::from_millis(100);

/// The longest time that the screen waits for the first figures, so that a file that cannot be read is a line and no screen.
const FIRST: Duration = Duration::from_millis(300);

const NO_WORKLOADS: &str = "no workloads run beside a replay: start wirelap live without --replay";

/// Replays files on the screen, or prints what is in them where there is no screen.
///
/// # Errors
/// A file cannot be read, or the screen cannot be shown.
pub fn run(args: &LiveArgs) -> Result<ExitCode, Failure> {
    if !args.shows_screen() {
        return lines(args);
    }
    let steward = if args.watch_only { None } else { Some(Steward::start(StewardRole::Outputs)?) };
    let outputs = Outputs::new(false, steward);
    let files = ScreenFiles::of(args, &outputs)?;
    let memory = ScreenMemory::of(args, &outputs);
    outputs.seal()?;
    rights::confine_reader();
    let signals = catch_signals()?;
    let wall = message::wall(&args.replay);
    let reading = FileReading::start(
        &args.replay,
        &args.filter.decode,
        args.breakdown.query(),
        &args.tls_keys,
    )?;
    rights::give_up();
    let mut source = ReplaySource::new(reading, (files, memory), args, wall);
    let began = Instant::now();
    while began.elapsed() < FIRST && source.is_waiting() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let failed = Rc::clone(&source.failed);
    let shown = if failed.get() {
        Ok(())
    } else {
        let should_stop = || failed.get() || signals.caught().is_some();
        let options =
            ScreenOptions { refresh: REFRESH, mouse: !args.no_mouse, ..ScreenOptions::default() };
        wirelap_tui::run(options, &mut source, &should_stop)
            .map(drop)
            .map_err(|error| Failure::Machine(format!("{error}: try `wirelap live --plain`")))
    };
    source.reading.end().and(shown).map(|()| ExitCode::SUCCESS)
}

/// Prints one block of lines with everything that is in the files.
fn lines(args: &LiveArgs) -> Result<ExitCode, Failure> {
    rights::confine_reader();
    let mut replay = Replay::new(&args.filter.decode, NoFollower);
    replay.breakdown(args.breakdown.query());
    replay.tls_keys(&args.tls_keys)?;
    replay.files(&args.replay)?;
    let replayed = replay.end()?;
    let text = if replayed.cut {
        table::render(&replayed.report)
    } else {
        let notes = replayed.report.notes.iter().map(|note| format!("note: {note}\n"));
        let rows = args.breakdown.table(replayed.report.breakdown.as_ref());
        plain(&replayed.snapshot, WIDTH) + &rows + &notes.collect::<String>()
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Files that are read, and the position in them.
struct ReplaySource {
    reading: FileReading,
    files: ScreenFiles,
    /// The files that are read.
    paths: Vec<PathBuf>,
    tls_keys: Vec<PathBuf>,
    /// The protocols that the user named, by port.
    decode: Vec<(u16, String)>,
    /// Dimensions that the rows by name are told apart by.
    by: Vec<Dimension>,
    /// True if the files are read anew, for other rows by name.
    has_restarted: bool,
    /// The difference from the clock of their events to the wall clock, in nanoseconds.
    wall: Option<i64>,
    memory: ScreenMemory,
    state: ReplayState,
    notes: Vec<String>,
    /// Time when the position was moved last.
    moved: Instant,
    /// True if nothing could be read.
    failed: Rc<Cell<bool>>,
}

impl ReplaySource {
    fn new(
        reading: FileReading,
        (files, memory): (ScreenFiles, ScreenMemory),
        args: &LiveArgs,
        wall: Option<i64>,
    ) -> ReplaySource {
        ReplaySource {
            reading,
            files,
            memory,
            paths: args.replay.clone(),
            tls_keys: args.tls_keys.clone(),
            decode: args.filter.decode.clone(),
            by: args.breakdown.by.clone(),
            has_restarted: false,
            wall,
            state: ReplayState::default(),
            notes: Vec::new(),
            moved: Instant::now(),
            failed: Rc::default(),
        }
    }

    /// True if nothing is known of the files yet.
    fn is_waiting(&mut self) -> bool {
        self.look();
        !self.failed.get() && self.reading.playback().frames().is_empty()
    }

    /// Looks how far the files are read, and moves the position by the time that has passed.
    fn look(&mut self) {
        let state = self.reading.state();
        if state == ReadingState::Ended && self.notes.is_empty() {
            self.notes = self.reading.notes();
        }
        self.failed.set(self.reading.has_failed());
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut self.moved, now));
        let mut playback = self.reading.playback();
        playback.advance(Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)));
        let player = playback.player();
        self.state = ReplayState {
            playing: player.is_playing(),
            speed: player.speed(),
            at: player.position(),
            length: player.length(),
            reading: match state {
                ReadingState::Reads(Some(share)) => Some(ReadShare::Of(share)),
                ReadingState::Reads(None) => Some(ReadShare::Unknown),
                ReadingState::Ended => None,
            },
        };
    }

    /// Writes what the files have of a message. Returns a sentence for the user.
    fn export(&mut self, delivery: &Delivery) -> String {
        match message::message(&self.paths, delivery) {
            Ok(excerpt) => self.files.packets(&excerpt),
            Err(failure) => failure.to_string(),
        }
    }

    /// Reads the files anew if that takes other rows by name. Returns a sentence for the user.
    fn rows(&mut self, query: BreakdownQuery) -> String {
        if query.by == self.by {
            // The screen orders and filters the rows.
            return String::new();
        }
        self.by.clone_from(&query.by);
        // All rows are wanted, whatever the filter is at present.
        let query = BreakdownQuery { text: String::new(), ..query };
        match FileReading::start(&self.paths, &self.decode, query, &self.tls_keys) {
            Ok(reading) => {
                let before = std::mem::replace(&mut self.reading, reading);
                self.has_restarted = true;
                // What could not be read will be said again.
                self.notes.clear();
                drop(before.end());
                "the files are read again, from the beginning".into()
            }
            Err(failure) => failure.to_string(),
        }
    }

    fn control(&mut self, control: ReplayControl) -> String {
        let mut playback = self.reading.playback();
        let step = playback.frames().interval();
        match control {
            ReplayControl::PlayPause => playback.control(Player::play_pause),
            ReplayControl::Faster => playback.control(Player::faster),
            ReplayControl::Slower => playback.control(Player::slower),
            ReplayControl::Back => playback.control(|player| player.back(step)),
            ReplayControl::Forward => playback.control(|player| player.forward(step)),
            ReplayControl::Start => playback.control(|player| player.seek(Nanos(0))),
            ReplayControl::End => playback.control(Player::seek_end),
            ReplayControl::Worst => {
                return match playback.seek_worst() {
                    Some(slowest) => format!("the slowest message took {slowest}"),
                    None => "no message has been delivered in what was read".into(),
                };
            }
        }
        String::new()
    }
}

impl UpdateSource for ReplaySource {
    fn has_restarted(&mut self) -> bool {
        self.look();
        self.reading.playback().has_restarted() | std::mem::take(&mut self.has_restarted)
    }

    fn replay(&self) -> Option<ReplayState> {
        Some(self.state)
    }

    fn wall(&self) -> Option<i64> {
        self.wall
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        self.reading.playback().take(&mut |frame| out(frame.clone()));
    }

    fn request(&mut self, request: ScreenRequest) -> String {
        match request {
            ScreenRequest::Replay(control) => self.control(control),
            ScreenRequest::Screenshot { text, svg } => self.files.screenshot(&text, &svg),
            ScreenRequest::Export(delivery) => self.export(&delivery),
            ScreenRequest::Experiment(_) => NO_WORKLOADS.into(),
            ScreenRequest::Breakdown(query) => self.rows(query),
            ScreenRequest::Mute { .. } => "a row of a recording or capture cannot be muted".into(),
        }
    }

    fn remembered(&mut self) -> Option<String> {
        self.memory.text()
    }

    fn remember(&mut self, text: &str) {
        self.memory.keep(text);
    }

    fn experiments(&mut self) -> Experiments {
        Experiments::None(NO_WORKLOADS.into())
    }
}
