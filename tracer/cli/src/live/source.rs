//! Where the live screen's updates come from, and what is done for it.

use super::LiveArgs;
use super::experiments::Workloads;
use super::files::ScreenFiles;
use super::memory::ScreenMemory;
use std::cell::RefCell;
use std::sync::mpsc::Receiver;
use wirelap_capture::ChosenHook;
use wirelap_history::Update;
use wirelap_session::machine;
use wirelap_tui::{Experiments, ProbeHook, ProbeSetup, Request, Source};

/// The tracing thread's updates, and the workloads that run beside the screen.
pub struct LiveSource<'a, 'scope, 'bench> {
    /// `None` if nothing is shown that needs them.
    updates: Option<Receiver<Update>>,
    /// What may be written from the screen; `None` without a screen.
    files: Option<ScreenFiles>,
    memory: ScreenMemory,
    workloads: &'a RefCell<Workloads<'scope, 'bench>>,
    /// How the probes are attached.
    setup: ProbeSetup,
    /// The difference from the clock of the events to the wall clock when tracing began, in nanoseconds.
    wall: i64,
    /// The answer to the request for a message's packets.
    where_packets_are: String,
}

impl<'a, 'scope, 'bench> LiveSource<'a, 'scope, 'bench> {
    /// Takes updates from a collector's channel.
    pub fn new(
        updates: Option<Receiver<Update>>,
        (files, memory): (Option<ScreenFiles>, ScreenMemory),
        workloads: &'a RefCell<Workloads<'scope, 'bench>>,
        args: &LiveArgs,
    ) -> Self {
        let (wall, where_packets_are) = (machine::wall_offset(), where_packets_are(args));
        let setup = ProbeSetup::default();
        LiveSource { updates, files, memory, workloads, setup, wall, where_packets_are }
    }

    /// The same source, with how the probes are attached.
    pub fn with_probes(self, setup: ProbeSetup) -> Self {
        LiveSource { setup, ..self }
    }
}

/// What a user can do to get the packets of a message into a file: while tracing, they are not kept in memory.
fn where_packets_are(args: &LiveArgs) -> String {
    match &args.pcapng {
        None => {
            "packets are not kept: --pcapng FILE --pcapng-payload keeps them for a replay".into()
        }
        Some(path) if args.pcapng_payload => {
            let path = path.display();
            format!("e writes them in a replay of {path}")
        }
        Some(path) => {
            format!("they are in {}: Wireshark shows them by the filter of y", path.display())
        }
    }
}

/// How the probes are attached.
pub fn probe_setup(hooks: &[ChosenHook], ring_bytes: u32) -> ProbeSetup {
    let hook = |chosen: &ChosenHook| ProbeHook {
        observation: chosen.observation.to_owned(),
        hook: chosen.hook.map(str::to_owned),
        without: format!("{}; {}", chosen.without, chosen.remedy),
    };
    ProbeSetup { hooks: hooks.iter().map(hook).collect(), ring_bytes: Some(ring_bytes.into()) }
}

impl Source for LiveSource<'_, '_, '_> {
    fn probe_setup(&self) -> ProbeSetup {
        self.setup.clone()
    }

    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        self.updates.iter().flat_map(Receiver::try_iter).for_each(out);
    }

    fn wall(&self) -> Option<i64> {
        Some(self.wall)
    }

    fn request(&mut self, request: Request) -> String {
        match request {
            Request::Screenshot { text, svg } => match &mut self.files {
                Some(files) => files.screenshot(&text, &svg),
                None => "no files can be written without a screen".into(),
            },
            Request::Export(_) => self.where_packets_are.clone(),
            Request::Replay(_) => {
                "these are the figures of now: wirelap live --replay FILE replays a recording"
                    .into()
            }
            Request::Experiment(request) => self.workloads.borrow_mut().request(request),
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
