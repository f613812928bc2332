//! Frames that have come from the router and wait to be written: a reader that stops for a moment does not make the router drop anything.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most bytes that wait. Whoever has more waits, and then the router drops.
const MAX_BYTES: usize = 64 << 20;

/// The frames that wait, the oldest first.
#[derive(Debug)]
pub struct Inbox<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<(usize, T)>,
    bytes: usize,
    is_over: bool,
}

impl<T> Inbox<T> {
    pub fn new() -> Inbox<T> {
        let state = State { waiting: VecDeque::new(), bytes: 0, is_over: false };
        Inbox { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Puts something in that takes so many bytes, once there is capacity for it.
    pub fn push(&self, bytes: usize, one: T) {
        let mut state = self.lock();
        while state.bytes > MAX_BYTES && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes = state.bytes.saturating_add(bytes);
        state.waiting.push_back((bytes, one));
        self.changed.notify_all();
    }

    /// Takes the oldest out, if one comes in time.
    pub fn pop(&self, timeout: Duration) -> Option<T> {
        let state = self.lock();
        let is_idle = |state: &mut State<T>| state.waiting.is_empty();
        let waited = self.changed.wait_timeout_while(state, timeout, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (bytes, one) = state.waiting.pop_front()?;
        state.bytes = state.bytes.saturating_sub(bytes);
        self.changed.notify_all();
        Some(one)
    }

    /// Nothing is taken out any more: nobody waits for capacity.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn whoever_has_too_much_waits_until_something_is_taken() {
        let inbox = Inbox::new();
        let (done, pushed) = channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..3 {
                    inbox.push(MAX_BYTES, number);
                    done.send(number).unwrap();
                }
            });
            let long = Duration::from_mins(1);
            assert_eq!(pushed.recv_timeout(long), Ok(0));
            assert_eq!(pushed.recv_timeout(long), Ok(1), "as much as is allowed is not too much");
            assert!(pushed.try_recv().is_err());
            assert_eq!(
                (inbox.pop(long), inbox.pop(long), inbox.pop(long)),
                (Some(0), Some(1), Some(2))
            );
            assert_eq!(inbox.pop(Duration::ZERO), None);
        });
        inbox.push(2 * MAX_BYTES, 3);
        inbox.end();
        inbox.push(1, 4);
        assert_eq!(inbox.pop(Duration::ZERO), Some(3));
    }
}
