//! The thread that sends what an agent observes: a slow network holds it up, and nobody else.

use crate::outbox::Outbox;
use crate::uplink::{self, Uplink, Urgency};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;
use wirelap_process::{output, rights};

/// Frames that wait for the thread that sends them.
pub struct SharedOutbox {
    began: Instant,
    state: Mutex<OutboxState>,
    changed: Condvar,
}

#[derive(Default)]
struct OutboxState {
    outbox: Outbox,
    is_over: bool,
}

impl SharedOutbox {
    /// Puts a frame in, behind all others.
    pub fn push(&self, frame: Vec<u8>) {
        let before_and_after = {
            let mut state = self.lock();
            let before = state.outbox.dropped();
            state.outbox.push(self.began.elapsed(), frame);
            (before, state.outbox.dropped())
        };
        self.changed.notify_one();
        if before_and_after.0 == 0 && before_and_after.1 > 0 {
            output::say(
                "wirelap-fleet: the network is too slow: the oldest observations are dropped, and counted\n",
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest frame, once there is one; `None` at the end.
    fn wait(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(frame) = state.outbox.pop() {
                return Some(frame);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The thread that sends frames. Dropping it ends it.
pub struct Sender {
    shared: Arc<SharedOutbox>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Sender {
    /// Starts the thread, which sends with this key.
    pub fn start(uplink: &Uplink, key: String) -> Sender {
        let shared = Arc::new(SharedOutbox {
            began: Instant::now(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (session, outbox) = (uplink.session.clone(), Arc::clone(&shared));
        let send = move || {
            while let Some(frame) = outbox.wait() {
                uplink::send(&session, &key, frame, Urgency::Later);
            }
        };
        Sender { shared, thread: rights::spawn("sender", send).ok() }
    }

    /// The frames that wait.
    pub fn outbox(&self) -> Arc<SharedOutbox> {
        Arc::clone(&self.shared)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}
