//! Interface that a middleware's crate implements: a [`Family`] opens [`Link`]s.

pub use crate::facts::Facts;

use crate::control::Control;
use anyhow::{Result, bail};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wirelap_contract::{About, Done, Role, Spec, SubscribedTopics, WorkloadTopology};
use wirelap_events::Nanos;

/// Exit for messages: publishes them.
pub trait Outlet {
    /// Hands a message to the library. Waits while the library's queues are full, so that no queue
    /// grows without bound.
    ///
    /// # Errors
    ///
    /// When the peer or broker is gone, the library refuses, or the process was told to stop.
    fn publish(&self, payload: &[u8]) -> Result<()>;
}

/// Outlet of a role that may publish nothing.
impl<O: Outlet> Outlet for Option<O> {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        match self {
            Some(outlet) => outlet.publish(payload),
            None => bail!("this role does not publish"),
        }
    }
}

impl<O: Outlet> Outlet for Arc<O> {
    fn publish(&self, payload: &[u8]) -> Result<()> {
        (**self).publish(payload)
    }
}

/// Gets each message that arrives, on whichever thread the library calls back, and may answer. The time is the
/// clock's, read by the link before it does anything else with the message.
pub type Handler = Box<dyn Fn(Nanos, &[u8], &dyn Outlet) + Send + Sync>;

/// An open end of a middleware: connected and matched, or listening and subscribed.
pub trait Link: Outlet + Send {
    /// Facts about the link that READY tells.
    fn facts(&self) -> Facts;

    /// Lets messages come in, for up to `wait`. Libraries that call back from threads of their own
    /// have nothing to do here: the handler wakes the main thread when it matters.
    ///
    /// # Errors
    ///
    /// When the connection is lost.
    fn poll(&mut self, wait: Duration) -> Result<()> {
        thread::park_timeout(wait);
        Ok(())
    }

    /// True if messages come in only while [`Link::poll`] is called.
    fn is_polled(&self) -> bool {
        true
    }

    /// Waits up to `limit` until everything that was published has been written out, and acknowledged where the
    /// protocol acknowledges.
    ///
    /// # Errors
    ///
    /// When not all of it has left in time, or the connection is lost.
    fn flush(&mut self, limit: Duration) -> Result<()>;

    /// Leaves politely: what was flushed still reaches the other side.
    fn close(self: Box<Self>) {}
}

/// A [`Link`] that a middleware has opened.
pub type Opened = Box<dyn Link>;

/// One middleware. Its crate is all that knows it: `wirelap` learns from [`Family::about`].
pub trait Family: Sync {
    /// Describes the middleware: what it is, what it can do, and whether it can do it here.
    fn about(&self) -> About;

    /// Opens the end that `spec.role` needs. Returns when it is ready in the sense of READY. `handler` gets what
    /// arrives; a `pub` has none.
    ///
    /// # Errors
    ///
    /// When the end cannot be made ready, with what to do about it.
    fn open(&self, spec: &Spec, _handler: Option<Handler>, _control: &Control) -> Result<Opened> {
        bail!("{} has no {} of ours", spec.middleware, spec.role.name())
    }

    /// Plays `spec.role` with a program of its own, from READY to DONE; `None` if it has none, so
    /// that the drivers play it over [`Family::open`].
    ///
    /// # Errors
    ///
    /// When the program cannot be started, or fails.
    fn perform(&self, _spec: &Spec, _control: &Control) -> Result<Option<Done>> {
        Ok(None)
    }

    /// Runs a broker, prints its READY, and returns when told to stop.
    ///
    /// # Errors
    ///
    /// When the broker cannot be started, or ends by itself.
    fn serve(&self, spec: &Spec, _control: &Control) -> Result<()> {
        bail!("{} has no broker", spec.middleware)
    }

    /// Gets what it needs and this program does not bring along, where that takes more than a package.
    ///
    /// # Errors
    ///
    /// When it cannot be had, or nothing is needed.
    fn fetch(&self) -> Result<()> {
        bail!("{} needs nothing that could be fetched", self.about().name)
    }
}

/// The two topics of a role: pings go out on the topic and their replies come back on another, so that nobody
/// hears itself.
pub struct RoleTopics {
    /// Topic on which this role publishes, if it does.
    pub outgoing: Option<String>,
    /// Topic to which this role subscribes, if it does.
    pub incoming: Option<String>,
    /// True if the role subscribes to all topics below `incoming` instead.
    pub below: bool,
    /// True if the role shares its subscription with the other subscribers.
    pub shared: bool,
}

impl RoleTopics {
    /// The topics of `spec.role`.
    pub fn of(spec: &Spec) -> RoleTopics {
        let there = Some(spec.topic.clone());
        let back = Some(format!("{}/reply", spec.topic));
        let (outgoing, incoming) = match spec.role {
            Role::Broker | Role::Connect => (None, None),
            Role::Pub => (there, None),
            Role::Sub => (None, there),
            Role::Ping => (there, back),
            Role::Pong => (back, there),
        };
        let several = incoming.is_some() && spec.role == Role::Sub;
        let WorkloadTopology { topics, subscription, .. } = spec.topology;
        RoleTopics {
            outgoing,
            incoming,
            below: several && topics > 1 && subscription != SubscribedTopics::Own,
            shared: several && subscription == SubscribedTopics::Shared,
        }
    }
}

/// True if the role waits for its peer at `--endpoint`, in a middleware without a broker.
pub fn listens(role: Role) -> bool {
    matches!(role, Role::Broker | Role::Sub | Role::Pong)
}

/// The address of HOST:PORT; the first one, if the host has several.
///
/// # Errors
///
/// When the host has no address.
pub fn resolve(endpoint: &str) -> Result<SocketAddr> {
    match endpoint.to_socket_addrs().map(|mut found| found.next()) {
        Ok(Some(address)) => Ok(address),
        Ok(None) => bail!("--endpoint {endpoint}: the host has no address"),
        Err(error) => bail!("--endpoint {endpoint}: {error}"),
    }
}

/// An error about an address, in words that say what to do about it.
pub fn explain(error: &std::io::Error, address: SocketAddr) -> anyhow::Error {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        Kind::AddrInUse => anyhow::anyhow!("{address} is already in use by another program"),
        Kind::AddrNotAvailable => anyhow::anyhow!("{address} is not an address of this machine"),
        Kind::PermissionDenied => anyhow::anyhow!("{address} may not be used without privileges"),
        Kind::ConnectionRefused => anyhow::anyhow!("nobody listens on {address}"),
        _ => anyhow::anyhow!("{address}: {error}"),
    }
}
