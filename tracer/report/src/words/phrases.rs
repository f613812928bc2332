//! Parts of sentences: numbers of things, rates, threads, the words of a protocol.

use wirelap_correlate::Why;
use wirelap_events::{Comm, Holder, Pid, human};
use wirelap_protocols::{Protocol, Remedies, by_name};

/// A number of messages.
pub fn messages(count: u64) -> String {
    counted(count, "message", "messages")
}

/// A number of things, by the word for one and for many.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// So many bytes a second, as links are named.
pub fn payload(bytes: u64) -> String {
    human::traffic_rate(bytes as f64 * 8.0)
}

/// The name and process of a subscriber.
pub fn named(reader: Option<(Pid, Option<Comm>)>) -> String {
    let name = |(pid, comm): (Pid, Option<Comm>)| {
        let name = comm.as_ref().map_or("the subscriber", Comm::as_str);
        format!("{name} (pid {})", pid.0)
    };
    reader.map_or("the subscriber".to_owned(), name)
}

/// A thread of the same process or another's.
pub fn whom(holder: &Holder, is_own: bool) -> String {
    let name = holder.comm.as_str();
    let (pid, tid) = (holder.task.pid.number(), holder.task.tid.number());
    match (is_own, name) {
        (true, "") => format!("thread {tid} of its own process"),
        (true, _) => format!("thread {tid} ({name}) of its own process"),
        (false, _) => format!("the process {name} (pid {pid})"),
    }
}

/// The remedies of the protocol's own.
pub fn own_remedies(why: &Why) -> &'static Remedies {
    by_name(why.protocol).map_or(&Remedies::GENERAL, Protocol::remedies)
}
