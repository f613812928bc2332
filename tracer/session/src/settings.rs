//! The settings of a session.

use std::sync::Arc;
use wirelap_capture::RunTimeCount;
use wirelap_recording::{EncoderSettings, KeepLimits};

/// Need to attach probes again after those of this session, which decides whether the rights are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttachLater {
    /// No probes: the rights to attach are given up.
    #[default]
    Nothing,
    /// The probes of another session.
    AnotherSession,
}

/// Source of the events of a session: the probes, or packets alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionView {
    /// The probes.
    #[default]
    Probes,
    /// The probes; packets alone where the kernel does not let probes be attached.
    ProbesOrPackets,
    /// Packets alone, of a device or of all.
    Packets {
        /// The device; `None` for all of this network namespace.
        device: Option<String>,
    },
}

/// Settings for the newest events that are kept in memory.
#[derive(Clone, Copy, Debug)]
pub struct KeepSettings {
    /// Limits of what is kept.
    pub limits: KeepLimits,
    /// Settings for writing the events.
    pub written: EncoderSettings,
}

/// Conversations of which no calls and no payload are observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Muting {
    /// None.
    #[default]
    Nothing,
    /// Those that cannot be followed, and those of rows that the user mutes: at first the rows of these middlewares or brokers, or of
    /// both as in `mqtt/rumqttd`.
    Allowed(Vec<String>),
}

/// Settings of a session: what it traces, and how.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// Settings of the probes.
    pub capture: wirelap_capture::CaptureConfig,
    /// Source of the events: the probes, or packets alone.
    pub view: SessionView,
    /// Settings for the newest events that are kept in memory; `None` to keep none.
    pub keep: Option<KeepSettings>,
    /// The protocols that the user named, by port.
    pub decode: Vec<(u16, String)>,
    /// Conversations of which less is observed.
    pub muting: Muting,
    /// The rows of the breakdown.
    pub breakdown: wirelap_correlate::BreakdownQuery,
    /// Need to attach probes again later.
    pub later: AttachLater,
    /// The probes will be attached and detached alternately.
    pub alternates: bool,
    /// The kernel counts the CPU time of the probes, for a budget.
    pub run_time: Option<Arc<RunTimeCount>>,
    /// At the end, wait until no more events arrive.
    pub drain: bool,
    /// Publish snapshots while tracing, for [`Tracer::latest`](crate::Tracer::latest).
    pub publish: bool,
}
