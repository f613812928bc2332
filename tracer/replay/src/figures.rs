//! Adds deliveries to the figures of their rows on a thread of its own, beside the one that joins messages.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use wirelap_correlate::{Accountant, Correlator, DeferredFigures};

/// So many deliveries are handed over at once: not so many that they displace what their taker has in the CPU's caches.
const DELIVERIES: usize = 1024;

/// Batches that wait to be taken.
const BATCHES: usize = 4;

/// The thread that adds up figures.
#[derive(Debug)]
pub struct FiguresThread {
    full: SyncSender<DeferredFigures>,
    /// Batches whose figures were added.
    used: Receiver<DeferredFigures>,
    thread: JoinHandle<Accountant>,
}

impl FiguresThread {
    /// Begins, and tells the correlator. `None` if there can be no thread: then the correlator adds up itself.
    pub fn begin(correlator: &mut Correlator) -> Option<FiguresThread> {
        let (full, batches) = sync_channel::<DeferredFigures>(BATCHES);
        let (empty, used) = sync_channel(BATCHES);
        let thread = Builder::new().name("figures".into()).spawn(move || {
            let mut accountant = Accountant::default();
            for mut batch in batches {
                accountant.take(&mut batch);
                // A batch that is one too many is not kept.
                let _ = empty.try_send(batch);
            }
            accountant
        });
        let thread = thread.ok().filter(|_| correlator.defer_figures())?;
        Some(FiguresThread { full, used, thread })
    }

    /// Hands over what the correlator has noted, if that is enough.
    pub fn take(&self, correlator: &mut Correlator) {
        if correlator.deferred() >= DELIVERIES {
            self.hand_over(correlator);
        }
    }

    fn hand_over(&self, correlator: &mut Correlator) {
        let batch = correlator.take_deferred(self.used.try_recv().unwrap_or_default());
        // The thread takes all there is, unless it has panicked, which is told at the end.
        let _ = self.full.send(batch);
    }

    /// Ends: the correlator has all figures then, and adds up itself.
    pub fn end(self, correlator: &mut Correlator) {
        self.hand_over(correlator);
        drop(self.full);
        match self.thread.join() {
            Ok(accountant) => correlator.adopt_figures(accountant),
            Err(panic) => resume_unwind(panic),
        }
    }
}
