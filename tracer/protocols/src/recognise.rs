//! Chooses the protocol of a flow by its content, with the ports as a hint.

use crate::{Protocol, Recognition, registry};
use wirelap_events::Transport;

/// After this many bytes, a protocol that still needs more is not waited for.
const ENOUGH_BYTES: usize = 1024;

/// Protocol of a flow, as far as its bytes show it.
#[derive(Clone, Copy)]
pub enum ProtocolChoice {
    /// The flow has this protocol.
    Protocol(&'static dyn Protocol),
    /// The bytes fit a known protocol without proving it; later bytes decide.
    Possible,
    /// Choose again with more bytes (TCP) or with the next datagram (UDP).
    NeedMore,
    /// The bytes are of no known protocol.
    Unknown,
}

/// Knowledge of a flow's protocol apart from its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// The ports of both ends.
    pub ports: [u16; 2],
    /// The name of the protocol of another conversation with the same server.
    pub known: Option<&'static str>,
}

impl Hints {
    /// True if the ports or the server hint at this protocol.
    pub fn names(&self, transport: Transport, protocol: &dyn Protocol) -> bool {
        self.known == Some(protocol.name())
            || protocol.ports(transport).iter().any(|port| self.ports.contains(port))
    }
}

impl From<[u16; 2]> for Hints {
    fn from(ports: [u16; 2]) -> Hints {
        Hints { ports, known: None }
    }
}

/// Chooses by `head`, which is a datagram or the first captured bytes of one direction of a flow: with `at_start` the
/// flow's first bytes, otherwise bytes from a packet boundary.
///
/// Bytes that only one protocol can send decide, whatever the hints are. If several protocols can send them, a well-known
/// port or the server's known protocol decides among these; without such a hint the result is `Possible`.
pub fn choose(
    transport: Transport,
    head: &[u8],
    at_start: bool,
    hints: impl Into<Hints>,
) -> ProtocolChoice {
    choose_from(registry(), transport, head, at_start, hints.into())
}

fn choose_from(
    protocols: &[&'static dyn Protocol],
    transport: Transport,
    head: &[u8],
    at_start: bool,
    hints: Hints,
) -> ProtocolChoice {
    let mut best: Option<(Recognition, bool, &'static dyn Protocol)> = None;
    let (mut need_more, mut possible) = (false, false);
    for &protocol in protocols.iter().filter(|p| p.transports().contains(&transport)) {
        let found = protocol.recognise(transport, head, at_start);
        let hinted = hints.names(transport, protocol);
        match found {
            Recognition::No => continue,
            Recognition::NeedMore => {
                need_more |= head.len() < ENOUGH_BYTES;
                continue;
            }
            Recognition::Maybe if !hinted => {
                possible = true;
                continue;
            }
            Recognition::Maybe | Recognition::Yes => {}
        }
        if best.is_none_or(|(other, hint, _)| (found, hinted) > (other, hint)) {
            best = Some((found, hinted, protocol));
        }
    }
    match best {
        Some((Recognition::Yes, _, protocol)) => ProtocolChoice::Protocol(protocol),
        _ if need_more => ProtocolChoice::NeedMore,
        Some((_, _, protocol)) => ProtocolChoice::Protocol(protocol),
        None if possible => ProtocolChoice::Possible,
        None => ProtocolChoice::Unknown,
    }
}

impl std::fmt::Debug for ProtocolChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProtocolChoice::Protocol(protocol) => write!(f, "Protocol({})", protocol.name()),
            ProtocolChoice::Possible => f.write_str("Possible"),
            ProtocolChoice::NeedMore => f.write_str("NeedMore"),
            ProtocolChoice::Unknown => f.write_str("Unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connection;

    struct Says(&'static str, Recognition, &'static [u16]);

    impl Protocol for Says {
        fn name(&self) -> &'static str {
            self.0
        }
        fn transports(&self) -> &'static [Transport] {
            &[Transport::Tcp]
        }
        fn ports(&self, _: Transport) -> &'static [u16] {
            self.2
        }
        fn recognise(&self, _: Transport, _: &[u8], _: bool) -> Recognition {
            self.1
        }
        fn connection(&self, _: Transport) -> Box<dyn Connection> {
            unreachable!("recognition opens no connection")
        }
    }

    static YES: Says = Says("yes", Recognition::Yes, &[7]);
    static OTHER_YES: Says = Says("other", Recognition::Yes, &[8]);
    static MAYBE: Says = Says("maybe", Recognition::Maybe, &[9]);
    static MORE: Says = Says("more", Recognition::NeedMore, &[]);

    fn chosen(protocols: &[&'static dyn Protocol], head: &[u8], port: u16) -> String {
        let hints = [40_000, port].into();
        format!("{:?}", choose_from(protocols, Transport::Tcp, head, true, hints))
    }

    #[test]
    fn content_beats_ports() {
        assert_eq!(chosen(&[&MAYBE, &MORE, &YES], b"", 9), "Protocol(yes)");
    }

    #[test]
    fn ports_decide_between_equals() {
        assert_eq!(chosen(&[&YES, &OTHER_YES], b"", 8), "Protocol(other)");
        assert_eq!(chosen(&[&YES, &OTHER_YES], b"", 1), "Protocol(yes)");
        assert_eq!(chosen(&[&MAYBE], b"", 9), "Protocol(maybe)");
        assert_eq!(chosen(&[&MAYBE], b"", 1), "Possible");
    }

    #[test]
    fn the_servers_protocol_is_only_a_hint() {
        let hints = Hints { ports: [40_000, 1], known: Some("maybe") };
        let chosen = |protocols: &[&'static dyn Protocol]| {
            format!("{:?}", choose_from(protocols, Transport::Tcp, b"", false, hints))
        };
        assert_eq!(chosen(&[&MAYBE]), "Protocol(maybe)");
        assert_eq!(chosen(&[&MAYBE, &YES]), "Protocol(yes)");
        assert_eq!(chosen(&[&OTHER_YES]), "Protocol(other)");
    }

    #[test]
    fn waiting_for_more_has_an_end() {
        assert_eq!(chosen(&[&MAYBE, &MORE], b"", 9), "NeedMore");
        assert_eq!(chosen(&[&MAYBE, &MORE], &[0; ENOUGH_BYTES], 9), "Protocol(maybe)");
    }

    #[test]
    fn other_transports_are_not_asked() {
        let choice = choose_from(&[&YES], Transport::Udp, b"", true, [7, 7].into());
        assert!(matches!(choice, ProtocolChoice::Unknown));
    }
}
