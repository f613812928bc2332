//! The broker left a connection unread while the thread that reads it waited for data of others: flow control, a limit, or something
//! slow behind it.
//!
//! The cause is found by the call in which that thread slept (`epoll_wait`, `poll`, `select`): a thread that watches the connection would have
//! been woken. Where servers answer one request after the other, they are meant to read nothing before.

use super::run_queue_contention;
use crate::clause::Clause;
use crate::definition::{Definition, Nature};
use wirelap_limits::kinds::BACKPRESSURE;

pub const DEFINITION: Definition = Definition {
    limits: Some(BACKPRESSURE),
    nature: Nature::ThreadWait,
    is_note: |case| case.slept_for_others() && run_queue_contention::is_behind(case),
    facts: |case| case.often_and([Clause::LeftUnread]),
    ..Definition::USUAL
};
