//! Words of `unexplained`.

use super::VerdictWords;
use wirelap_correlate::Clause;
use wirelap_events::Segment;

pub const WORDS: VerdictWords = VerdictWords {
    title: "unexplained",
    short: "unexplained",
    means: "much time is lost, and no rule explains it; not the distance, which is what the quickest packet of the connection took from host to host, and at most the shortest round trip that TCP has measured (JSON: the cause `distance`)",
    evidence: "the step in which it is lost",
    helps: "examine the slowest messages, and what else ran",
    in_segment: |segment| match segment {
        Segment::RunQueue => Some(("waiting for a CPU, and who had it was not seen", "CPU wait")),
        Segment::Wakeup => Some(("woken late, and what for was not seen", "late wakeup")),
        _ => None,
    },
    remedy: |circumstance| in_segment(circumstance.segment),
    clause: |clause| {
        Some(match clause {
            Clause::Unexplained { time, segment, leg, is_cpu } => format!(
                "{time} of it in {} on leg {}, and nothing that was seen says {}",
                segment.name(),
                leg.saturating_add(1),
                if *is_cpu { "who had the CPU" } else { "why" }
            ),
            Clause::NotAtWork(share) => format!(
                "its reader was not waiting in a receive call, and its process was on a CPU {:.1} % of the time: it was not at \
                 work, and what it waited for was not seen",
                share * 100.0
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

const fn in_segment(segment: Segment) -> &'static str {
    match segment {
        Segment::Wire => {
            "nothing between the two hosts is visible from here: look at the path (mtr, the switches' counters)"
        }
        Segment::ClientTx | Segment::ClientRx => {
            "it is in the client library or the application: profile it (perf, a flame graph)"
        }
        Segment::BrokerDwell => "it is in the broker: profile it (perf, its own metrics)",
        _ => "look at the worst messages, and at what else ran at that time",
    }
}
