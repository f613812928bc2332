//! Words of `backpressure`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "connection left unread by the broker (backpressure)",
    short: "backpressure",
    means: "the broker left a connection unread while the thread that reads it waited for data of others: it does not watch this one, because something behind it is slower, or its flow control or rate limit says so; not where the protocol has servers answer one request after the other (Kafka): there it is what held up the request before, or not known",
    evidence: "the system call in which that thread slept (`epoll_wait`, `poll`, `select`); while it lasts, that the broker reads other connections",
    helps: "what is behind the broker: a slow receiver, its limits for a client",
    remedy: |_| "find what the broker waits for before it reads on: a slower receiver behind it, an earlier request of the same connection, its flow control or rate limit for this client",
    clause: |clause| {
        Some(match clause {
            Clause::LeftUnread => "the message was in its socket, and its thread waited for data of other connections (epoll_wait, poll, select): it did not watch this one".into(),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
