//! The sentences about how far the figures can be trusted.

use crate::app::{App, ReplayState};
use crate::{columns, text, verdicts};
use wirelap_correlate::snapshot::{Snapshot, Trust};
use wirelap_correlate::{Reliability, TracingBudget};
use wirelap_events::{HostClock, HostState, HostStatus, Nanos, SampleStatus};
use wirelap_history::{KeptMessage, MessageFate};
use wirelap_report::words::{lost_because, snapshot_notes, unix_server};

/// The sign that the text of TLS is read from the memory of programs.
pub const READS_TLS: &str = " READS TLS TEXT ";

/// The fate of a message, in at most fifteen columns.
pub fn fate(message: &KeptMessage) -> &'static str {
    let is_warmup = message.delivery.stamp.is_some_and(|stamp| stamp.warmup);
    match message.fate {
        MessageFate::Delivered => "delivered",
        MessageFate::Aside if is_warmup => "warm-up",
        MessageFate::Aside => match SampleStatus::of_uncovered(&message.delivery) {
            SampleStatus::ReadNotSeen => "read not seen",
            SampleStatus::TimeBackwards => "time backwards",
            _ => "an end not seen",
        },
        MessageFate::Undelivered { at_end: false } => "undelivered",
        MessageFate::Undelivered { at_end: true } => "under way",
    }
}

/// True for the empty snapshot from before the probes were attached. Its trust has no meaning yet.
fn is_blank(snapshot: &Snapshot) -> bool {
    snapshot.at == Nanos::default()
}

/// The parts of the one-line summary, the most important first; `true` marks a warning.
pub fn trust_parts(snapshot: &Snapshot) -> Vec<(String, bool)> {
    if is_blank(snapshot) {
        return vec![("starting".into(), false)];
    }
    let trust = &snapshot.trust;
    let lost = trust.lost();
    let delivered: u64 = snapshot.groups.iter().map(|group| group.messages.delivered).sum();
    let others = snapshot.unknown.rows.len();
    let matched = if delivered == 0 && others > 0 && snapshot.groups.is_empty() {
        (format!("nothing decoded yet, {others} other protocols or servers"), true)
    } else if delivered == 0 {
        ("nothing delivered yet".into(), false)
    } else {
        let of = if lost > 0 { " of what was captured" } else { "" };
        let matched = format!("matched {}{of}", text::share(trust.coverage));
        (matched, lost > 0 || trust.coverage < 1.0)
    };
    let unseen = trust.unseen_sent.packets.saturating_add(trust.unseen_received.packets);
    let mut parts: Vec<(String, bool)> = Vec::new();
    if trust.packets_only {
        parts.push(("packets only".into(), false));
    }
    parts.extend(spoiled(snapshot));
    let muted = snapshot.groups.iter().filter(|group| group.is_muted()).count() as u64;
    if muted > 0 {
        parts.push((format!("{} muted", text::counted(muted, "row")), true));
    }
    parts.extend(hosts(snapshot));
    parts.push(matched);
    if unseen > 0 {
        parts.push((format!("{} packets not captured", text::exact(unseen)), true));
    }
    let traced = text::share(trust.window_share);
    let losses =
        (lost > 0 || unseen == 0).then(|| (format!("lost {} events", text::exact(lost)), lost > 0));
    if let Some(spent) = spent(trust) {
        // A budget is there to be watched, and nothing lost can wait.
        parts.extend(losses.clone().filter(|_| lost > 0));
        parts.push((format!("traced {traced}"), trust.window_share < 1.0));
        parts.push((format!("budget {spent}"), false));
        parts.extend(losses.filter(|_| lost == 0));
    } else {
        parts.extend(losses);
        parts.push((format!("traced {traced} of the time"), trust.window_share < 1.0));
    }
    parts.push((format!("{} events", text::number(trust.events as f64)), false));
    parts
}

/// Number of rows that are unusable, or reduced if none is unusable.
fn spoiled(snapshot: &Snapshot) -> Option<(String, bool)> {
    let of = |wanted| {
        let groups = snapshot.groups.iter();
        groups.filter(|group| columns::reliability(group, &snapshot.trust) == wanted).count()
    };
    let rows = |count: usize| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
    match (of(Reliability::Unusable), of(Reliability::Reduced)) {
        (0, 0) => None,
        (0, reduced) => Some((format!("{} reduced", rows(reduced)), true)),
        (unusable, _) => Some((format!("{} unusable", rows(unusable)), true)),
    }
}

/// The cost of wirelap itself: `tracer 3.2 % CPU, 48.0 MiB`.
pub fn tracer(trust: &Trust) -> String {
    format!(
        "tracer {} CPU, {}",
        text::cpu(trust.tracer.cpu_share),
        text::bytes(trust.tracer.rss_bytes)
    )
}

/// Why a part of the time is not traced, and what helps: the rest of a sentence, and further ones.
fn why_sampled(trust: &Trust) -> String {
    match trust.budget {
        Some(TracingBudget { share: Some(share), .. }) => format!(
            ", to spend no more than {} of a core and of the programs' time.",
            text::cpu(share)
        ),
        Some(_) => ", because more came than wirelap keeps up with, or than it may take from programs that need the CPUs. All the time is traced \
                    with --sample off; fewer sockets (--ports, --pid) or less --detail bring fewer events."
            .into(),
        None => ".".into(),
    }
}

/// The CPU budget that the user gave, and the CPU time of wirelap itself and of the probes: `1.0 %: 0.8 % own, 0.7 % probes`.
pub fn spent(trust: &Trust) -> Option<String> {
    let budget = trust.budget?;
    let probes = budget.probes.map_or_else(|| "unmeasured".into(), text::cpu);
    Some(format!("{}: {} own, {probes} probes", text::cpu(budget.share?), text::cpu(budget.own)))
}

/// One sentence for each reason to use the figures with care, the most serious first, then the notes.
pub fn warnings(snapshot: &Snapshot) -> Vec<String> {
    let trust = &snapshot.trust;
    let mut out = Vec::new();
    for group in &snapshot.groups {
        let open = group.why.open.iter().map(verdicts::overdue);
        out.extend(open.map(|open| format!("{}: {open}", columns::name(group))));
    }
    if trust.lost() > 0 {
        out.push(lost(trust));
    }
    out.extend(unseen(trust));
    let (delivered, uncovered) = snapshot
        .groups
        .iter()
        .fold((0, 0), |(d, u), group| (d + group.messages.delivered, u + group.messages.uncovered));
    if delivered > 0 && trust.coverage < 1.0 {
        // Lost events say for themselves why messages are not followed.
        let perhaps = if trust.lost() > 0 {
            ""
        } else {
            " They may have been under way when wirelap started, or one of their ends is on another host: a recording on each host joins both."
        };
        out.push(format!(
            "Matched {} of the deliveries; {} messages could not be followed from end to end and are not in the latencies.{perhaps}",
            text::share(trust.coverage),
            text::exact(uncovered)
        ));
    }
    if trust.window_share < 1.0 && !is_blank(snapshot) {
        out.push(format!(
            "Sampling: traced {} of the time{} Rates are estimated from it (~ by more than a tenth); counts and bytes cover it only.",
            text::share(trust.window_share),
            why_sampled(trust)
        ));
    }
    let mut bytes = |count: u64, what: &str| {
        if count > 0 {
            out.push(format!("{} {what}", text::bytes(count)));
        }
    };
    bytes(
        trust.uncaptured_bytes,
        "of payload were beyond the snap length (--snap) and not captured.",
    );
    bytes(
        trust.undecoded_bytes,
        "could not be decoded: a gap, or a connection joined in mid-stream.",
    );
    if trust.unread_packets > 0 {
        let packets = text::counted_as(trust.unread_packets, "packet", "packets");
        out.push(format!("{packets} of QUIC not read, or not in the capture."));
    }
    if trust.unread_messages > 0 {
        out.push(format!(
            "{} messages are in batches that could not be decoded, and are not counted.",
            text::exact(trust.unread_messages)
        ));
    }
    if trust.evicted > 0 {
        out.push(format!(
            "{} flows or messages were evicted to limit the memory used.",
            text::exact(trust.evicted)
        ));
    }
    out.extend(snapshot_notes(snapshot).iter().map(|note| text::clean(note)));
    out
}

/// As [`warnings`], after what the program around the screen knows beside the snapshots.
pub fn all_warnings(app: &App) -> Vec<String> {
    let notes = app.notes().iter().map(|note| text::clean(note));
    notes.chain(warnings(app.snapshot())).collect()
}

/// The sentence about packets that no probe captured; `None` if there are none.
fn unseen(trust: &Trust) -> Option<String> {
    let (sent, received) = (trust.unseen_sent, trust.unseen_received);
    (sent.packets > 0 || received.packets > 0).then(|| {
        format!(
            "At least {} packets were not captured when sent ({}) and {} when received ({}), by the sockets' sequence numbers; \
             messages not captured when sent are not counted.",
            text::exact(sent.packets),
            text::bytes(sent.bytes),
            text::exact(received.packets),
            text::bytes(received.bytes)
        )
    })
}

fn lost(trust: &Trust) -> String {
    let probes: Vec<String> = trust
        .events_lost
        .iter()
        .filter(|loss| loss.count > 0)
        .map(|loss| format!("{} {}", loss.probe.name(), text::exact(loss.count)))
        .collect();
    if trust.losses().are_all_stated() {
        return format!(
            "{} packets are missing in the file, as it says itself; the figures do not include them.",
            text::exact(trust.lost())
        );
    }
    if trust.losses().are_all_fragmented() {
        return format!(
            "{}: {}; the figures do not include them. A capture filter by address helps: only the first fragment has ports.",
            text::exact(trust.lost()),
            "datagrams are not whole in the capture, because IP fragments are missing or overlap"
        );
    }
    if trust.losses().are_all_late() {
        return format!(
            "{} events came too late from another host (9); the figures do not include them.",
            text::exact(trust.lost())
        );
    }
    if trust.packets_only {
        return format!(
            "Lost {} packets because the ring buffer was full; the figures do not include them. A larger --ring-size loses fewer, and so do \
             fewer packets (--ports, --device).",
            text::exact(trust.lost())
        );
    }
    let remedy = if trust.losses().are_all_skipped() {
        "No option of wirelap prevents that."
    } else {
        "A larger --ring-size loses fewer, and so do fewer sockets (--ports, --pid)."
    };
    format!(
        "Lost {} events because {} ({}); the figures do not include them. {remedy}",
        text::exact(trust.lost()),
        lost_because(trust.losses()),
        probes.join(", ")
    )
}

/// The sentences for the time in which no middleware has been found yet: what is known, and what to do.
pub fn nothing_yet(snapshot: &Snapshot) -> Vec<String> {
    if is_blank(snapshot) {
        return vec!["Attaching to the kernel …".into()];
    }
    let events = snapshot.trust.events;
    let seen = if snapshot.trust.packets_only && events > 0 {
        format!(
            "Packets are captured ({} so far), but no message of a known protocol was among them.",
            text::exact(events)
        )
    } else if snapshot.trust.packets_only {
        "No packet was captured: nothing sends, or --ports and --device exclude all traffic.".into()
    } else if events == 0 {
        "No event has come from the kernel: nothing sends, or the filters exclude all traffic."
            .into()
    } else {
        format!(
            "The probes work ({} events so far), but no message of a known protocol was among them.",
            text::exact(events)
        )
    };
    let unix = snapshot.unix_servers.iter().map(|server| text::clean(&unix_server(server)));
    let sentences = ["No middleware traffic seen yet.".into(), seen].into_iter().chain(unix);
    sentences.chain([
        "Start a publisher and a subscriber on this host, or let wirelap start its own: sudo wirelap live --on tcp,udp,mqtt,zenoh-p2p,dds".into(),
        "If the protocol of a port is not recognised, name it: --decode\u{a0}PORT=PROTOCOL.".into(),
        "Messages through shared memory use no socket and cannot be traced.".into(),
    ])
    .collect()
}

/// The sentences for a filter that no row matches.
pub fn nothing_matches(filter: &str, hidden: usize) -> Vec<String> {
    let rows = text::counted(hidden as u64, "row");
    vec![
        format!("No row matches “{filter}”."),
        format!("The filter hides {rows}. It looks for the text in names, processes and verdicts."),
        "Esc in the overview shows all rows; / changes the filter.".into(),
    ]
}

/// As [`nothing_yet`], with the key that starts workloads.
pub fn nothing_yet_on_screen(snapshot: &Snapshot) -> Vec<String> {
    const START: &str =
        "Start a publisher and a subscriber on this host, or press x to let wirelap start its own.";
    let mut sentences = nothing_yet(snapshot);
    if let Some(start) = sentences.iter_mut().find(|one| one.starts_with("Start a publisher")) {
        START.clone_into(start);
    }
    sentences
}

/// The sentences for a replay in which no middleware has been found.
pub fn nothing_read(replay: &ReplayState) -> Vec<String> {
    if replay.reading.is_some() {
        return vec!["Reading …".into(), "No message has been found so far.".into()];
    }
    if replay.at < replay.length {
        return vec![
            "No message up to here.".into(),
            "space plays, ] moves forward, } goes to the end.".into(),
        ];
    }
    vec![
        "No message was found in the files.".into(),
        "If the protocol of a port is not recognised, name it: --decode\u{a0}PORT=PROTOCOL.".into(),
        "A recording has messages only if it was made with --payload; `wirelap analyze` shows the results that a recording without it keeps."
            .into(),
    ]
}

/// State of the hosts that are observed by agents, and whether one of them is not well; nothing without any.
fn hosts(snapshot: &Snapshot) -> Option<(String, bool)> {
    let hosts = &snapshot.hosts;
    let unwell = |host: &&HostState| !host.is_well();
    let count = text::counted(hosts.len() as u64, "host");
    match hosts.iter().find(unwell) {
        Some(one) => {
            let more = hosts.iter().filter(unwell).count().saturating_sub(1);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let what = match &one.status {
                HostStatus::Lost { .. } => "lost",
                HostStatus::Connecting => "being connected",
                HostStatus::Behind(_) | HostStatus::Connected | HostStatus::SameKernel { .. } => {
                    "behind"
                }
            };
            Some((format!("{} {what}{more} (9)", one.name), true))
        }
        None if hosts.is_empty() => None,
        None => {
            let error = |host: &HostState| match host.clock {
                HostClock::Known { at_most, .. } => Some(at_most),
                HostClock::Unknown | HostClock::Own | HostClock::Stepped(_) => None,
            };
            let within = hosts.iter().filter_map(error).max();
            let within = within.map(|within| format!(" ± {}", text::unbroken(&text::time(within))));
            Some((format!("{count}{}", within.unwrap_or_default()), false))
        }
    }
}

#[cfg(test)]
mod tests;
