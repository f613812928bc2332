//! A role and its host, as the user names them.

use crate::hosts::Host;
use std::net::IpAddr;
use std::str::FromStr;

/// A role with the host that it is started on: `broker=hub`, or `broker=hub/10.0.0.9` with the address at which others reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePlace {
    /// Which processes are started there.
    pub role: Host,
    /// Name of the host, as `--host` or `--via` has it, or `here`.
    pub host: String,
    /// Address of the host for the others.
    pub address: Option<IpAddr>,
}

/// The role's name on the command line.
pub fn name(role: Host) -> &'static str {
    match role {
        Host::Sender => "publisher",
        Host::Receiver => "subscriber",
        Host::Broker => "broker",
    }
}

impl FromStr for RolePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<RolePlace, String> {
        let (role, place) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not ROLE=HOST, such as broker=hub"))?;
        let role = Host::ALL.into_iter().find(|one| name(*one) == role).ok_or_else(|| {
            format!("there is no role `{role}`: publisher, subscriber and broker can be placed")
        })?;
        // A command of --via may be a path.
        let with_address =
            place.rsplit_once('/').and_then(|(host, address)| Some((host, address.parse().ok()?)));
        let (host, address) = with_address.map_or((place, None), |(host, at)| (host, Some(at)));
        if host.is_empty() {
            return Err(format!("`{text}` names no host: {}=here is this one", name(role)));
        }
        Ok(RolePlace { role, host: host.to_owned(), address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_a_host_and_may_have_an_address() {
        let place: RolePlace = "broker=hub/10.0.0.9".parse().unwrap();
        let address = "10.0.0.9".parse().ok();
        assert_eq!(place, RolePlace { role: Host::Broker, host: "hub".into(), address });
        let path: RolePlace = "publisher=/bin/pi".parse().unwrap();
        assert_eq!((path.host.as_str(), path.address), ("/bin/pi", None));
    }

    #[test]
    fn what_is_no_place_is_said() {
        let why = |text: &str| text.parse::<RolePlace>().unwrap_err();
        assert!(why("broker").contains("is not ROLE=HOST"));
        assert!(why("sender=hub").starts_with("there is no role `sender`: publisher,"));
        assert!(why("broker=").contains("names no host"));
        assert!(why("broker=/10.0.0.9").contains("names no host"));
    }
}
