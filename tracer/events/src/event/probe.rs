//! The probes, and what they had to throw away.

/// A probe had to throw events away. `at` is when that was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which probe.
    pub probe: Probe,
    /// How many events since the last report.
    pub count: u64,
}

/// An observation that a probe makes. The order is that of `enum wl_probe` in `ebpf/include/events.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Probe {
    /// Sockets coming into view and closing.
    Socket,
    /// Send entry.
    Send,
    /// Receive exit.
    Read,
    /// Data ready.
    Ready,
    /// Qdisc and NIC queue.
    Xmit,
    /// Packet reception.
    Rx,
    /// Wakeup and switch-in.
    Sched,
    /// TCP retransmission.
    Retransmit,
    /// Packet drops.
    Drop,
}

impl Probe {
    /// Every probe, in the order of its number.
    pub const ALL: [Probe; 9] = [
        Probe::Socket,
        Probe::Send,
        Probe::Read,
        Probe::Ready,
        Probe::Xmit,
        Probe::Rx,
        Probe::Sched,
        Probe::Retransmit,
        Probe::Drop,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Probe::Socket => "socket",
            Probe::Send => "send",
            Probe::Read => "read",
            Probe::Ready => "ready",
            Probe::Xmit => "xmit",
            Probe::Rx => "rx",
            Probe::Sched => "sched",
            Probe::Retransmit => "retransmit",
            Probe::Drop => "drop",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_numbered_as_listed() {
        for (number, probe) in Probe::ALL.into_iter().enumerate() {
            assert_eq!(probe as usize, number);
        }
    }
}
