//! Where the live screen's updates come from, and what is done for it.

use super::LiveArgs;
use super::experiments::Workloads;
use super::files::ScreenFiles;
use std::cell::RefCell;
use std::sync::mpsc::Receiver;
use wirelap_history::Update;
use wirelap_session::machine;
use wirelap_tui::{Experiments, Request, Source};

/// The tracing thread's updates, and the workloads that run beside the screen.
pub struct LiveSource<'a, 'scope, 'bench> {
    updates: Receiver<Update>,
    /// What may be written from the screen; `None` without a screen.
    files: Option<ScreenFiles>,
    workloads: &'a RefCell<Workloads<'scope, 'bench>>,
    /// The difference from the clock of the events to the wall clock when tracing began, in nanoseconds.
    wall: i64,
    /// The answer to the request for a message's packets.
    where_packets_are: String,
}

impl<'a, 'scope, 'bench> LiveSource<'a, 'scope, 'bench> {
    /// Takes updates from a collector's channel.
    pub fn new(
        updates: Receiver<Update>,
        files: Option<ScreenFiles>,
        workloads: &'a RefCell<Workloads<'scope, 'bench>>,
        args: &LiveArgs,
    ) -> Self {
        let (wall, where_packets_are) = (machine::wall_offset(), where_packets_are(args));
        LiveSource { updates, files, workloads, wall, where_packets_are }
    }
}

/// What a user can do to get the packets of a message into a file: while tracing, they are not kept in memory.
fn where_packets_are(args: &LiveArgs) -> String {
    match &args.pcapng {
        None => "packets are not kept: start with --pcapng FILE --pcapng-payload, and use e in wirelap live --replay FILE".into(),
        Some(path) if args.pcapng_payload => {
            let path = path.display();
            format!("the packets are in {path}: use e in wirelap live --replay {path}, or the filter that y copies")
        }
        Some(path) => format!("the packets are in {}: the filter that y copies shows them", path.display()),
    }
}

impl Source for LiveSource<'_, '_, '_> {
    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        self.updates.try_iter().for_each(out);
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

    fn news(&mut self) -> Option<String> {
        self.workloads.borrow_mut().news()
    }

    fn experiments(&mut self) -> Experiments {
        self.workloads.borrow_mut().experiments()
    }
}
