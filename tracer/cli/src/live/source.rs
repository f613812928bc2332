//! Where the live screen's updates come from, and what is done for it.

use super::experiments::Workloads;
use super::files::ScreenFiles;
use super::memory::ScreenMemory;
use std::cell::RefCell;
use std::sync::mpsc::Receiver;
use wirelap_history::Update;
use wirelap_tui::{Experiments, Request, Source};

/// The tracing thread's updates, and the workloads that run beside the screen.
pub struct LiveSource<'a, 'scope, 'bench> {
    updates: Receiver<Update>,
    /// What may be written from the screen; `None` without a screen.
    files: Option<ScreenFiles>,
    memory: ScreenMemory,
    workloads: &'a RefCell<Workloads<'scope, 'bench>>,
}

impl<'a, 'scope, 'bench> LiveSource<'a, 'scope, 'bench> {
    /// Takes updates from a collector's channel.
    pub fn new(
        updates: Receiver<Update>,
        (files, memory): (Option<ScreenFiles>, ScreenMemory),
        workloads: &'a RefCell<Workloads<'scope, 'bench>>,
    ) -> Self {
        LiveSource { updates, files, memory, workloads }
    }
}

impl Source for LiveSource<'_, '_, '_> {
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
