//! Finds out which observations the files contain, and makes notes on those that are missing.

use wirelap_events::Count;
use wirelap_events::{Body, Event, Nanos, Packet, PacketHook};

/// The observations that at least one event of the files is of.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // Kinds of events that do not depend on each other.
pub struct FileObservations {
    send: bool,
    xmit: bool,
    rx: bool,
    ready: bool,
    wake: bool,
    read: bool,
    pub first: Option<Nanos>,
    /// The number of packets whose payload was not captured completely.
    cut: Count,
    times: TimestampUnit,
}

/// The times of packets.
#[derive(Clone, Copy, Debug)]
struct TimestampUnit {
    /// The longest unit of those that are looked for which all times are multiples of, in nanoseconds.
    unit: u64,
    packets: Count,
}

/// Longer units are none that a file's times have.
const LONGEST_UNIT: u64 = 1_000_000_000;

/// Captures of most programs have times in microseconds, which are exact enough to say nothing of them.
const USUAL_UNIT: u64 = 1_000;

/// So many times are multiples of a longer unit by chance once in ten million files.
const ENOUGH_TIMES: u64 = 8;

impl Default for TimestampUnit {
    fn default() -> TimestampUnit {
        TimestampUnit { unit: LONGEST_UNIT, packets: Count(0) }
    }
}

impl TimestampUnit {
    fn add(&mut self, at: Nanos) {
        while self.unit > USUAL_UNIT && !at.0.is_multiple_of(self.unit) {
            self.unit /= 10;
        }
        self.packets += 1;
    }
}

impl FileObservations {
    pub fn add(&mut self, event: &Event<'_>) {
        self.first.get_or_insert(event.at);
        if let Body::Packet(packet) = &event.body {
            self.cut += u64::from(packet.uncaptured() > 0);
            self.times.add(event.at);
        }
        match event.body {
            Body::Send(_) => self.send = true,
            Body::Packet(Packet { hook: PacketHook::Xmit, .. }) => self.xmit = true,
            Body::Packet(_) => self.rx = true,
            Body::Ready(_) => self.ready = true,
            Body::Wake(_) => self.wake = true,
            Body::Read(_) => self.read = true,
            _ => {}
        }
    }

    /// The unit that all times of packets are multiples of, in nanoseconds; `None` if it is a usual one, or there are too few packets.
    pub fn time_unit(&self) -> Option<u64> {
        let TimestampUnit { unit, packets } = self.times;
        (unit > USUAL_UNIT && packets >= ENOUGH_TIMES).then_some(unit)
    }

    /// A note on packets that a snap length has cut; `None` if there are none.
    pub fn cut(&self) -> Option<String> {
        (self.cut > 0).then(|| {
            format!(
                "{} packets were captured only in part: messages in the missing bytes are in no figure. A longer snap \
                 length (tcpdump -s 0) captures complete packets.",
                self.cut
            )
        })
    }

    /// A note on the stages that no event is of; `None` if all are observed.
    pub fn missing(&self) -> Option<String> {
        let stages = [
            (self.send, "send"),
            (self.xmit, "xmit"),
            (self.rx, "rx"),
            (self.ready, "ready"),
            (self.wake, "wakeup, running"),
            (self.read, "read"),
        ];
        let missing: Vec<&str> =
            stages.into_iter().filter(|(seen, _)| !seen).map(|(_, name)| name).collect();
        (self.first.is_some() && !missing.is_empty()).then(|| {
            format!(
                "Stages that are not in the files, and so in no figure: {}.",
                missing.join(", ")
            )
        })
    }
}
