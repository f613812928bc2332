//! The command lines of the example programs, and the figures that they print.
//!
//! `z_ping` prints a line for each round trip, in microseconds, after the last one. `z_pub_thr` and `z_sub_thr`
//! print the messages a second of each interval in which there were any. Source: zenoh-pico 1.9,
//! examples/unix/c11.

use crate::place::PicoAddress;
use anyhow::Result;
use std::process::{Command, Stdio};
use std::time::Duration;
use wirelap_contract::{Role, RttSummary, Spec};
use wirelap_events::Nanos;
use wirelap_harness::foreign::{Folder, Lines, line_by_line};
use wirelap_harness::link;
use wirelap_harness::rtt::RoundTripTimes;

/// Folder of the programs.
pub const FOLDER: Folder = Folder {
    variable: "WIRELAP_PICO_BIN",
    option: "--pico-bin",
    project: "the example programs of https://github.com/eclipse-zenoh/zenoh-pico as it says there",
};
/// Lines a second of the throughput programs: their default.
const LINES_PER_S: u32 = 10;

/// The program of a role.
pub fn program(role: Role) -> &'static str {
    match role {
        Role::Ping => "z_ping",
        Role::Pong | Role::Broker | Role::Connect => "z_pong",
        Role::Pub => "z_pub_thr",
        Role::Sub => "z_sub_thr",
    }
}

/// The command line of a role. Its output can be read.
pub fn command(spec: &Spec, place: &PicoAddress, pings: u64) -> Result<Command> {
    let mut command = line_by_line(&FOLDER.find(program(spec.role))?);
    command.args(["-m", mode(spec.role, place)]);
    let joins = matches!(place, PicoAddress::Multicast(..)) || link::listens(spec.role);
    command.arg(if joins { "-l" } else { "-e" }).arg(place.locator());
    match spec.role {
        Role::Ping => {
            // Its warm-up is a time, and how many pings that were it does not tell.
            command.args(["-w", "0", "-n", &pings.to_string(), "-s", &spec.payload.to_string()])
        }
        Role::Pub => {
            let (size, lines) = (spec.payload.to_string(), LINES_PER_S.to_string());
            command.args(["-k", &spec.topic, "-s", &size, "-f", &lines])
        }
        Role::Sub => command.args(["-k", &spec.topic, "-f", &LINES_PER_S.to_string()]),
        Role::Pong | Role::Broker | Role::Connect => &mut command,
    };
    // `z_pong` reads its input over and over when that has ended.
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

/// A publisher that is a peer does not wait when its socket is full: a batch is cut in the middle, and the other side
/// leaves. As a client it waits.
pub fn mode(role: Role, place: &PicoAddress) -> &'static str {
    match (role, place) {
        (Role::Pub, PicoAddress::Tcp(_)) => "client",
        _ => "peer",
    }
}

/// The round trips after the first `warmup` ones.
pub fn round_trips(lines: &Lines, warmup: u64) -> Option<RttSummary> {
    let all: Vec<(Nanos, u64)> = lines.numbers();
    let counted = all.iter().skip(usize::try_from(warmup).unwrap_or(usize::MAX));
    let mut trips = RoundTripTimes::expecting(Some(all.len() as u64));
    counted.for_each(|(_, micros)| trips.push(Nanos(micros * 1000)));
    trips.summary()
}

/// Messages a second from the first interval with messages to the last one, those without any included.
pub fn mean_rate(lines: &Lines) -> Option<f64> {
    let rates: Vec<(Nanos, f64)> = lines.numbers();
    let interval = Duration::from_secs(1) / LINES_PER_S;
    let (first, last) = (rates.first()?.0, rates.last()?.0);
    let seconds = (last - first).as_secs_f64() + interval.as_secs_f64();
    let messages: f64 = rates.iter().map(|(_, rate)| rate * interval.as_secs_f64()).sum();
    Some(messages / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[(u64, &str)]) -> Lines {
        let lines = Lines::default();
        for (ms, line) in all {
            lines.all().push((Nanos::from_millis(*ms), (*line).to_owned()));
        }
        lines
    }

    #[test]
    fn round_trips_are_microseconds_and_the_first_ones_are_left_out() {
        let printed = lines(&[(1, "900"), (1, "50"), (1, "70"), (1, "60")]);
        let summary = round_trips(&printed, 1).unwrap();
        assert_eq!((summary.count, summary.p50_ns, summary.max_ns), (3, 60_000, 70_000));
        assert_eq!(round_trips(&printed, 4), None);
    }

    #[test]
    fn a_silent_interval_counts_as_none() {
        let printed = lines(&[(100, "1000.0"), (200, "1000.0"), (400, "1000.0")]);
        assert!((mean_rate(&printed).unwrap() - 750.0).abs() < 1e-6);
        assert_eq!(mean_rate(&lines(&[])), None);
    }
}
