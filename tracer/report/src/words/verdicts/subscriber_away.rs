//! Words of `subscriber_away`.

use super::super::phrases::counted;
use super::VerdictWords;
use wirelap_correlate::{Clause, NameUser, SharedName};
use wirelap_events::Comm;

/// The remedy where several clients use one name at the same time.
pub const OWN_NAMES: &str = "give each client an identifier of its own; a program that is started twice, or in several copies, needs one for each";

pub const WORDS: VerdictWords = VerdictWords {
    title: "subscriber not connected or not subscribed",
    short: "subscriber away",
    means: "the subscriber connected, or subscribed, only after the broker had read the message: a persistent session, a durable consumer, a consumer that had cancelled. Or clients use one identifier at the same time (MQTT), and the broker closes the older connection each time; a note where none takes it back",
    evidence: "the subscriber's process; the time until it had connected and subscribed. The identifier and the processes (or hosts) that have it: the broker closes a connection that its client had not closed, once another client has connected with the identifier",
    helps: "find why it was away; message expiry where late messages are of no use; an identifier of its own for each client",
    title_of: |verdict| {
        let is_shared = |clause: &Clause| matches!(clause, Clause::SharedName(_));
        let is_alone = !verdict.evidence.is_empty() && verdict.evidence.iter().all(is_shared);
        is_alone.then_some("subscribers that use one client identifier")
    },
    remedy: |_| "the broker keeps messages for a subscriber that is away: find why it was, or let messages expire that are of no use later",
    clause: |clause| {
        Some(match clause {
            Clause::SubscribedLate => "the subscriber connected, or subscribed, only after the broker had the message, which the broker kept until then".into(),
            Clause::SharedName(shared) => shared_name(shared),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// Sentence on clients that use one name at the same time, without a full stop.
pub fn shared_name(shared: &SharedName) -> String {
    let SharedName { name, clients, times, taken_back, first, last, .. } = shared;
    let who = match &clients[..] {
        [one] => format!("{} uses the client identifier {name} on two connections", user(one)),
        all => {
            let all: Vec<String> = all.iter().map(user).collect();
            format!("{} use the client identifier {name}", all.join(" and "))
        }
    };
    let back = match (taken_back, &clients[..]) {
        (0, [NameUser::Host(_)]) => {
            "; it may have come back before the broker noticed that its connection was gone".into()
        }
        (0, _) => String::new(),
        (some, _) => format!(
            ", and {} one that had lost it so took it back",
            counted(*some, "time", "times")
        ),
    };
    format!(
        "{who} at the same time: {} the broker closed the older connection because the newer one had connected (first after {first}, last after {last}){back}",
        counted(*times, "time", "times")
    )
}

/// A client, by its process or host.
fn user(user: &NameUser) -> String {
    match user {
        NameUser::Process(pid, comm) => {
            format!("{} (pid {})", comm.as_ref().map_or("a process", Comm::as_str), pid.0)
        }
        NameUser::Host(address) => format!("a client at {address}"),
    }
}
