//! Why events were lost, in words.

use wirelap_events::human::exact;
use wirelap_events::{Count, EventLosses};

/// Why events were lost, as a clause.
pub fn lost_because(losses: EventLosses) -> String {
    let EventLosses { events, skipped, stated, fragmented, late } = losses;
    let causes = [
        ((Count(events) - skipped - stated - fragmented - late).0, "the ring buffer was full"),
        (skipped, "the kernel skipped runs of probes that ran already on the same CPU"),
        (stated, "the capturing program or its kernel dropped packets, as the file itself says"),
        (fragmented, "IP fragments of datagrams are missing or overlap"),
        (late, "they came too late from another host"),
    ];
    let some: Vec<_> = causes.into_iter().filter(|(count, _)| *count > 0).collect();
    match some.as_slice() {
        [] => "the ring buffer was full".into(),
        [(_, only)] => (*only).into(),
        several => {
            let counted = several.iter().map(|(count, why)| format!("{why} ({})", exact(*count)));
            counted.collect::<Vec<_>>().join(" or ")
        }
    }
}
