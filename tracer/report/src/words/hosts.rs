//! Sentences for the user on the hosts that are observed by agents.

use wirelap_correlate::Snapshot;
use wirelap_events::human::{counted, time_ns};
use wirelap_events::{HostClock, HostState, HostStatus};

/// Notes on hosts, a sentence for each fact that the figures depend on.
pub fn host_notes(snapshot: &Snapshot) -> Vec<String> {
    snapshot.hosts.iter().flat_map(|host| notes(host, snapshot)).collect()
}

fn notes(host: &HostState, snapshot: &Snapshot) -> Vec<String> {
    let name = &host.name;
    let mut notes = Vec::new();
    match &host.status {
        HostStatus::Connecting => notes.push(format!("{name} is being connected.")),
        HostStatus::Connected | HostStatus::SameKernel { .. } => {}
        HostStatus::Behind(by) => notes.push(format!(
            "{name} is behind by {:.1} s: what it observes comes too late, the others do not wait for it, and its messages are seen in \
             part.",
            by.as_secs_f64()
        )),
        HostStatus::Lost { since, why } if host.events > 0 => notes.push(format!(
            "{name} is lost since {:.1} s: {why}. Messages are seen in part since then.",
            (snapshot.at - *since).as_secs_f64()
        )),
        HostStatus::Lost { why, .. } => {
            notes.push(format!("{name} is not observed: {why}."));
        }
    }
    if host.late > 0 {
        notes.push(format!(
            "{} of {name} came too late to be put in order with those of the other hosts, and were left out; they count as lost.",
            counted(host.late, "event")
        ));
    }
    if host.unreadable > 0 {
        notes.push(format!(
            "{} of {name} could not be read; they count as lost. Is the same version of wirelap installed there?",
            counted(host.unreadable, "record")
        ));
    }
    if let HostClock::Stepped(step) = host.clock {
        notes.push(format!(
            "The clock of {name} has {}: what it observed since is not joined with that of other hosts before its clock is known again.",
            step.words()
        ));
    }
    if let Some(step) = host.steps.last() {
        let count = match host.step_count {
            1 => String::new(),
            more => format!(" {more} times, the last time"),
        };
        notes.push(format!(
            "The clock of {name} has stepped{count}, {:.1} s ago: it {}. Nothing is joined across a step, and what was observed around one \
             is left out.",
            (snapshot.at - step.at).as_secs_f64(),
            step.words()
        ));
    }
    if host.clock == HostClock::Unknown && host.status == HostStatus::Connected {
        notes.push(format!(
            "The clock of {name} is not known yet, so its messages are not shown yet."
        ));
    }
    if let HostClock::Known { at_most, .. } = host.clock {
        notes.push(format!(
            "Times between {name} and this host are exact to {}: packets and pings do not show more.",
            time_ns(Some(at_most.0))
        ));
    }
    if !host.lacks.is_empty() {
        notes.push(format!("On {name}, not everything is observed: {}.", host.lacks.join("; ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Nanos;

    fn said(host: HostState) -> Vec<String> {
        let at = Nanos::from_millis(9_000);
        host_notes(&Snapshot { at, hosts: vec![host], ..Snapshot::default() })
    }

    #[test]
    fn a_host_that_is_well_has_the_error_of_its_clock_alone() {
        let own = HostState {
            clock: HostClock::Own,
            status: HostStatus::Connected,
            ..HostState::default()
        };
        assert_eq!(said(own), Vec::<String>::new());
        let clock = HostClock::Known {
            offset_ns: 1,
            drift_ppm: 0.0,
            drift_within_ppm: 1.0,
            within: Nanos(1),
            at_most: Nanos(50_000),
            samples: 9,
        };
        let name = "robot".to_owned();
        let well = HostState { name, clock, status: HostStatus::Connected, ..HostState::default() };
        let notes = said(well);
        assert!(
            notes.len() == 1 && notes[0].contains("robot and this host are exact to 50"),
            "{notes:?}"
        );
    }

    #[test]
    fn what_is_missing_of_a_host_is_said() {
        let status = HostStatus::Lost { since: Nanos::from_millis(4_000), why: "no route".into() };
        let name = "robot".to_owned();
        let lost =
            HostState { name, status, events: 7, late: 1, unreadable: 2, ..HostState::default() };
        let notes = said(lost.clone());
        assert!(notes[0].starts_with("robot is lost since 5.0 s: no route."), "{notes:?}");
        assert!(notes[1].starts_with("1 event of robot came too late"), "{notes:?}");
        assert!(notes[2].starts_with("2 records of robot could not be read"), "{notes:?}");
        let notes = said(HostState { events: 0, late: 0, unreadable: 0, ..lost });
        assert_eq!(notes, ["robot is not observed: no route."]);
    }
}
