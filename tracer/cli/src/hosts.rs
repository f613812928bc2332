//! Two captures: parts of one, or what two hosts saw of the same connections.

use crate::failure::Failure;
use crate::replay::shown;
use std::path::Path;
use wirelap_events::Body;
use wirelap_recording::Recording;
use wirelap_recording::hosts::merge::{Placing, What, next_on_wall};
use wirelap_recording::hosts::{Addresses, Clocks, Common, Survey, common, is_twice};
use wirelap_report::{ClockOffset, human};

/// What two captures have in common, if they are of two hosts.
pub struct TwoHosts {
    /// How their clocks differ.
    pub clocks: Clocks,
    /// How their packets become one order.
    pub placing: Placing,
    /// What of them is put together.
    pub what: What,
    /// One at least is a recording of wirelap's.
    pub recorded: bool,
}

/// Looks at both files. `None` if they are to be read one after the other.
///
/// # Errors
/// They are of two hosts, and their clocks cannot be compared.
pub fn look(first: &Path, second: &Path) -> Result<Option<TwoHosts>, Failure> {
    let mut addresses = Addresses::default();
    let mut look = |path| survey(path, &mut addresses);
    let (Some((mut one, own)), Some((mut two, own_two))) = (look(first), look(second)) else {
        return Ok(None);
    };
    let at_once = one.overlaps(&two);
    let what = if own && own_two { What::Everything } else { What::Packets };
    let names = format!("{} and {}", shown(first), shown(second));
    let failed = |why: &str| Err(Failure::Usage(format!("{names}: {why}")));
    match common(&mut one, &mut two, &addresses) {
        Common::Nothing if at_once && what == What::Packets => failed(
            "they were captured at the same time and have no flow in common (addresses may be translated between the \
             hosts), so their clocks cannot be compared: analyze each alone, or put captures of one host together with mergecap",
        ),
        Common::Nothing => Ok(None),
        Common::OneWay => failed(
            "both have packets of one direction only, so that a clock that is ahead cannot be told from a long way: \
             capture both directions, or analyze each alone",
        ),
        Common::Packets { samples, ours, theirs } => match Clocks::of(&samples) {
            Ok(Some(clocks)) => {
                let placing = Placing::new(clocks, what, &ours, &theirs);
                Ok(Some(TwoHosts { clocks, placing, what, recorded: own || own_two }))
            }
            Ok(None) => Ok(None),
            Err(_) => failed(
                "their times of the same packets contradict each other: a clock was set meanwhile; analyze each alone",
            ),
        },
    }
}

/// Whether a capture that others made has both ends of its flows in it.
pub fn has_both_ends(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let open = || Recording::new(wirelap_recording::open(path).ok()?).ok();
    is_file && open().is_some_and(|mut recording| !recording.is_own() && is_twice(&mut recording))
}

/// The packets of a capture or recording; `None` if it cannot be read twice, or is none. Tells whether it is a recording of
/// wirelap's.
fn survey(path: &Path, addresses: &mut Addresses) -> Option<(Survey, bool)> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut recording = Recording::new(wirelap_recording::open(path).ok()?).ok()?;
    let mut survey = Survey::default();
    while let Some(event) = next_on_wall(&mut recording) {
        if let Body::Packet(packet) = &event.body {
            survey.add(&event, packet, addresses);
        }
    }
    Some((survey, recording.is_own()))
}

/// For the report.
pub fn offset(first: &Path, second: &Path, clocks: &Clocks) -> ClockOffset {
    ClockOffset {
        first: shown(first),
        second: shown(second),
        offset_ns: clocks.offset,
        drift_ppm: clocks.drift / 1e3,
        drift_within_ppm: clocks.drift_within / 1e3,
        within_ns: clocks.within.0,
        at_most_ns: clocks.at_most.0,
        packets: clocks.samples as u64,
    }
}

/// What a reader should know.
pub fn sentences(clocks: &ClockOffset) -> Vec<String> {
    let time = |ns: u64| human::time_ns(Some(ns));
    let ClockOffset { first, second, offset_ns, drift_ppm, within_ns, at_most_ns, packets, .. } =
        clocks;
    let side = if *offset_ns < 0 { "behind" } else { "ahead of" };
    let drift = if *drift_ppm == 0.0 {
        format!("no drift above {:.1} ppm", clocks.drift_within_ppm)
    } else {
        format!("drifting by {drift_ppm:+.1} ± {:.1} ppm", clocks.drift_within_ppm)
    };
    vec![
        format!(
            "Two hosts: the clock of {second} is {} {side} that of {first}, which times are told by ({drift}; from \
             {packets} packets that both have).",
            time(offset_ns.unsigned_abs()),
        ),
        format!(
            "Between the hosts, times are right to {} if the shortest way takes as long in both directions, and to {} \
             however that is: packets cannot tell. Times on one host, and round trips, are not concerned.",
            time(*within_ns),
            time(*at_most_ns),
        ),
    ]
}
