//! One trial: a middleware, a payload size, a repetition.

use crate::choice::{self, Broker};
use crate::pacing::Pacing;
use crate::request::Workloads;
use std::sync::Arc;
use std::time::Duration;
use wirelap_contract::{About, LinkTransport, Role, Spec};
use wirelap_session::Sampling;

/// One middleware, one payload size, one repetition.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The middleware.
    pub about: Arc<About>,
    /// Its broker, if it has one.
    pub broker: Option<Broker>,
    /// Payload bytes of a message.
    pub payload: usize,
    /// 1 for the first.
    pub repetition: u32,
    /// When messages are sent.
    pub pacing: Pacing,
    /// Messages or round trips, if that ends it.
    pub messages: Option<u64>,
    /// The time to send for, if that ends it.
    pub duration: Option<Duration>,
    /// Messages before those that count.
    pub warmup: u64,
    /// The longest time for them.
    pub warmup_time: Duration,
    /// When events are taken.
    pub sampling: Sampling,
    /// The workloads write down what they did.
    pub truth: bool,
    /// What the workloads are told.
    pub workloads: Workloads,
    /// The DDS domain.
    pub domain: u32,
}

impl Trial {
    /// The middleware's name.
    pub fn name(&self) -> &str {
        &self.about.name
    }

    /// The roles of the sending and the receiving process.
    pub fn roles(&self) -> (Role, Role) {
        match self.pacing.sender() {
            Role::Ping => (Role::Ping, Role::Pong),
            _ => (Role::Pub, Role::Sub),
        }
    }

    /// What its messages travel on.
    pub fn transport(&self) -> Option<LinkTransport> {
        // That it runs on the one asked for was checked when it was planned.
        self.about.transport(self.workloads.transport).ok().flatten()
    }

    /// `mqtt (rumqttd) 64 B #1`.
    pub fn title(&self) -> String {
        let (name, payload, repetition) = (self.name(), self.payload, self.repetition);
        match &self.broker {
            Some(broker) => format!("{name} ({}) {payload} B #{repetition}", broker.name()),
            None => format!("{name} {payload} B #{repetition}"),
        }
    }

    /// The command line of one of its processes.
    pub fn spec(&self, role: Role, endpoint: &str) -> Spec {
        let mut spec = Spec::new(role, self.name());
        let told = &self.workloads;
        endpoint.clone_into(&mut spec.endpoint);
        if let Some(Broker::Own(name)) = &self.broker {
            spec.broker = Some(name.clone());
        }
        spec.set = choice::settings(&self.about, &told.set);
        spec.payload = self.payload;
        spec.messages = self.messages;
        spec.warmup = self.warmup;
        // Only the sender looks at the clock: the receiver takes what comes.
        if matches!(role, Role::Pub | Role::Ping) {
            spec.warmup_seconds = Some(self.warmup_time.as_secs_f64());
            spec.seconds = self.duration.map(|time| time.as_secs_f64());
            if let Pacing::Rate(rate) = self.pacing {
                spec.rate = Some(rate);
            }
        }
        spec.qos = told.qos;
        spec.nodelay = told.nodelay;
        spec.transport = self.transport();
        spec.reliability = told.reliability;
        spec.interface.clone_from(&told.interface);
        spec.domain = self.domain;
        spec.pin = pin(&told.pin, role);
        spec
    }
}

/// The CPU of a role in `sender, receiver, broker`; a single CPU is everybody's.
fn pin(cpus: &[usize], role: Role) -> Option<usize> {
    let place = match role {
        Role::Pub | Role::Ping => 0,
        Role::Sub | Role::Pong => 1,
        Role::Broker => 2,
    };
    match cpus {
        [only] => Some(*only),
        cpus => cpus.get(place).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_everybodys() {
        assert_eq!(pin(&[1], Role::Broker), Some(1));
        assert_eq!(pin(&[0, 1], Role::Sub), Some(1));
        assert_eq!(pin(&[0, 1], Role::Broker), None);
        assert_eq!(pin(&[], Role::Pub), None);
    }
}
