//! The server's limits, which open62541 sets for servers on small devices: a publishing interval of at least 100 ms
//! and 100 values in a queue. Calls into a workload's C library are the one exception to the rule that unsafe code is in
//! `tracer/capture` only.
#![allow(unsafe_code)] // The builder has no safe way to the rest of its configuration.

use open62541::{AccessControl, DefaultAccessControl};
use open62541_sys::UA_ServerConfig;

/// Everybody may connect, and these limits hold.
pub struct ServerLimits {
    /// The shortest publishing interval, in ms.
    pub publishing_interval_ms: f64,
    /// The most values that may wait for one subscriber.
    pub queue_size: u32,
}

// SAFETY: the settings of access control are replaced by `DefaultAccessControl`, which does what the trait asks for; the
// others are plain numbers without an owner.
unsafe impl AccessControl for ServerLimits {
    type Sentinel = ();

    unsafe fn apply(self, config: &mut UA_ServerConfig) -> open62541::Result<()> {
        config.publishingIntervalLimits.min = self.publishing_interval_ms;
        config.queueSizeLimits.max = self.queue_size;
        // SAFETY: the caller keeps what is asked for here, and that sentinel is empty.
        unsafe { DefaultAccessControl::new(true, &[]).apply(config) }
    }
}
