use super::*;
use proptest::prelude::*;

/// Numbers that look like chance and are the same every time (Knuth's MMIX).
struct Chance(u64);

impl Chance {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential.
    fn wait(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}

/// Two hosts that exchange messages for some seconds.
#[derive(Clone, Copy, Debug)]
struct World {
    offset: i64,
    /// Nanoseconds a second.
    drift: f64,
    /// The shortest way there, and back.
    ways: [f64; 2],
    /// Mean time in queues there, and back.
    queues: [f64; 2],
    seconds: f64,
    messages: u32,
}

const START: i64 = 1_700_000_000_000_000_000;

/// Whole nanoseconds.
#[allow(clippy::cast_possible_truncation)] // Below 2^53 here.
fn whole(ns: f64) -> i64 {
    ns.round() as i64
}

impl World {
    /// Returns the second clock's time, `since` nanoseconds after the start by the first clock.
    fn second(self, since: f64) -> i64 {
        START + self.offset + whole(since + since / 1e9 * self.drift)
    }

    fn samples(self, seed: u64) -> Vec<Sample> {
        let mut chance = Chance(seed);
        let mut samples: Vec<Sample> = (0..self.messages)
            .flat_map(|_| {
                let at = chance.next() * self.seconds * 1e9;
                let there = at + self.ways[0] + chance.wait(self.queues[0]);
                let answered = there + chance.wait(1e5);
                let back = answered + self.ways[1] + chance.wait(self.queues[1]);
                [(at, there, true), (back, answered, false)]
            })
            .map(|(first, second, from_first)| {
                let first = START + whole(first);
                let later = self.second(second) - first;
                Sample { at: Nanos(first.cast_unsigned()), later, from_first }
            })
            .collect();
        samples.sort_by_key(|sample| sample.at);
        samples
    }

    /// Error of the estimate, in nanoseconds, `since` nanoseconds after the start.
    fn error(self, clocks: &Clocks, since: f64) -> f64 {
        let found = clocks.to_first(Nanos(self.second(since).cast_unsigned()));
        found.0 as f64 - (START as f64 + since)
    }
}

const LAN: World = World {
    offset: -3_217_004_711,
    drift: 0.0,
    ways: [200_000.0; 2],
    queues: [20_000.0; 2],
    seconds: 30.0,
    messages: 3_000,
};

fn check(world: World, seed: u64) -> Clocks {
    let clocks = Clocks::of(&world.samples(seed)).unwrap().unwrap();
    for since in [0.0, 0.5, 1.0] {
        // A double has a step of 256 ns so far from 1970.
        let error = world.error(&clocks, since * world.seconds * 1e9).abs() - 512.0;
        let within = clocks.within.0 as f64 + clocks.drift_within * world.seconds;
        assert!(error <= within, "{error} {clocks:?} {world:?}");
        assert!(error <= clocks.at_most.0 as f64, "{error} {clocks:?} {world:?}");
    }
    clocks
}

#[test]
fn the_middle_between_there_and_back_is_the_offset() {
    let clocks = check(LAN, 1);
    assert!((clocks.offset - LAN.offset).abs() < 2_000, "{clocks:?}");
    assert!(clocks.drift.abs() < f64::EPSILON);
    assert!(clocks.within < Nanos(5_000), "{clocks:?}");
    assert!((200_000..205_000).contains(&clocks.at_most.0), "{clocks:?}");
}

#[test]
fn load_of_one_direction_does_no_harm() {
    let clocks = check(World { queues: [10_000.0, 3_000_000.0], messages: 20_000, ..LAN }, 2);
    assert!((clocks.offset - LAN.offset).abs() < 20_000, "{clocks:?}");
}

#[test]
fn the_drift_is_found() {
    let world = World { drift: 41_500.0, seconds: 60.0, ..LAN };
    let clocks = check(world, 3);
    assert!((clocks.drift - 41_500.0).abs() < 200.0, "{clocks:?}");
    assert!(clocks.drift_within < 1_000.0, "{clocks:?}");
    let error = world.error(&clocks, 60e9).abs();
    assert!(error < 10_000.0, "{error}");
}

#[test]
fn another_way_back_is_not_found_and_is_within_the_bound() {
    let world = World { ways: [100_000.0, 900_000.0], ..LAN };
    let clocks = Clocks::of(&world.samples(4)).unwrap().unwrap();
    let error = (clocks.offset - world.offset).unsigned_abs();
    assert!((390_000..410_000).contains(&error), "{error}");
    assert!(error <= clocks.at_most.0 && error > clocks.within.0, "{clocks:?}");
}

#[test]
fn few_packets_say_little_and_know_it() {
    let clocks = check(World { messages: 5, ..LAN }, 5);
    assert_eq!(clocks.within, clocks.at_most);
}

#[test]
fn a_stray_is_left_out_and_a_step_is_told() {
    let mut samples = LAN.samples(6);
    samples[1000].later =
        LAN.offset + if samples[1000].from_first { -10_000_000_000 } else { 10_000_000_000 };
    let clocks = Clocks::of(&samples).unwrap().unwrap();
    assert!((clocks.offset - LAN.offset).abs() < 2_000, "{clocks:?}");
    let half = samples.len() / 2;
    for sample in &mut samples[half..] {
        sample.later += 50_000_000;
    }
    assert_eq!(Clocks::of(&samples), Err(Uneven));
}

#[test]
fn one_direction_is_not_enough() {
    let samples: Vec<_> = LAN.samples(7).into_iter().filter(|sample| sample.from_first).collect();
    assert_eq!(Clocks::of(&samples), Ok(None));
    assert_eq!(Clocks::of(&[]), Ok(None));
}

#[test]
fn whole_microseconds_are_noticed() {
    let mut samples = LAN.samples(8);
    for sample in &mut samples {
        let second = sample.at.0.cast_signed() + sample.later;
        sample.at = Nanos(sample.at.0 / 1000 * 1000);
        sample.later = second / 1000 * 1000 - sample.at.0.cast_signed();
    }
    let clocks = Clocks::of(&samples).unwrap().unwrap();
    assert!(clocks.within >= Nanos(2_000));
}

proptest! {
    #[test]
    fn the_error_is_never_above_the_bound(
        offset in -1_000_000_000_000_000_i64..1_000_000_000_000_000,
        drift in -200_000.0..200_000.0_f64,
        there in 1_000.0..50_000_000.0_f64,
        back in 1_000.0..50_000_000.0_f64,
        queue in 1.0..5_000_000.0_f64,
        messages in 20_u32..500,
        seed in any::<u64>(),
    ) {
        let world = World {
            offset, drift, ways: [there, back], queues: [queue, queue / 3.0], seconds: 20.0, messages,
        };
        let clocks = Clocks::of(&world.samples(seed)).unwrap().unwrap();
        let slack = clocks.drift_within * world.seconds + 1_000.0;
        for since in [0.0, 1.0] {
            let error = world.error(&clocks, since * 20e9).abs();
            prop_assert!(error <= clocks.at_most.0 as f64 + slack, "{} {:?}", error, clocks);
        }
    }
}
