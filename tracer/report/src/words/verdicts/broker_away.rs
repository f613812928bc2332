//! Words of `broker_away`.

use super::super::phrases::counted;
use super::VerdictWords;
use wirelap_correlate::{Clause, Named, ServerGone};
use wirelap_events::ProcessEnd;

pub const WORDS: VerdictWords = VerdictWords {
    title: "broker gone",
    short: "broker away",
    means: "the broker was gone, and with it the connection of the subscriber, which came back after it; also of what was published meanwhile, or by publishers that came back sooner, and of what another server of its cluster had from them when the subscriber came to that (Kafka). Or it died, perhaps for good, while clients were connected; a note where it was asked to end (SIGTERM, SIGINT, exit code 0) and nobody tries to come back, or where its clients were ended with it",
    evidence: "an attempt to connect was refused, or another process serves at the same address and the first one has no connection any more; the process that serves now. The end of its process: the time, the signal or exit code, whether memory had run out; the connections that ended with it, and whose; attempts to connect that were refused since",
    helps: "find why the broker ended (its log, its supervisor, out of memory); shorter pauses between a client's attempts to connect",
    remedy: |_| "find why the broker ended: its log, its supervisor, the kernel's log (out of memory); clients come back sooner with shorter pauses between their attempts to connect",
    clause: |clause| {
        Some(match clause {
            Clause::CameBackAfterBroker => "the broker had been gone (nobody listened at its address, or another process has served there since), or another one of its cluster whose work it does since, and with it the subscriber's connection; the subscriber came after that".into(),
            Clause::ServerGone(gone) => server_gone(gone),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

/// Sentence on how a server went, and who noticed.
fn server_gone(gone: &ServerGone) -> String {
    let name = |(pid, comm): &Named| format!("{} (pid {})", comm.as_str(), pid.0);
    let who = match gone.process {
        Some((pid, Some(comm))) => name(&(pid, comm)),
        Some((pid, None)) => format!("the server at {} (pid {})", gone.address, pid.0),
        None => format!("the server at {}", gone.address),
    };
    let clients: Vec<String> = gone.clients.iter().map(name).collect();
    let of = if clients.is_empty() { String::new() } else { format!(" ({})", clients.join(", ")) };
    let lost = counted(gone.connections, "connection", "connections");
    let since = match gone.again {
        Some((after, next)) => {
            format!("; {} serves at {} again, {after} after that", name(&next), gone.address)
        }
        None => format!("; nobody was seen to serve at {} since", gone.address),
    };
    let refused = match gone.refused {
        0 => String::new(),
        some => format!(
            ", and {} refused",
            counted(some, "attempt to connect was", "attempts to connect were")
        ),
    };
    format!(
        "{who} {} {} after the observation began, and {lost} of clients{of} ended with it{since}{refused}",
        ended(gone.end.as_ref()),
        gone.after,
    )
}

/// Words for the end of a process.
fn ended(end: Option<&ProcessEnd>) -> String {
    let Some(end) = end else { return "was gone (how its process ended was not seen)".into() };
    match end.signal() {
        Some(signal) if end.out_of_memory => format!(
            "was killed by the kernel (signal {signal}) because memory had run out, in its cgroup or on the machine,"
        ),
        Some(signal) => format!("was ended by signal {}", signal_name(signal)),
        None => format!("exited with code {}", end.code().unwrap_or_default()),
    }
}

/// The name of a signal, with its number (`include/uapi/asm-generic/signal.h`).
fn signal_name(signal: u32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return signal.to_string(),
    };
    format!("{signal} ({name})")
}
