//! Messages between servers (docs.nats.io, Reference, "Cluster" and "Leafnode"; nats-server, server/route.go and
//! server/leafnode.go). A gateway's are those of a route.
//!
//! ```text
//! RMSG [account] subject [reply-to | "+" reply-to group… | "|" group…]         #total   on a route
//! LMSG           subject [the same]                                            #total   to or from a leaf node
//! HMSG as one of these                                                 #header #total
//! LMSG origin [account] subject [the same]                             #header #total   on a route, from a leaf node
//! ```
//!
//! A route of one account does not repeat its name.

use super::jetstream::has;
use super::line::{ControlLine, MessageLine, number};

/// Prefix of the subject of a reply between clusters (server/gateway.go, `gwReplyPrefix`).
const GATEWAY_REPLY: &[u8] = b"_GR_.";

/// Bytes of the names of the cluster and the server that follow, each six and a dot.
const GATEWAY_PLACES: usize = 14;

/// A subject without the cluster and the server before it, where it is of a reply that goes to another cluster; `None` if it has no more than these.
fn without_gateway(subject: &[u8]) -> Option<&[u8]> {
    match subject.strip_prefix(GATEWAY_REPLY) {
        Some(rest) => rest.get(GATEWAY_PLACES..),
        None => Some(subject),
    }
}

/// The kind of servers that a connection joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClusterLink {
    /// Servers of a cluster, or gateways between clusters.
    Route,
    /// A leaf node and its hub.
    Leaf,
}

/// Knowledge of a connection between servers.
#[derive(Debug, Default)]
pub(super) struct Servers {
    link: Option<ClusterLink>,
    /// A server has introduced itself as one.
    is_told: bool,
    /// The route is for one account.
    has_own_account: bool,
}

impl Servers {
    /// True if both ends are servers.
    pub fn are_both(&self) -> bool {
        self.link.is_some() || self.is_told
    }

    /// Takes in what an operation shows of the ends.
    pub fn note(&mut self, line: &ControlLine<'_>) {
        match line.verb.name {
            "RMSG" | "RS+" | "RS-" | "A+" | "A-" => self.link = Some(ClusterLink::Route),
            // A route passes on what leaf nodes have subscribed to.
            "LMSG" | "LS+" | "LS-" => self.link = self.link.or(Some(ClusterLink::Leaf)),
            // Clients do not know the system's accounts by name.
            "HMSG" if matches!(line.arguments().next(), Some(b"$G" | b"$SYS")) => {
                self.link = Some(ClusterLink::Route);
            }
            "CONNECT" => self.is_told |= has(line.args, b"\"cluster\":"),
            // A server may also announce that an account gets a route of its own.
            "INFO" => {
                self.has_own_account |= has(line.args, b"\"route_account\":\"")
                    && !has(line.args, b"\"route_acc_add_reqid\":");
            }
            _ => {}
        }
    }

    /// Reads the line of a message; `None` if it is not one.
    pub fn read<'a>(&self, line: &ControlLine<'a>) -> Option<MessageLine<'a>> {
        let has_header = match line.verb.name {
            "RMSG" => false,
            "HMSG" => true,
            "LMSG" => self.link == Some(ClusterLink::Route),
            _ => return None,
        };
        let mut words = line.arguments();
        let total = number(words.next_back()?)? as usize;
        let header = if has_header { number(words.next_back()?)? as usize } else { 0 };
        let mut subject = words.next()?;
        if self.link == Some(ClusterLink::Route) {
            if line.verb.name == "LMSG" {
                subject = words.next()?;
            }
            if self.names_account(subject) {
                subject = words.next()?;
            }
        }
        let subject = without_gateway(subject)?;
        let reply = match words.next() {
            None | Some(b"|") => None,
            Some(b"+") => Some(words.next()?),
            Some(reply) => words.next().is_none().then_some(Some(reply))?,
        };
        let reply = reply.map(|reply| without_gateway(reply).unwrap_or(reply));
        // What a consumer sends has the subject that it is sent to, and after its reply subject the one that it was published to.
        let mut message =
            MessageLine { subject, sid: None, reply, deliver_to: None, header, total };
        if let Some(ack) = reply.filter(|reply| reply.starts_with(b"$JS.ACK."))
            && let Some(at) = ack.iter().rposition(|&byte| byte == b'@')
        {
            let (ack, published) = ack.split_at(at);
            message.subject = published.get(1..)?;
            message.reply = Some(ack);
            message.deliver_to = Some(subject);
        }
        (header <= total).then_some(message)
    }

    /// True if the first word of a message on a route is an account. Unlike most subjects, accounts have no dots.
    fn names_account(&self, first: &[u8]) -> bool {
        !self.has_own_account && (self.is_told || !first.contains(&b'.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The subject, the reply subject and both sizes of a message.
    type Found = (String, Option<String>, usize, usize);

    /// Reads some lines, and returns the message that the last one carries.
    fn read(lines: &[&str]) -> Option<Found> {
        let mut servers = Servers::default();
        let mut last = None;
        for line in lines {
            let line = ControlLine::read(line.as_bytes()).unwrap();
            servers.note(&line);
            last = servers.read(&line);
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        last.map(|m| (text(m.subject), m.reply.map(text), m.header, m.total))
    }

    fn found(subject: &str, reply: Option<&str>, header: usize, total: usize) -> Found {
        (subject.into(), reply.map(Into::into), header, total)
    }

    #[test]
    fn routes() {
        assert_eq!(read(&["RMSG $G a.b 5\r\n"]), Some(found("a.b", None, 0, 5)));
        assert_eq!(read(&["RMSG $G a.b r.s 5\r\n"]), Some(found("a.b", Some("r.s"), 0, 5)));
        assert_eq!(read(&["RMSG $G a + r q1 q2 5\r\n"]), Some(found("a", Some("r"), 0, 5)));
        assert_eq!(read(&["RMSG $G a | q1 q2 q3 q4 q5 5\r\n"]), Some(found("a", None, 0, 5)));
        assert_eq!(read(&["HMSG $G a 12 17\r\n"]), Some(found("a", None, 12, 17)), "found late");
        assert_eq!(
            read(&["RS+ ACC a\r\n", "HMSG ACC a + r q 12 17\r\n"]),
            Some(found("a", Some("r"), 12, 17))
        );
        assert_eq!(
            read(&["RS+ ACC a\r\n", "LMSG origin ACC a 0 17\r\n"]),
            Some(found("a", None, 0, 17))
        );
        for wrong in [
            "RMSG $G 5\r\n",
            "RMSG 5\r\n",
            "RMSG $G a r s 5\r\n",
            "RMSG $G a x\r\n",
            "HMSG $G a 9 5\r\n",
        ] {
            assert_eq!(read(&[wrong]), None, "{wrong:?}");
        }
    }

    #[test]
    fn routes_of_one_account() {
        let own = "INFO {\"server_id\":\"N\",\"route_account\":\"ACC\"}\r\n";
        let connect = "CONNECT {\"name\":\"N\",\"cluster\":\"C\"}\r\n";
        assert_eq!(
            read(&[connect, own, "RS+ a\r\n", "RMSG a r 5\r\n"]),
            Some(found("a", Some("r"), 0, 5))
        );
        assert_eq!(read(&["RMSG a.b r 5\r\n"]), Some(found("a.b", Some("r"), 0, 5)), "found late");
        assert_eq!(
            read(&[connect, "RS+ my.acc a\r\n", "RMSG my.acc a 5\r\n"]),
            Some(found("a", None, 0, 5))
        );
        let announced = "INFO {\"route_account\":\"ACC\",\"route_acc_add_reqid\":\"1\"}\r\n";
        assert_eq!(
            read(&[connect, "RS+ G a\r\n", announced, "RMSG G a 5\r\n"]),
            Some(found("a", None, 0, 5))
        );
    }

    #[test]
    fn a_reply_to_another_cluster_has_its_own_subject() {
        let line = "RMSG $G _GR_.abcdef.ghijkl._INBOX.x.y 5\r\n";
        assert_eq!(read(&[line]), Some(found("_INBOX.x.y", None, 0, 5)));
        assert_eq!(read(&["RMSG $G _GR_.abc 5\r\n"]), None);
        let asks = "RMSG $G orders _GR_.abcdef.ghijkl._INBOX.x.y 5\r\n";
        assert_eq!(read(&[asks]), Some(found("orders", Some("_INBOX.x.y"), 0, 5)));
    }

    #[test]
    fn leaf_nodes() {
        assert_eq!(read(&["LMSG a 5\r\n"]), Some(found("a", None, 0, 5)));
        assert_eq!(read(&["LMSG a r 5\r\n"]), Some(found("a", Some("r"), 0, 5)));
        assert_eq!(read(&["LS+ a\r\n", "HMSG a | q 12 17\r\n"]), Some(found("a", None, 12, 17)));
    }

    #[test]
    fn what_a_consumer_sends_has_the_subject_that_it_was_published_to() {
        assert_eq!(
            read(&["RMSG $G _INBOX.x $JS.ACK.S.C.1.2.3.4.5@orders.new 5\r\n"]),
            Some(found("orders.new", Some("$JS.ACK.S.C.1.2.3.4.5"), 0, 5))
        );
        assert_eq!(read(&["RMSG $G a@b r@s 5\r\n"]), Some(found("a@b", Some("r@s"), 0, 5)));
    }

    #[test]
    fn who_is_a_server() {
        let both = |text: &str| {
            let mut servers = Servers::default();
            servers.note(&ControlLine::read(text.as_bytes()).unwrap());
            servers.are_both()
        };
        assert!(both("CONNECT {\"name\":\"N\",\"cluster\":\"C\"}\r\n"));
        assert!(both("LS+ a\r\n"));
        assert!(!both("CONNECT {\"name\":\"N\",\"lang\":\"go\"}\r\n"));
        assert!(!both("HMSG a 1 12 17\r\n"));
        assert!(!both("MSG $G 1 5\r\n"));
    }
}
