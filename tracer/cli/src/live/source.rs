//! Where the live screen's updates come from, and what is done for it.

use std::sync::mpsc::Receiver;
use wirelap_capture::ChosenHook;
use wirelap_history::Update;
use wirelap_session::machine::wall_offset;
use wirelap_tui::{ProbeHook, ProbeSetup, Request, Source};

/// The tracing thread's updates.
pub struct LiveSource {
    updates: Receiver<Update>,
    setup: ProbeSetup,
    wall_offset: i64,
}

impl LiveSource {
    /// Takes updates from a collector's channel.
    pub fn new(updates: Receiver<Update>, setup: ProbeSetup) -> LiveSource {
        LiveSource { updates, setup, wall_offset: wall_offset() }
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

impl Source for LiveSource {
    fn probe_setup(&self) -> ProbeSetup {
        self.setup.clone()
    }

    fn wall_offset(&self) -> Option<i64> {
        Some(self.wall_offset)
    }

    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        self.updates.try_iter().for_each(out);
    }

    fn request(&mut self, request: Request) -> String {
        match request {
            Request::Screenshot { .. } | Request::Export(_) => {
                "this wirelap may write no files: start it with --screen-files FOLDER".into()
            }
            Request::Replay(_) => {
                "these are the figures of now: wirelap live --replay FILE replays a recording"
                    .into()
            }
            Request::Experiment(_) => {
                "no workloads can be started: start wirelap with --on LIST".into()
            }
        }
    }
}
