//! Finds out whether several captures are parts of one capture, or captures of the same connections on several hosts.

mod kernels;

use crate::open::shown;
use kernels::Origin;
use std::path::{Path, PathBuf};
use wirelap_correlate::UnobservedHost;
use wirelap_events::{Body, HostBounds, NetNs};
use wirelap_process::Failure;
use wirelap_recording::Recording;
use wirelap_recording::hosts::merge::{MergedEvents, Placing, next_on_wall};
use wirelap_recording::hosts::{
    AddressNumbers, ClockChain, ClockLink, Clocks, Common, FirstPackets, HostAddresses, Survey,
    common, netns_on, tree,
};
use wirelap_report::{HostClock, human};

/// The most captures that are compared with each other. More files, such as those of a rotated recording, are read one after the
/// other.
const MAX_CAPTURES: usize = 64;

/// Plan by which the captures of several hosts are put together.
pub struct Hosts {
    /// Placing of the packets of each file in the common order.
    pub placings: Vec<Placing>,
    /// The host of each file, 1 for the first.
    pub numbers: Vec<u8>,
    /// The addresses of each host, as far as they are known.
    pub addresses: Vec<UnobservedHost>,
    /// True for each file that is the first of its host. Later files of a host repeat facts of its first one.
    pub begins: Vec<bool>,
    /// The differences of the clocks of all other hosts from the clock of the first host.
    pub clocks: Vec<HostClock>,
    /// The error of times between any two hosts.
    pub bounds: HostBounds,
    /// Kind of events of the files that is put together.
    pub what: MergedEvents,
    /// True if at least one file is a recording of wirelap.
    pub recorded: bool,
}

/// Compares all files. Returns `None` if they are to be read one after the other.
///
/// # Errors
/// The files are of several hosts whose clocks cannot be compared.
pub fn compare(files: &[PathBuf]) -> Result<Option<Hosts>, Failure> {
    if files.len() < 2 || files.len() > MAX_CAPTURES {
        return Ok(None);
    }
    let mut addresses = AddressNumbers::default();
    let mut surveys = Vec::new();
    let mut origins = Vec::new();
    for file in files {
        let Some((survey, origin)) = survey(file, files.len(), &mut addresses) else {
            return Ok(None);
        };
        surveys.push(survey);
        origins.push(origin);
    }
    let own = || origins.iter().map(|origin| origin.is_own);
    let what = if own().all(|own| own) { MergedEvents::Everything } else { MergedEvents::Packets };
    let kernels = kernels::SameKernel::of(&origins, &surveys);
    let mut pairs = Pairs::of(&mut surveys, &addresses, &origins);
    if pairs.links.is_empty() && !kernels.are_at_once() {
        return pairs.unrelated(files, &surveys, what).map_or(Ok(None), Err);
    }
    kernels.refuse_mixed(files)?;
    pairs.links.extend(kernels.links());
    let chains = pairs.join(files, &surveys, &addresses)?;
    let mut placings = pairs.placings(&chains, what);
    kernels.share(&surveys, &mut placings);
    let numbers = numbers(&chains);
    let clocks = clocks(files, &chains, &numbers);
    let bounds = bounds(&chains, &numbers);
    let recorded = own().any(|own| own);
    let begins = begins(&surveys, &numbers);
    let addresses = pairs.addresses(&numbers);
    Ok(Some(Hosts { placings, numbers, addresses, begins, clocks, bounds, what, recorded }))
}

/// Facts that the first packets of a capture of another program tell; none for other files, and for what can be read only once.
pub fn first_packets(path: &Path) -> FirstPackets {
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let open = || Recording::new(wirelap_recording::open_heads(path).ok()?).ok();
    match is_file.then(open).flatten() {
        Some(mut recording) if !recording.is_own() => FirstPackets::of(&mut recording),
        _ => FirstPackets::default(),
    }
}

/// The hosts that a capture was made on, as far as its first packets tell: those that contain the direction.
pub fn hosts_of(first: FirstPackets) -> Vec<UnobservedHost> {
    let own = first.own_addresses;
    // If a file has packets of several hosts, the host of a loopback address is not known.
    let netns = if own.len() == 1 { NetNs(0) } else { NetNs(u32::MAX) };
    own.into_iter().map(|addresses| UnobservedHost { netns, addresses }).collect()
}

/// Surveys the packets of one of the captures, and where it is from. `None` if the file is not a capture or cannot be read twice.
fn survey(
    path: &Path,
    captures: usize,
    addresses: &mut AddressNumbers,
) -> Option<(Survey, Origin)> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut recording = Recording::new(wirelap_recording::open(path).ok()?).ok()?;
    let mut survey = Survey::of(captures);
    while let Some(event) = next_on_wall(&mut recording) {
        if let Body::Packet(packet) = &event.body {
            survey.add(&event, packet, addresses);
        }
    }
    let origin = Origin {
        is_own: recording.is_own(),
        wall: recording.wall().unwrap_or(0),
        kernel_run: recording.kernel_run(),
    };
    Some((survey, origin))
}

/// Why two captures that have packets in common cannot be put together.
#[derive(Clone, Copy)]
enum ClockObstacle {
    /// Both files have packets of one direction only.
    OneWay,
    /// The times of common packets contradict each other.
    Uneven,
}

impl ClockObstacle {
    fn why(self) -> &'static str {
        match self {
            ClockObstacle::OneWay => {
                "both have packets of one direction only, so a clock that is ahead looks the same as a long way: capture both \
                 directions, or analyze each file alone"
            }
            ClockObstacle::Uneven => {
                "their times of the same packets contradict each other: a clock was set meanwhile; analyze each file alone"
            }
        }
    }
}

/// Links, places and obstacles of pairs of captures.
#[derive(Default)]
struct Pairs {
    links: Vec<ClockLink>,
    places: HostAddresses,
    obstacles: Vec<([usize; 2], ClockObstacle)>,
}

impl Pairs {
    fn of(surveys: &mut [Survey], addresses: &AddressNumbers, origins: &[Origin]) -> Pairs {
        let mut pairs = Pairs::default();
        for second in 1..surveys.len() {
            let (before, after) = surveys.split_at_mut(second);
            let Some(two) = after.first_mut() else { break };
            for (first, one) in before.iter_mut().enumerate() {
                if !origins[first].is_of_kernel_of(&origins[second]) {
                    pairs.add([first, second], common(one, two, addresses));
                }
            }
        }
        pairs
    }

    fn add(&mut self, files: [usize; 2], common: Common) {
        match common {
            Common::Nothing => {}
            Common::OneWay => self.obstacles.push((files, ClockObstacle::OneWay)),
            Common::Packets { samples, sides } => match Clocks::of(&samples) {
                Ok(Some(clocks)) => {
                    self.links.push(ClockLink { files, clocks: Some(clocks), is_one_host: false });
                    self.places.add(files, sides);
                }
                Ok(None) => {}
                Err(_) => self.obstacles.push((files, ClockObstacle::Uneven)),
            },
        }
    }

    /// The error for files that have no common packets and cannot be read one after the other either.
    fn unrelated(
        &self,
        files: &[PathBuf],
        surveys: &[Survey],
        what: MergedEvents,
    ) -> Option<Failure> {
        let names = |[a, b]: [usize; 2]| format!("{} and {}", shown(&files[a]), shown(&files[b]));
        if let Some((pair, obstacle)) = self.obstacles.first() {
            return Some(Failure::Usage(format!("{}: {}", names(*pair), obstacle.why())));
        }
        let pairs = (0..files.len()).flat_map(|b| (0..b).map(move |a| [a, b]));
        let mut at_once = pairs.filter(|&[a, b]| surveys[a].overlaps(&surveys[b]));
        let pair = at_once.next().filter(|_| what == MergedEvents::Packets)?;
        Some(Failure::Usage(format!(
            "{}: they were captured at the same time and have no flow in common, so their clocks cannot be compared: analyze each file alone, or merge captures of one host with mergecap",
            names(pair)
        )))
    }

    /// The conversions from the clock of each file to the clock of the first file.
    fn join(
        &mut self,
        files: &[PathBuf],
        surveys: &[Survey],
        addresses: &AddressNumbers,
    ) -> Result<Vec<ClockChain>, Failure> {
        let parts = (0..files.len()).filter_map(|file| self.places.part(surveys, file, addresses));
        self.links.extend(parts);
        let chains = tree(files.len(), &self.links);
        let missing = chains.iter().position(Option::is_none);
        match missing {
            Some(file) => Err(self.unjoined(file, files)),
            None => Ok(chains.into_iter().flatten().collect()),
        }
    }

    fn unjoined(&self, file: usize, files: &[PathBuf]) -> Failure {
        let name = shown(&files[file]);
        let obstacle = self.obstacles.iter().find(|(pair, _)| pair.contains(&file));
        Failure::Usage(match obstacle {
            Some(([a, b], obstacle)) => {
                let other = shown(&files[if *a == file { *b } else { *a }]);
                format!("{name} and {other}: {}", obstacle.why())
            }
            None => format!(
                "{name} cannot be combined with the other files: it has no packets of both directions in common with a file whose \
                 clock can be compared with that of {} (it may be of another time, or a proxy may be in between); leave it out, \
                 or analyze it alone",
                shown(&files[0])
            ),
        })
    }

    /// The addresses of each host.
    fn addresses(&self, numbers: &[u8]) -> Vec<UnobservedHost> {
        let hosts = 1..=numbers.iter().copied().max().unwrap_or(0);
        let host = |number| {
            let own = self.places.of(&files_of(numbers, number));
            UnobservedHost { netns: netns_on(number), addresses: own.into_iter().collect() }
        };
        hosts.map(host).collect()
    }

    fn placings(&self, chains: &[ClockChain], what: MergedEvents) -> Vec<Placing> {
        let numbers = numbers(chains);
        let placing = |(chain, &number): (&ClockChain, &u8)| {
            let of = |host| self.places.of(&files_of(&numbers, host));
            let mine = of(number);
            let others = numbers.iter().filter(|other| **other != number);
            let others = others.flat_map(|&other| of(other)).collect();
            Placing::new(chain.clone(), number, what, mine, others)
        };
        chains.iter().zip(&numbers).map(placing).collect()
    }
}

fn files_of(numbers: &[u8], host: u8) -> Vec<usize> {
    let files = numbers.iter().enumerate().filter(|(_, number)| **number == host);
    files.map(|(file, _)| file).collect()
}

/// The host of each file, 1 for the first: the parts of one capture are of the same host.
fn numbers(chains: &[ClockChain]) -> Vec<u8> {
    let mut next = 0_u8;
    let mut numbers: Vec<u8> = Vec::new();
    for chain in chains {
        numbers.push(if chain.part_of.is_some() {
            0
        } else {
            next = next.saturating_add(1);
            next
        });
    }
    let of = |chain: &ClockChain| chain.part_of.and_then(|whole| numbers.get(whole).copied());
    let parts: Vec<Option<u8>> = chains.iter().map(of).collect();
    numbers.iter().zip(parts).map(|(number, part)| part.unwrap_or(*number)).collect()
}

fn begins(surveys: &[Survey], numbers: &[u8]) -> Vec<bool> {
    let start = |file: usize| (surveys[file].span.map(|(first, _)| first), file);
    let is_first = |file: usize| {
        let others = (0..numbers.len()).filter(|other| numbers[*other] == numbers[file]);
        others.map(start).min() == Some(start(file))
    };
    (0..numbers.len()).map(is_first).collect()
}

/// The error of times between any two hosts, by the clocks of the first capture of each.
fn bounds(chains: &[ClockChain], numbers: &[u8]) -> HostBounds {
    let mut bounds = HostBounds::default();
    let whole = || chains.iter().zip(numbers).filter(|(chain, _)| chain.part_of.is_none());
    for (one, &a) in whole() {
        for (other, &b) in whole().filter(|(_, b)| **b < a) {
            bounds.set(a, b, Some(one.error_against(other)));
        }
    }
    bounds
}

/// The clocks of the other hosts, as the report shows them.
fn clocks(files: &[PathBuf], chains: &[ClockChain], numbers: &[u8]) -> Vec<HostClock> {
    let clock = |((file, chain), host): ((&PathBuf, &ClockChain), &u8)| {
        let clocks = chain.clocks().filter(|_| chain.part_of.is_none())?;
        let first = files.first()?;
        Some(HostClock {
            host: *host,
            through: chain.through.iter().filter_map(|&at| Some(shown(files.get(at)?))).collect(),
            clock: wirelap_report::ClockOffset {
                first: shown(first),
                second: shown(file),
                offset_ns: clocks.offset,
                drift_ppm: clocks.drift / 1e3,
                drift_within_ppm: clocks.drift_within / 1e3,
                within_ns: clocks.within.0,
                at_most_ns: clocks.at_most.0,
                packets: clocks.samples as u64,
            },
        })
    };
    files.iter().zip(chains).zip(numbers).filter_map(clock).collect()
}

/// Notes on the clocks of the hosts, for the report.
pub fn sentences(hosts: &[HostClock]) -> Vec<String> {
    if hosts.is_empty() {
        return vec!["The recordings are of one kernel, so they have one clock; what several of them have is counted once.".into()];
    }
    let count = match hosts.len() {
        1 => "Two".to_owned(),
        2 => "Three".to_owned(),
        more => more.saturating_add(1).to_string(),
    };
    let mut sentences: Vec<String> =
        hosts.iter().map(|host| sentence(&count, host, hosts.len() == 1)).collect();
    let worst = |of: fn(&HostClock) -> u64| human::time_ns(hosts.iter().map(of).max());
    sentences.push(format!(
        "Times between the hosts are exact to {} if the shortest way takes the same time in both directions, otherwise to {}: \
         packets do not show which is the case. Times on one host, and round trips, do not depend on this.",
        worst(|host| host.clock.within_ns),
        worst(|host| host.clock.at_most_ns),
    ));
    sentences
}

fn sentence(count: &str, host: &HostClock, is_only: bool) -> String {
    let clock = &host.clock;
    let side = if clock.offset_ns < 0 { "behind" } else { "ahead of" };
    let drift = if clock.drift_ppm == 0.0 {
        format!("no drift above {:.1} ppm", clock.drift_within_ppm)
    } else {
        format!("drifting by {:+.1} ± {:.1} ppm", clock.drift_ppm, clock.drift_within_ppm)
    };
    let through = match host.through.as_slice() {
        [] => String::new(),
        through => format!(", through {}", through.join(" and ")),
    };
    let exact = if is_only {
        String::new()
    } else {
        format!("; exact to {}", human::time_ns(Some(clock.at_most_ns)))
    };
    format!(
        "{count} hosts: the clock of {} is {} {side} that of {}, which is used for all times ({drift}; from {} packets in both \
         files{through}{exact}).",
        clock.second,
        human::time_ns(Some(clock.offset_ns.unsigned_abs())),
        clock.first,
        clock.packets,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_the_host_that_they_are_parts_of() {
        let part = |of| {
            let mut chain = ClockChain::default();
            chain.part_of = of;
            chain
        };
        let chains = [part(None), part(Some(2)), part(None), part(Some(0)), part(None)];
        assert_eq!(numbers(&chains), [1, 2, 2, 1, 3]);
    }
}
