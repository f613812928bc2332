//! The truth lies within the bound whatever clocks and links do.

use super::world::{Host, Link, World};
use super::{HOUR, two};
use crate::hosts::live::{HostClockState, LiveClocks};
use wirelap_events::{ClockStep, Nanos};

/// Half the smallest round trip of [`two`].
const HALF_ROUND_TRIP: u64 = 100_000;

/// Two hosts, 0.1 ms apart, of which the second one's clock does something, with a hundred packets a second each way.
fn world(second: Host) -> World {
    let mut world = two();
    world.links[0].rate = 100.0;
    world.hosts[1] = Host { base: 700 * HOUR, drift: 37_000.0, ..second };
    world
}

fn steered(seconds: [f64; 2], by: f64) -> Host {
    Host { steered: Some((seconds, by)), ..Host::default() }
}

fn stepped(steps: &[(f64, i64)]) -> Host {
    Host { steps: steps.to_vec(), ..Host::default() }
}

/// Fails if a time of the second host that is handed out by now is not where it is said to be.
fn check_checked(world: &World, t: f64, clocks: &LiveClocks) {
    let Some(checked) = clocks.checked(1) else { return };
    for ago in 0_u8..=16 {
        let at = t - f64::from(ago) / 64.0;
        let [first, second] = [0, 1].map(|host: usize| world.hosts[host].time(at));
        if at < 0.0 || second > checked || second < clocks.begins(1) {
            continue;
        }
        let Some(found) = clocks.to_reference(1, second) else { continue };
        let (error, bound) = (found.0.abs_diff(first.0), clocks.bound(0, 1).unwrap());
        assert!(error <= bound.0 + 1, "at {at}, {t}: {error} above {bound:?}");
    }
}

/// Findings, each with the time of the world at which it was.
type Timed<T> = Vec<(f64, T)>;

/// Runs a world, in which hosts tell of their oscillators or not, and checks each refresh, also without regard to what is checked if no
/// clock is set. Returns the bounds, and the steps that were told, with the time at which each was.
fn run(world: &World, told: bool) -> (Timed<Nanos>, Timed<ClockStep>) {
    let (mut bounds, mut steps) = (Vec::new(), Vec::new());
    World { told, ..world.clone() }.run(|world, t, clocks| {
        check_checked(world, t, clocks);
        if world.hosts[1].steps.is_empty() {
            world.check(t, clocks);
        }
        steps.extend(clocks.steps().map(|(_, step)| (t, step)));
        if let HostClockState::Known { at_most, .. } = clocks.state(1) {
            bounds.push((t, at_most));
        }
    });
    (bounds, steps)
}

/// Fails if a bound after the beginning is above three halves of the smallest round trip.
fn are_narrow(bounds: &[(f64, Nanos)]) {
    for (t, bound) in bounds.iter().filter(|(t, _)| *t > 3.0) {
        assert!(bound.0 <= 3 * HALF_ROUND_TRIP, "at {t}: {bound:?}");
    }
}

#[test]
fn a_clock_that_is_steered_at_once_stays_within_the_bound() {
    for by in [200_000.0, -200_000.0, 500_000.0, -500_000.0] {
        for seconds in [[12.3, 14.1], [7.11, 27.9], [0.4, 30.0]] {
            for told in [false, true] {
                let (bounds, steps) = run(&world(steered(seconds, by)), told);
                assert!(bounds.len() > 115, "{}", bounds.len());
                are_narrow(&bounds);
                assert_eq!(steps, [], "a clock that is steered is not set");
            }
        }
    }
}

#[test]
fn a_step_is_told_with_its_size_and_nothing_is_wrong_around_it() {
    for (by, told) in [(250_000_000, false), (-250_000_000, false), (250_000_000, true)] {
        let (bounds, steps) = run(&world(stepped(&[(15.3, by)])), told);
        // Just after it, times from before the last packet that was checked are still to come.
        let is_usual = |(t, _): &(f64, Nanos)| !(15.3..16.3).contains(t);
        are_narrow(&bounds.into_iter().filter(is_usual).collect::<Vec<_>>());
        let [(told, step)] = steps[..] else { panic!("{steps:?}") };
        assert!(told - 15.3 < 1.5, "{told}");
        assert!(
            step.by[0] <= by && by <= step.by[1] && step.by[1] - step.by[0] < 1_000_000,
            "{step:?}"
        );
    }
}

#[test]
fn two_steps_within_seconds_are_both_told_even_at_the_beginning() {
    let both = [
        [(0.7, 250_000_000), (2.6, -250_000_000)],
        [(0.7, -250_000_000), (1.9, -255_000_000)],
        [(15.3, 250_000_000), (17.1, 250_000_000)],
        [(15.3, -59_000_000), (16.1, 250_000_000)],
    ];
    for both in both {
        let (_, steps) = run(&world(stepped(&both)), false);
        assert_eq!(steps.len(), 2, "{both:?}: {steps:?}");
        for ((_, by), (_, step)) in both.iter().zip(&steps) {
            assert!(step.by[0] <= *by && *by <= step.by[1], "{by} {step:?}");
            assert!(step.by[1] - step.by[0] < 2_000_000, "{by} {step:?}");
        }
    }
}

#[test]
fn a_queue_of_one_direction_leaves_no_more_than_the_clock_may_be_steered() {
    for way in [0, 1] {
        for by in [0.0, 500_000.0, -500_000.0] {
            let mut world = world(steered([12.3, 20.0], by));
            let link = world.links[0].clone();
            let mut full = Link { seconds: [10.0, 20.0], ..link.clone() };
            full.delays[way] += 30_000_000.0;
            world.links = vec![
                Link { seconds: [0.0, 10.0], ..link.clone() },
                full,
                Link { seconds: [20.0, 30.0], ..link },
            ];
            let (bounds, steps) = run(&world, false);
            assert_eq!(steps, []);
            let is_free = |t: f64| !(10.0..=20.3).contains(&t);
            are_narrow(&bounds.iter().copied().filter(|(t, _)| is_free(*t)).collect::<Vec<_>>());
            assert!(bounds.iter().all(|(t, bound)| *t < 1.0 || bound.0 < 6_000_000), "{bounds:?}");
        }
    }
}

#[test]
fn few_packets_and_lost_ones_make_the_bound_wider_and_not_wrong() {
    for by in [0.0, 500_000.0, -500_000.0] {
        let mut sparse = world(steered([32.3, 60.0], by));
        (sparse.links[0].rate, sparse.seconds) = (0.2, 90);
        run(&sparse, false);
        let mut lossy = world(steered([12.3, 20.0], by));
        lossy.lost = 3;
        are_narrow(&run(&lossy, false).0);
    }
}

#[test]
fn a_rate_that_walks_at_random_stays_within_the_bound() {
    let mut world = world(Host { walk: 100_000.0, ..Host::default() });
    world.seconds = 60;
    for told in [false, true] {
        are_narrow(&run(&world, told).0);
    }
}

#[test]
fn clocks_that_are_the_same_to_the_nanosecond_are_found_to_be() {
    let mut world = world(Host::default());
    world.hosts = vec![Host::new(HOUR, 0.0); 2];
    for told in [false, true] {
        are_narrow(&run(&world, told).0);
    }
}

#[test]
fn bounds_are_near_half_the_round_trip_where_hosts_tell_of_their_oscillators() {
    let (bounds, _) = run(&world(steered([12.3, 20.0], 200_000.0)), true);
    for (t, bound) in bounds {
        let is_steered = t < 4.0 || (12.3..16.0).contains(&t) || (20.0..24.0).contains(&t);
        assert!(is_steered || bound.0 < HALF_ROUND_TRIP * 3 / 2, "at {t}: {bound:?}");
    }
}
