//! The description of a middleware by its folder in `wirelap-workload`. `wirelap-workload list` prints the descriptions, and
//! `wirelap` knows nothing else about middlewares.

use crate::{LinkTransport, Role, SubscribedTopics, WorkloadTopology};
use serde::{Deserialize, Serialize};

/// The description of a middleware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The name on command lines, in tables and in JSON.
    pub name: String,
    /// Description of the middleware, in a few words.
    pub about: String,
    /// The largest payload of a message, in bytes.
    pub max_payload: usize,
    /// The roles that it supports. A middleware with `ping` and without `pong` is answered by something else, such as the kernel.
    pub roles: Vec<Role>,
    /// The transports that it runs on, the default first; empty if it uses neither TCP nor UDP.
    pub transports: Vec<LinkTransport>,
    /// The middleware's brokers, the default first; empty for peer to peer.
    pub brokers: Vec<KnownBroker>,
    /// Availability of the middleware's programs.
    pub available: Availability,
    /// The settings that `--set` accepts for it.
    pub settings: Vec<WorkloadSetting>,
    /// Kind of programs that make its messages.
    pub kind: WorkloadKind,
    /// True if it can send at a given rate.
    pub paced: bool,
    /// Parts that it can have several of.
    #[serde(default)]
    pub scaling: Scaling,
}

/// Parts that a middleware can have several of, beside one publisher and one subscriber on one topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for itself")]
pub struct Scaling {
    /// Several publishers.
    pub publishers: bool,
    /// Several subscribers.
    pub subscribers: bool,
    /// Several topics.
    pub topics: bool,
    /// Subscribers of all topics at once.
    pub wildcards: bool,
    /// Subscribers that share what they have subscribed to.
    pub shared: bool,
    /// Publishers in threads of their own that share a connection.
    pub handles: bool,
}

impl Scaling {
    /// Everything that clients of a broker usually have.
    pub const BROKERED: Scaling = Scaling {
        publishers: true,
        subscribers: true,
        topics: true,
        wildcards: true,
        shared: true,
        handles: true,
    };
}

/// Kind of programs that make the messages of a middleware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// wirelap's own workloads: their messages have a stamp and can be compared with the truth file.
    Stamped,
    /// Programs of the middleware's project, which wirelap only starts and traces.
    Foreign,
    /// Programs without messages that a trace could follow: they report their own figures.
    Untraced,
}

/// A broker that can stand between publisher and subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBroker {
    /// The name on command lines and in results.
    pub name: String,
    /// Availability of the broker's program.
    pub available: Availability,
    /// True if the broker listens on 127.0.0.1 alone, so that no other host can reach it.
    #[serde(default)]
    pub loopback_only: bool,
}

/// Availability of a program on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// The program is part of `wirelap-workload`.
    BuiltIn,
    /// The program is installed.
    Installed {
        /// The program's version; `None` if it does not report it.
        version: Option<String>,
    },
    /// The program is not installed.
    Missing {
        /// Commands or words that tell how to install the program.
        remedy: String,
    },
}

impl Availability {
    /// Tells how to install the program; `None` if it is installed.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Availability::Missing { remedy } => Some(remedy),
            Availability::BuiltIn | Availability::Installed { .. } => None,
        }
    }
}

/// A setting of a library or broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSetting {
    /// The name in the library, e.g. `linger.ms`.
    pub name: String,
    /// The value if it is not set.
    pub default: String,
    /// Effect of the setting, in a few words, with its unit or its possible values.
    pub about: String,
}

impl About {
    /// A built-in middleware with all roles and stamped messages, without brokers and settings.
    pub fn new(name: &str, about: &str, max_payload: usize, transports: &[LinkTransport]) -> About {
        About {
            name: name.into(),
            about: about.into(),
            max_payload,
            roles: vec![Role::Pub, Role::Sub, Role::Ping, Role::Pong],
            transports: transports.to_vec(),
            brokers: Vec::new(),
            available: Availability::BuiltIn,
            settings: Vec::new(),
            kind: WorkloadKind::Stamped,
            paced: true,
            scaling: Scaling::default(),
        }
    }

    /// Says what it can have several of.
    #[must_use]
    pub fn scaling(self, scaling: Scaling) -> About {
        About { scaling, ..self }
    }

    /// Checks that the middleware can have these clients.
    ///
    /// # Errors
    /// It cannot; the text is a message for the user.
    pub fn check_topology(&self, topology: WorkloadTopology) -> Result<(), String> {
        let WorkloadTopology { publishers, subscribers, topics, subscription, handles, .. } =
            topology;
        let Scaling { publishers: p, subscribers: s, topics: k, wildcards, shared, handles: h } =
            self.scaling;
        let wanted = [
            (publishers > 1 && !p, "several publishers"),
            (subscribers > 1 && !s, "several subscribers"),
            (topics > 1 && !k, "several topics"),
            (subscription == SubscribedTopics::Shared && !shared, "shared subscriptions"),
            (
                topics > 1 && subscription != SubscribedTopics::Own && !wildcards,
                "subscriptions to all topics",
            ),
            (handles.is_some() && !h, "publishers in threads of their own"),
        ];
        match wanted.iter().find(|(lacking, _)| *lacking) {
            Some((_, what)) => Err(format!("{} does not support {what}", self.name)),
            None => Ok(()),
        }
    }

    /// Adds a broker; the first one is the default.
    #[must_use]
    pub fn broker(mut self, name: &str, available: Availability) -> About {
        self.brokers.push(KnownBroker { name: name.into(), available, loopback_only: false });
        self
    }

    /// The broker that was added last listens on 127.0.0.1 alone.
    #[must_use]
    pub fn loopback_only(mut self) -> About {
        if let Some(broker) = self.brokers.last_mut() {
            broker.loopback_only = true;
        }
        self
    }

    /// Adds a setting.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a number or a text, as it stands in the call"
    )]
    pub fn setting(mut self, name: &str, default: impl ToString, about: &str) -> About {
        let default = default.to_string();
        self.settings.push(WorkloadSetting { name: name.into(), default, about: about.into() });
        self
    }

    /// True if the middleware supports a role.
    pub fn can(&self, role: Role) -> bool {
        match role {
            Role::Broker => !self.brokers.is_empty(),
            Role::Connect => !self.brokers.is_empty() && self.scaling.publishers,
            role => self.roles.contains(&role),
        }
    }

    /// The transport to use if `wanted` is asked for; its default if nothing is.
    ///
    /// # Errors
    /// The middleware has a choice of transports without the wanted one; the text is a message for the user.
    pub fn transport(
        &self,
        wanted: Option<LinkTransport>,
    ) -> Result<Option<LinkTransport>, String> {
        match wanted {
            None => Ok(self.transports.first().copied()),
            // A middleware without a choice ignores the option, which is for the others of the same run.
            Some(_) if self.transports.len() < 2 => Ok(self.transports.first().copied()),
            Some(wanted) if self.transports.contains(&wanted) => Ok(Some(wanted)),
            Some(wanted) => Err(format!("{} does not run on {wanted:?}", self.name)),
        }
    }
}
