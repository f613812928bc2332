//! The values of settings as text: as a scenario file or the command line would have them.

use crate::payload::PayloadSizes;
use crate::request::{Measure, TruthCheck};
use std::time::Duration;
use wirelap_contract::topology::name;
use wirelap_contract::{Handles, LinkReliability, LinkTransport, SubscribedTopics};
use wirelap_session::Sampling;

/// A value as text.
pub trait AsText {
    /// The text.
    fn shown(&self) -> String;
}

/// Values whose text is that of `Display`.
macro_rules! displayed {
    ($($type:ty),*) => {$(
        impl AsText for $type {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

displayed!(String, bool, u8, u16, u32, u64, usize, f64);

impl AsText for Duration {
    fn shown(&self) -> String {
        humantime::format_duration(*self).to_string()
    }
}

impl<T: AsText> AsText for Vec<T> {
    fn shown(&self) -> String {
        self.iter().map(AsText::shown).collect::<Vec<_>>().join(",")
    }
}

impl AsText for (String, String) {
    fn shown(&self) -> String {
        format!("{}={}", self.0, self.1)
    }
}

impl AsText for [String; 2] {
    fn shown(&self) -> String {
        self.join(" / ")
    }
}

impl AsText for SubscribedTopics {
    fn shown(&self) -> String {
        name(self)
    }
}

impl AsText for Handles {
    fn shown(&self) -> String {
        name(self)
    }
}

impl AsText for PayloadSizes {
    fn shown(&self) -> String {
        match self {
            PayloadSizes::Bytes(size) => size.to_string(),
            PayloadSizes::PowersOfTwo { first, last } => format!("{first}..{last}"),
        }
    }
}

impl AsText for Measure {
    fn shown(&self) -> String {
        match self {
            Measure::Latency => "latency",
            Measure::Throughput => "throughput",
            Measure::Connections => "connections",
        }
        .into()
    }
}

impl AsText for LinkTransport {
    fn shown(&self) -> String {
        name(self)
    }
}

impl AsText for LinkReliability {
    fn shown(&self) -> String {
        name(self)
    }
}

impl AsText for Sampling {
    fn shown(&self) -> String {
        match self {
            Sampling::Off => "off".into(),
            Sampling::Windows { open, every } => format!("{}/{}", open.shown(), every.shown()),
        }
    }
}

impl AsText for TruthCheck {
    fn shown(&self) -> String {
        match self {
            TruthCheck::Auto => "auto",
            TruthCheck::On => "on",
            TruthCheck::Off => "off",
        }
        .into()
    }
}
