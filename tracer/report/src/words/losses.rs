//! Why events were lost, in words.

use wirelap_events::EventLosses;
use wirelap_events::human::exact;

/// Why events were lost, as a clause.
pub fn lost_because(losses: EventLosses) -> String {
    let EventLosses { events, skipped, stated, fragmented } = losses;
    let known = skipped.saturating_add(stated).saturating_add(fragmented);
    let causes = [
        (events.saturating_sub(known), "the ring buffer was full"),
        (skipped, "the kernel skipped runs of probes that ran already on the same CPU"),
        (stated, "the capturing program or its kernel dropped packets, as the file itself says"),
        (fragmented, "IP fragments of datagrams are missing or overlap"),
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
