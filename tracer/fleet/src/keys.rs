//! Keys of a fleet.
//!
//! ```text
//! wirelap/FLEET/hosts/HOST/alive/VERSION        token: an agent waits on the host
//! wirelap/FLEET/hosts/HOST/stream               what it observes, to all collectors
//! wirelap/FLEET/hosts/HOST/reply/COLLECTOR      what one collector alone has asked for
//! wirelap/FLEET/hosts/HOST/asked/COLLECTOR      questions of a collector
//! wirelap/FLEET/collectors/COLLECTOR/VERSION    token: a collector watches
//! wirelap/FLEET/carriers/ID/ADDRESS/ADDRESS     token: a connection that carries all this, which agents leave out
//! ```

use std::net::SocketAddr;
use wirelap_hosts::stream::STREAM_VERSION;

/// The longest name of a host or fleet.
const MAX_NAME: usize = 64;

/// The keys of one fleet.
#[derive(Clone, Debug)]
pub struct Keys {
    fleet: String,
}

impl Keys {
    pub fn new(fleet: &str) -> Keys {
        Keys { fleet: format!("wirelap/{fleet}") }
    }

    pub fn alive(&self, host: &str) -> String {
        format!("{}/hosts/{host}/alive/{STREAM_VERSION}", self.fleet)
    }

    pub fn every_alive(&self) -> String {
        format!("{}/hosts/*/alive/*", self.fleet)
    }

    pub fn stream(&self, host: &str) -> String {
        format!("{}/hosts/{host}/stream", self.fleet)
    }

    pub fn reply(&self, host: &str, collector: &str) -> String {
        format!("{}/hosts/{host}/reply/{collector}", self.fleet)
    }

    pub fn asked(&self, host: &str, collector: &str) -> String {
        format!("{}/hosts/{host}/asked/{collector}", self.fleet)
    }

    pub fn watching(&self, collector: &str) -> String {
        format!("{}/collectors/{collector}/{STREAM_VERSION}", self.fleet)
    }

    pub fn every_watching(&self) -> String {
        format!("{}/collectors/*/*", self.fleet)
    }

    pub fn carrier(&self, id: &str, (one, other): (SocketAddr, SocketAddr)) -> String {
        format!("{}/carriers/{id}/{one}/{other}", self.fleet)
    }

    pub fn every_carrier(&self) -> String {
        format!("{}/carriers/*/*/*", self.fleet)
    }
}

/// A key of this layout, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// An agent of a version of the protocol waits on a host.
    Alive { host: &'a str, version: &'a str },
    /// A host's agent sends to all collectors, or to one.
    Observed { host: &'a str },
    /// A collector asks.
    Asked { collector: &'a str },
    /// A collector of a version of the protocol watches.
    Watching { collector: &'a str, version: &'a str },
    /// A connection carries all this.
    Carrier(SocketAddr, SocketAddr),
}

/// Takes a key apart; `None` if a later version or somebody else has made it.
pub fn told(key: &str) -> Option<Told<'_>> {
    let parts: Vec<&str> = key.split('/').collect();
    Some(match *parts.get(2..)? {
        ["hosts", host, "alive", version] => Told::Alive { host, version },
        ["hosts", host, "stream"] | ["hosts", host, "reply", _] => Told::Observed { host },
        ["hosts", _, "asked", collector] => Told::Asked { collector },
        ["collectors", collector, version] => Told::Watching { collector, version },
        ["carriers", _, one, other] => Told::Carrier(one.parse().ok()?, other.parse().ok()?),
        _ => return None,
    })
}

/// A name that can stand in a key and in a line.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() || text.len() > MAX_NAME || !text.chars().all(is_part) {
        return Err(format!(
            "a name has letters, digits, `.`, `_` and `-`, {MAX_NAME} at most, and not `{text}`"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_what_it_was_made_of() {
        let keys = Keys::new("plant");
        let version = "2";
        let (one, other) = ("10.0.0.1:7".parse().unwrap(), "[::1]:8".parse().unwrap());
        for (key, wanted) in [
            (keys.alive("robot"), Told::Alive { host: "robot", version }),
            (keys.stream("robot"), Told::Observed { host: "robot" }),
            (keys.reply("robot", "c1"), Told::Observed { host: "robot" }),
            (keys.asked("robot", "c1"), Told::Asked { collector: "c1" }),
            (keys.watching("c1"), Told::Watching { collector: "c1", version }),
            (keys.carrier("c1", (one, other)), Told::Carrier(one, other)),
        ] {
            assert_eq!(told(&key), Some(wanted), "{key}");
            assert!(zenoh::key_expr::KeyExpr::try_from(key).is_ok());
        }
        for key in ["", "a/b", "wirelap/plant/later/x", "wirelap/plant/carriers/a/b/c"] {
            assert_eq!(told(key), None, "{key}");
        }
    }

    #[test]
    fn names_that_would_be_part_of_another_key_are_refused() {
        assert_eq!(name("robot-1.plant_b"), Ok("robot-1.plant_b".into()));
        for text in ["", "a/b", "*", "a b", "@a", "ö", &"x".repeat(65)] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
