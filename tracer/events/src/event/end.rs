//! Ends of processes.

use crate::TaskId;

/// The last thread of a process ends, and with it the process. Its sockets are closed after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnd {
    /// The process, and its last thread.
    pub task: TaskId,
    /// End of the process, as `wait(2)` tells it: a signal in the lowest seven bits, or else an exit code in the next eight.
    pub status: u32,
    /// The kernel chose it to be killed, because memory had run out in its cgroup or on the machine.
    pub out_of_memory: bool,
}

impl ProcessEnd {
    /// The signal that ended it; `None` if it ended by itself.
    pub fn signal(&self) -> Option<u32> {
        let signal = self.status & 0x7f;
        (signal != 0).then_some(signal)
    }

    /// The exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<u32> {
        self.signal().is_none().then_some(self.status >> 8 & 0xff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_signal_or_a_code() {
        let ended = |status| ProcessEnd { status, ..ProcessEnd::default() };
        assert_eq!((ended(9).signal(), ended(9).code()), (Some(9), None));
        // It dumped its memory.
        assert_eq!(ended(0x80 | 0x0B).signal(), Some(11));
        assert_eq!((ended(3 << 8).signal(), ended(3 << 8).code()), (None, Some(3)));
        assert_eq!(ended(0).code(), Some(0));
    }
}
