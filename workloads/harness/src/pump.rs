//! Libraries that want tokio, driven by the thread that uses them.
//!
//! A library's connection is a task, and needs a thread. With a thread of its own a message is handed from thread to thread on its way,
//! which costs two wake-ups; so the main thread drives the library while it waits in it. A publisher without a
//! rate does get a thread for the connection beside the one that publishes: that is how programs with throughput in mind use these libraries.

use crate::control::{Control, Stopped};
use anyhow::{Context, Result};
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use wirelap_contract::{Role, Spec};

/// Interval at which a waiting call looks whether the run is over.
pub const TICK: Duration = Duration::from_millis(100);

/// A runtime, and whether to go on.
pub struct Pump {
    /// Runtime of the library's tasks.
    pub runtime: Runtime,
    /// Commands that the process was given.
    pub control: Control,
}

impl Pump {
    /// With a thread of its own, or driven by the caller alone.
    ///
    /// # Errors
    ///
    /// When the runtime cannot be started.
    pub fn new(threaded: bool, control: &Control) -> Result<Pump> {
        let mut builder =
            if threaded { Builder::new_multi_thread() } else { Builder::new_current_thread() };
        let runtime = builder.worker_threads(1).enable_all().build();
        let runtime = runtime.context("cannot start the library's runtime")?;
        Ok(Pump { runtime, control: control.clone() })
    }

    /// Lets `work` go on until it is done, or the run is over.
    ///
    /// # Errors
    ///
    /// [`Stopped`] when told to stop, or the failure of a thread.
    pub fn drive<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        self.runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                if let Ok(done) = timeout(TICK, work.as_mut()).await {
                    return Ok(done);
                }
                if self.control.interrupted() {
                    self.control.check()?;
                    return Err(Stopped.into());
                }
            }
        })
    }
}

/// True if a role sends back to back. Between rare messages a connection must still be looked after.
pub fn is_back_to_back(spec: &Spec) -> bool {
    spec.role == Role::Pub && spec.rate.is_none_or(|rate| rate < 1.0)
}
