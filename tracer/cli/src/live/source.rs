//! Source of the live screen's updates, and what is done for it.

use super::LiveArgs;
use super::experiments::Workloads;
use super::files::ScreenFiles;
use super::memory::ScreenMemory;
use crate::common::DetailArg;
use std::cell::RefCell;
use std::sync::mpsc::Receiver;
use wirelap_capture::{ChosenHook, TLS_TEXT};
use wirelap_events::{Delivery, GroupId, Nanos, human};
use wirelap_history::Update;
use wirelap_recording::KeepLimits;
use wirelap_replay::message::{self, NotKept};
use wirelap_session::{Commands, machine};
use wirelap_tui::{Experiments, ProbeHook, ProbeSetup, ScreenRequest, UpdateSource};

/// The most events a second that are kept.
const KEPT_RATE: u64 = 400_000;

const NO_FILES: &str = "no files can be written without a screen";

/// The tracing thread's updates, and the workloads that run beside the screen.
pub struct LiveSource<'a, 'scope, 'bench> {
    /// `None` if nothing is shown that needs them.
    updates: Option<Receiver<Update>>,
    /// The files that may be written from the screen; `None` without a screen.
    files: Option<ScreenFiles>,
    memory: ScreenMemory,
    workloads: &'a RefCell<Workloads<'scope, 'bench>>,
    /// The hooks that the probes are attached to, and their ring buffer.
    setup: ProbeSetup,
    /// Notes for the user beside the figures.
    notes: Vec<String>,
    /// The difference from the clock of the events to the wall clock when tracing began, in nanoseconds.
    wall: i64,
    /// Limits of the newest events that are kept in memory.
    keep: Option<KeepLimits>,
    commands: Commands,
    /// Why no row can be muted; `None` if rows can.
    mutes_nothing: Option<&'static str>,
}

impl<'a, 'scope, 'bench> LiveSource<'a, 'scope, 'bench> {
    /// Takes updates from a collector's channel.
    pub fn new(
        updates: Option<Receiver<Update>>,
        (files, memory): (Option<ScreenFiles>, ScreenMemory),
        workloads: &'a RefCell<Workloads<'scope, 'bench>>,
        (keep, commands): (Option<KeepLimits>, Commands),
        mutes_nothing: Option<&'static str>,
    ) -> Self {
        let (wall, setup) = (machine::wall_offset(), ProbeSetup::default());
        let notes = Vec::new();
        LiveSource {
            updates,
            files,
            memory,
            workloads,
            setup,
            notes,
            wall,
            keep,
            commands,
            mutes_nothing,
        }
    }

    /// The same source, with how the probes are attached, or why they are not.
    pub fn with_probes(self, setup: ProbeSetup, instead: Option<&str>) -> Self {
        LiveSource { setup, notes: instead.map(str::to_owned).into_iter().collect(), ..self }
    }

    /// Mutes a row, or ends that. Returns a sentence for the user.
    fn mute(&self, (group, name): (GroupId, &str), mute: bool) -> String {
        if let Some(why) = self.mutes_nothing {
            return why.to_owned();
        }
        self.commands.mute_row(group, mute);
        if mute {
            format!("{name} is muted; M observes it again")
        } else {
            format!("{name} is observed again")
        }
    }

    /// Writes what is kept of a message. Returns a sentence for the user.
    fn export(&mut self, delivery: &Delivery) -> String {
        let Some(files) = &mut self.files else { return NO_FILES.into() };
        if let Some(why) = files.refused() {
            return why.to_owned();
        }
        let Some(limits) = self.keep else {
            return "packets are not kept: start wirelap live with --keep 60s".into();
        };
        let kept = self.commands.kept();
        match message::kept(&kept, delivery) {
            Ok(excerpt) => files.packets(&excerpt),
            Err(NotKept) if kept.is_paused => format!(
                "packets are not kept while more than {} events come in a second: --pcapng FILE --pcapng-payload keeps them on the disk",
                human::exact(limits.rate)
            ),
            Err(NotKept) => {
                let since = kept.since.map_or(Nanos(0), |since| machine::now() - since);
                format!(
                    "the packets of this message are not kept any more, only those of the last {since} ({} at most: --keep-size)",
                    human::bytes(limits.bytes as f64)
                )
            }
        }
    }
}

/// Returns the limits of the newest events that the screen keeps; `None` if nothing. docs/results/cost.md has what that takes.
pub fn keep_limits(args: &LiveArgs) -> Option<KeepLimits> {
    let time = Nanos(u64::try_from(args.keep.as_nanos()).unwrap_or(u64::MAX));
    let is_wanted = args.shows_screen()
        && !args.watch_only
        && args.detail != DetailArg::Ends
        && time != Nanos(0);
    let bytes = usize::try_from(args.keep_size).unwrap_or(usize::MAX);
    is_wanted.then_some(KeepLimits { time, bytes, rate: KEPT_RATE })
}

/// Returns the hooks that the probes are attached to, and their ring buffer, for the screen.
pub fn probe_setup(hooks: &[ChosenHook], ring_bytes: u32) -> ProbeSetup {
    let hook = |chosen: &ChosenHook| ProbeHook {
        observation: chosen.observation.to_owned(),
        hook: chosen.hook.map(str::to_owned),
        without: format!("{}; {}", chosen.without, chosen.remedy),
    };
    ProbeSetup {
        hooks: hooks.iter().map(hook).collect(),
        ring_bytes: Some(ring_bytes.into()),
        reads_tls: hooks.iter().any(|hook| hook.observation == TLS_TEXT && hook.hook.is_some()),
    }
}

impl UpdateSource for LiveSource<'_, '_, '_> {
    fn probe_setup(&self) -> ProbeSetup {
        self.setup.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        self.updates.iter().flat_map(Receiver::try_iter).for_each(out);
    }

    fn wall(&self) -> Option<i64> {
        Some(self.wall)
    }

    fn request(&mut self, request: ScreenRequest) -> String {
        match request {
            ScreenRequest::Screenshot { text, svg } => match &mut self.files {
                Some(files) => files.screenshot(&text, &svg),
                None => NO_FILES.into(),
            },
            ScreenRequest::Export(delivery) => self.export(&delivery),
            ScreenRequest::Replay(_) => {
                "these are the figures of now: wirelap live --replay FILE replays a recording"
                    .into()
            }
            ScreenRequest::Breakdown(query) => {
                self.commands.breakdown(query);
                String::new()
            }
            ScreenRequest::Mute { group, name, mute } => self.mute((group, &name), mute),
            ScreenRequest::Experiment(request) => self.workloads.borrow_mut().request(request),
        }
    }

    fn remembered(&mut self) -> Option<String> {
        self.memory.text()
    }

    fn remember(&mut self, text: &str) {
        self.memory.keep(text);
    }

    fn news(&mut self) -> Option<String> {
        self.workloads.borrow_mut().news()
    }

    fn experiments(&mut self) -> Experiments {
        self.workloads.borrow_mut().experiments()
    }
}
