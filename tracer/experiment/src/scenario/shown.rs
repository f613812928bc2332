//! The values of settings as text: as a scenario file or the command line would have them.

use crate::payload::Payload;
use crate::request::{Measure, TruthCheck};
use std::time::Duration;
use wirelap_contract::topology::name;
use wirelap_contract::{Handles, LinkReliability, LinkTransport, Subscription};
use wirelap_session::Sampling;

/// A value as text.
pub trait Shown {
    /// The text.
    fn shown(&self) -> String;
}

/// Values whose text is that of `Display`.
macro_rules! displayed {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

displayed!(String, bool, u8, u16, u32, u64, usize, f64);

impl Shown for Duration {
    fn shown(&self) -> String {
        humantime::format_duration(*self).to_string()
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> String {
        self.iter().map(Shown::shown).collect::<Vec<_>>().join(",")
    }
}

impl Shown for (String, String) {
    fn shown(&self) -> String {
        format!("{}={}", self.0, self.1)
    }
}

impl Shown for [String; 2] {
    fn shown(&self) -> String {
        self.join(" / ")
    }
}

impl Shown for Subscription {
    fn shown(&self) -> String {
        name(self)
    }
}

impl Shown for Handles {
    fn shown(&self) -> String {
        name(self)
    }
}

impl Shown for Payload {
    fn shown(&self) -> String {
        match self {
            Payload::Bytes(size) => size.to_string(),
            Payload::PowersOfTwo { first, last } => format!("{first}..{last}"),
        }
    }
}

impl Shown for Measure {
    fn shown(&self) -> String {
        match self {
            Measure::Latency => "latency",
            Measure::Throughput => "throughput",
            Measure::Connections => "connections",
        }
        .into()
    }
}

impl Shown for LinkTransport {
    fn shown(&self) -> String {
        name(self)
    }
}

impl Shown for LinkReliability {
    fn shown(&self) -> String {
        name(self)
    }
}

impl Shown for Sampling {
    fn shown(&self) -> String {
        match self {
            Sampling::Off => "off".into(),
            Sampling::Windows { open, every } => format!("{}/{}", open.shown(), every.shown()),
        }
    }
}

impl Shown for TruthCheck {
    fn shown(&self) -> String {
        match self {
            TruthCheck::Auto => "auto",
            TruthCheck::On => "on",
            TruthCheck::Off => "off",
        }
        .into()
    }
}
