//! A trial: one middleware, one payload size, one rate, one repetition.

use crate::ab::Variant;
use crate::broker::Broker;
use crate::choice;
use crate::hosts::HOST_INTERFACE;
use crate::pacing::TrialPacing;
use crate::request::WorkloadOptions;
use std::sync::Arc;
use std::time::Duration;
use wirelap_contract::{About, LinkTransport, Role, Spec};
use wirelap_session::Sampling;

/// A measurement of one middleware with one payload size, in one of the repetitions.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The middleware.
    pub about: Arc<About>,
    /// The middleware's broker, if it has one.
    pub broker: Option<Broker>,
    /// The process of a broker that was running before; `None` if it is not on this machine.
    pub running_broker: Option<u32>,
    /// The variant under comparison, if any.
    pub variant: Option<Variant>,
    /// The payload bytes of each message.
    pub payload: usize,
    /// The number of the repetition, 1 for the first.
    pub repetition: u32,
    /// Times at which messages are sent: the pacing.
    pub pacing: TrialPacing,
    /// True if the run has trials at other rates, so that the title needs this one's.
    pub several_rates: bool,
    /// The number of messages or round trips that ends the trial.
    pub messages: Option<u64>,
    /// The time of sending that ends the trial.
    pub duration: Option<Duration>,
    /// The number of messages of the warm-up.
    pub warmup: u64,
    /// The longest time of the warm-up.
    pub warmup_time: Duration,
    /// Time for which the processes are measured connected and idle, before the first message.
    pub idle: Duration,
    /// Windows in which the probes report events.
    pub sampling: Sampling,
    /// True if the workloads write truth files.
    pub truth: bool,
    /// Options of the workloads.
    pub workloads: WorkloadOptions,
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
            _ if self.connects() => (Role::Connect, Role::Connect),
            Role::Ping => (Role::Ping, Role::Pong),
            _ => (Role::Pub, Role::Sub),
        }
    }

    /// True if the trial opens connections and sends no messages.
    pub fn connects(&self) -> bool {
        self.workloads.topology.connections > 0
    }

    /// Time that it takes to open all connections at the wanted rate; zero without a rate.
    pub fn opening_time(&self) -> Duration {
        let connections = f64::from(self.workloads.topology.connections);
        match self.pacing {
            TrialPacing::Rate(rate) => {
                Duration::try_from_secs_f64(connections / rate).unwrap_or_default()
            }
            TrialPacing::PingPong | TrialPacing::BackToBack => Duration::ZERO,
        }
    }

    /// The transport of the messages; `None` if it is neither TCP nor UDP.
    pub fn transport(&self) -> Option<LinkTransport> {
        // The plan has checked that the middleware supports the wanted transport.
        self.about.transport(self.workloads.transport).ok().flatten()
    }

    /// The name of the trial: `mqtt (rumqttd) 64 B #1`, or `mqtt A (rumqttd) 64 B 100 msg/s #1`.
    pub fn title(&self) -> String {
        let (subject, payload, repetition) = (self.subject(), self.payload, self.repetition);
        let rate = match self.pacing {
            TrialPacing::Rate(rate) if self.several_rates => format!(" {rate} msg/s"),
            _ => String::new(),
        };
        format!("{subject} {payload} B{rate} #{repetition}")
    }

    /// Name of the trial's subject: `mqtt (rumqttd)`, or `mqtt A (rumqttd)`.
    pub fn subject(&self) -> String {
        let mut subject = self.name().to_owned();
        if let Some(variant) = self.variant {
            subject = format!("{subject} {variant}");
        }
        if let Some(broker) = &self.broker {
            subject = format!("{subject} ({})", broker.name());
        }
        subject
    }

    /// The command line of the process with a role.
    pub fn spec(&self, role: Role, endpoint: &str) -> Spec {
        let mut spec = Spec::new(role, self.name());
        let options = &self.workloads;
        endpoint.clone_into(&mut spec.endpoint);
        if let Some(Broker::Own(name)) = &self.broker {
            spec.broker = Some(name.clone());
        }
        spec.set = choice::settings(&self.about, &options.set);
        spec.payload = self.payload;
        spec.topology = options.topology;
        spec.messages = match role {
            Role::Sub => self.messages.map(|messages| options.topology.deliveries(messages)),
            _ => self.messages,
        };
        spec.warmup = self.warmup;
        // The time of sending is for the sender alone: the receiver takes whatever arrives.
        if matches!(role, Role::Pub | Role::Ping | Role::Connect) {
            spec.warmup_seconds = Some(self.warmup_time.as_secs_f64());
            spec.seconds = self.duration.map(|time| time.as_secs_f64());
            if let TrialPacing::Rate(rate) = self.pacing {
                spec.rate = Some(rate);
            }
        }
        spec.qos = options.qos;
        spec.nodelay = options.nodelay;
        spec.transport = self.transport();
        spec.reliability = options.reliability;
        match options.links {
            Some(_) => HOST_INTERFACE.clone_into(&mut spec.interface),
            None => spec.interface.clone_from(&options.interface),
        }
        spec.domain = self.domain;
        spec.pin = pin(&options.pin, role);
        spec
    }
}

/// The CPU of a role in the list `sender, receiver, broker`; a single CPU is for all roles.
fn pin(cpus: &[usize], role: Role) -> Option<usize> {
    let place = match role {
        Role::Pub | Role::Ping | Role::Connect => 0,
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
    fn a_single_cpu_is_for_all_roles() {
        assert_eq!(pin(&[1], Role::Broker), Some(1));
        assert_eq!(pin(&[0, 1], Role::Sub), Some(1));
        assert_eq!(pin(&[0, 1], Role::Broker), None);
        assert_eq!(pin(&[], Role::Pub), None);
    }
}
