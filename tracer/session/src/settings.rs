//! What a session is told.

/// What will be attached once the probes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Later {
    /// Nothing: the rights for it are given up.
    #[default]
    Nothing,
    /// The probes of another tracer.
    Another,
}

/// What is traced and how.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What the kernel side does.
    pub capture: wirelap_capture::Config,
    /// Ports whose protocol the user knows.
    pub decode: Vec<(u16, String)>,
    /// What will be attached later.
    pub later: Later,
    /// The probes will be attached and detached by turns.
    pub alternates: bool,
    /// At the end, wait until no event comes any more.
    pub drain: bool,
    /// Publish snapshots while tracing.
    pub publish: bool,
}
