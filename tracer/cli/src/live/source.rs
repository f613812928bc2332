//! Where the live screen's updates come from, and what is done for it.

use super::files::ScreenFiles;
use std::sync::mpsc::Receiver;
use wirelap_history::Update;
use wirelap_tui::{Request, Source};

/// The tracing thread's updates.
pub struct LiveSource {
    updates: Receiver<Update>,
    /// What may be written from the screen; `None` without a screen.
    files: Option<ScreenFiles>,
}

impl LiveSource {
    /// Takes updates from a collector's channel.
    pub fn new(updates: Receiver<Update>, files: Option<ScreenFiles>) -> LiveSource {
        LiveSource { updates, files }
    }
}

impl Source for LiveSource {
    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        self.updates.try_iter().for_each(out);
    }

    fn request(&mut self, request: Request) -> String {
        match request {
            Request::Screenshot { text, svg } => match &mut self.files {
                Some(files) => files.screenshot(&text, &svg),
                None => "no files can be written without a screen".into(),
            },
            Request::Export(_) => "the packets of a message are not kept".into(),
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
