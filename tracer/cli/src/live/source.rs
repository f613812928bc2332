//! Where the live screen's updates come from, and what is done for it.

use std::sync::mpsc::Receiver;
use wirelap_history::Update;
use wirelap_tui::{Request, Source};

/// The tracing thread's updates.
pub struct LiveSource {
    updates: Receiver<Update>,
}

impl LiveSource {
    /// Takes updates from a collector's channel.
    pub fn new(updates: Receiver<Update>) -> LiveSource {
        LiveSource { updates }
    }
}

impl Source for LiveSource {
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
