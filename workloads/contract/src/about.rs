//! What a middleware is, as its folder in `wirelap-workload` describes it. `wirelap-workload list`
//! prints the descriptions, and that is all that `wirelap` knows about any of them.

use crate::{LinkTransport, Role};
use serde::{Deserialize, Serialize};

/// A middleware that can be run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its name on command lines, in tables and in JSON.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// The largest payload of a message, in bytes.
    pub max_payload: usize,
    /// What it can do. One that has `ping` and no `pong` is answered by somebody else.
    pub roles: Vec<Role>,
    /// What is under it, the default first; empty if neither TCP nor UDP is.
    pub transports: Vec<LinkTransport>,
    /// Its brokers, the default first; none for peer to peer.
    pub brokers: Vec<Broker>,
    /// Whether its own programs can be run here.
    pub available: Availability,
    /// What `--set` understands beside the options that all share.
    pub settings: Vec<Setting>,
    /// Who makes its messages.
    pub kind: Kind,
    /// Whether it can send at a given rate.
    pub paced: bool,
}

/// Who makes a middleware's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Our workloads: messages carry a stamp and can be compared with what the workloads wrote down.
    Stamped,
    /// Programs of its own, which wirelap only starts and watches.
    Foreign,
    /// It has no messages that a trace could follow: its figures are its own.
    Untraced,
}

/// A broker that can stand between publisher and subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// Its name on command lines and in results.
    pub name: String,
    /// Whether it can be run here.
    pub available: Availability,
}

/// Whether something can be run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// It is part of `wirelap-workload`.
    BuiltIn,
    /// It is installed.
    Installed {
        /// Its version, if it tells.
        version: Option<String>,
    },
    /// It is not there.
    Missing {
        /// How to get it.
        remedy: String,
    },
}

impl Availability {
    /// How to get it, if it is missing.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Availability::Missing { remedy } => Some(remedy),
            Availability::BuiltIn | Availability::Installed { .. } => None,
        }
    }
}

/// A setting of a library or broker, by its own name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name there, e.g. `linger.ms`.
    pub name: String,
    /// What it takes when it is not set.
    pub default: String,
    /// What it does, in a few words, with its unit or its values.
    pub about: String,
}

impl About {
    /// One whose messages are our own, built in, without brokers and settings, with all roles.
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
            kind: Kind::Stamped,
            paced: true,
        }
    }

    /// Adds a broker; the first one is the default.
    #[must_use]
    pub fn broker(mut self, name: &str, available: Availability) -> About {
        self.brokers.push(Broker { name: name.into(), available });
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
        self.settings.push(Setting { name: name.into(), default, about: about.into() });
        self
    }

    /// Whether it has the role.
    pub fn can(&self, role: Role) -> bool {
        match role {
            Role::Broker => !self.brokers.is_empty(),
            role => self.roles.contains(&role),
        }
    }

    /// The transport that it takes when `told` is asked for.
    ///
    /// # Errors
    /// It does not run on that; the sentence says on what it does.
    pub fn transport(&self, told: Option<LinkTransport>) -> Result<Option<LinkTransport>, String> {
        match told {
            None => Ok(self.transports.first().copied()),
            // With a single one there is nothing to choose: the option is for others of the same run.
            Some(_) if self.transports.len() < 2 => Ok(self.transports.first().copied()),
            Some(told) if self.transports.contains(&told) => Ok(Some(told)),
            Some(told) => Err(format!("{} does not run on {told:?}", self.name)),
        }
    }
}
