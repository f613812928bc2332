use super::*;
use crate::stats::RowStats;
use wirelap_test_support::random::Random;

const SECOND: u64 = 1_000_000_000;

/// Traffic of batches: when the next one is read, and how many messages it has.
struct Traffic<'a> {
    next: u64,
    size: u64,
    gap: &'a mut dyn FnMut() -> u64,
}

/// Distance of the windows and the time for which each stays open.
struct Sampling {
    open: u64,
    every: u64,
    /// A window that has met a batch stays open until the next one has been read.
    waits: bool,
}

/// The present rate and that of all the time, as computed for traffic that was observed in windows for so many seconds.
fn observed(mut traffic: Traffic<'_>, sampling: &Sampling, seconds: u64) -> (Option<Rate>, Rate) {
    let (mut pauses, mut rate) = (Pauses::default(), SampledRate::default());
    let mut random = Random::new(5);
    let first = Nanos(0);
    pauses.close(Nanos(1));
    let mut now = 0;
    while now < seconds * SECOND {
        // Pauses differ by chance, as those of sessions.
        let pause = sampling.every - sampling.open;
        now += pause / 2 + random.number() % pause;
        while traffic.next < now {
            traffic.next += (traffic.gap)();
        }
        pauses.open(Nanos(now));
        let (start, mut end) = (now, now + sampling.open);
        let mut is_met = false;
        pauses.wait(Nanos(end));
        while traffic.next < end {
            let read = Nanos(traffic.next);
            let window = pauses.windows().at(read);
            assert_eq!(window.is_some(), traffic.next < start + sampling.open);
            if let Some(window) = window {
                (0..traffic.size).for_each(|_| rate.add(window, read, 50));
            }
            traffic.next += (traffic.gap)();
            if sampling.waits && !is_met {
                (is_met, end) = (true, end.max(traffic.next + 1));
            }
        }
        now = end;
        pauses.close(Nanos(now));
        rate.fold(&pauses, Nanos(now), Some(first), 0);
    }
    now += 10 * SECOND;
    rate.fold(&pauses, Nanos(now), Some(first), 0);
    let [all, _] = rate.sums(&pauses, Nanos(now), first);
    (rate.now(), all.rate())
}

const SHORT: Sampling = Sampling { open: 12_000_000, every: 250_000_000, waits: false };

/// True if a rate is within a tenth of the truth, or as far off as it says.
fn is_right(rate: Rate, truth: f64) -> bool {
    let share = rate.msg_per_s / truth - 1.0;
    let bytes = rate.payload_bit_per_s / (truth * 50.0 * 8.0) - 1.0;
    // The interval is that of 95 %: three times its half is not exceeded by chance.
    [share, bytes]
        .iter()
        .all(|off| off.abs() < 0.1 || !rate.is_known() || off.abs() < 2.0 * rate.error)
}

#[test]
fn batches_at_regular_times_are_a_thousand_a_second_or_not_known() {
    for waits in [false, true] {
        let sampling = Sampling { waits, ..SHORT };
        // Also batches as far apart as windows, or half as far.
        for gap in [100, 125, 250, 97] {
            let truth = 100_000.0 / gap as f64;
            let mut next = || gap * 1_000_000;
            let traffic = Traffic { next: 77, size: 100, gap: &mut next };
            let (now, all) = observed(traffic, &sampling, 2_000);
            assert!(is_right(now.unwrap(), truth), "{waits} {gap}: {now:?}");
            assert!(is_right(all, truth) && all.error < 0.25, "{waits} {gap}: {all:?}");
            assert!((all.msg_per_s / truth - 1.0).abs() < 0.15, "{waits} {gap}: {all:?}");
        }
    }
}

#[test]
fn batches_at_random_times_are_a_thousand_a_second_or_not_known() {
    for (waits, seed) in [(false, 1), (true, 2), (false, 3), (true, 4)] {
        let mut random = Random::new(seed);
        let mut next = || 1_000_000 + random.number() % 198_000_000;
        let traffic = Traffic { next: 77, size: 100, gap: &mut next };
        let (now, all) = observed(traffic, &Sampling { waits, ..SHORT }, 2_000);
        assert!(is_right(now.unwrap(), 1_000.0), "{now:?}");
        assert!(is_right(all, 1_000.0) && all.error < 0.25, "{all:?}");
        assert!((all.msg_per_s / 1_000.0 - 1.0).abs() < 0.15, "{all:?}");
    }
}

#[test]
fn of_a_few_batches_no_rate_is_made() {
    let mut next = || 100_000_000;
    let traffic = Traffic { next: 77, size: 100, gap: &mut next };
    let (now, all) = observed(traffic, &SHORT, 3);
    assert!(!all.is_known() && !now.unwrap().is_known(), "{now:?} {all:?}");
}

#[test]
fn the_rate_of_single_messages_is_known() {
    let mut next = || 1_000_000;
    let traffic = Traffic { next: 77, size: 1, gap: &mut next };
    let (now, all) = observed(traffic, &SHORT, 30);
    let now = now.unwrap();
    for rate in [now, all] {
        assert!((rate.msg_per_s / 1_000.0 - 1.0).abs() < 0.03, "{rate:?}");
    }
    assert!(all.is_known() && !all.is_rough(), "{all:?}");
    // The latest windows have sixty messages.
    assert!(now.is_rough() && now.error < 0.3, "{now:?}");
}

#[test]
fn bursts_that_are_seldom_met_are_not_said_to_have_stopped() {
    // Fifty messages at short distances, each second.
    for seconds in [60, 61, 62, 90] {
        let mut sent = 0_u64;
        let mut next = || {
            sent += 1;
            if sent.is_multiple_of(50) { SECOND - 49 * 100_000 } else { 100_000 }
        };
        let traffic = Traffic { next: 77, size: 1, gap: &mut next };
        let now = observed(traffic, &SHORT, seconds).0.unwrap();
        assert_ne!(now, Rate::default());
    }
}

#[test]
fn what_cannot_be_read_makes_a_rate_unknown() {
    let window = |number| TracedWindow {
        since: Nanos(number * SECOND),
        start: Nanos((number + 1) * SECOND - 12_000_000),
        end: Nanos((number + 1) * SECOND),
    };
    let count = WindowCount { messages: 100, bytes: 100, reads: 100, squares: 100 };
    let mut all = RateSums::default();
    (1..100).for_each(|number| all.add(&RateSums::of(&window(number), count, Nanos(0))));
    assert!(all.rate().is_known() && !all.rate().is_rough(), "{:?}", all.rate());
    let some = all.with_missing(2_000).rate();
    assert!(some.is_rough(), "{some:?}");
    assert!(!all.with_missing(20_000).rate().is_known());
}

#[test]
fn what_has_stopped_is_zero() {
    let mut sent = 0;
    let mut next = || {
        sent += 1;
        if sent < 10_000 { 1_000_000 } else { 1_000 * SECOND }
    };
    let traffic = Traffic { next: 77, size: 1, gap: &mut next };
    assert_eq!(observed(traffic, &SHORT, 30).0, Some(Rate::default()));
}

#[test]
fn what_was_observed_whole_is_exact() {
    let (pauses, mut rate) = (Pauses::default(), SampledRate::default());
    for ms in 0..2_000 {
        rate.add(Nanos(0), Nanos::from_millis(ms), 10);
    }
    let [all, _] = rate.sums(&pauses, Nanos::from_millis(2_000), Nanos(0));
    let found = all.rate();
    assert!((found.msg_per_s - 999.5).abs() < 0.01 && found.error == 0.0, "{found:?}");
}

/// Messages since the last window are not counted: with traffic that ended in between, the rate of the whole time is too high.
#[test]
fn traffic_that_ended_after_the_last_window_is_within_what_is_said() {
    let (mut pauses, mut stats) = (Pauses::default(), RowStats::default());
    let ms = Nanos::from_millis;
    pauses.close(Nanos(1));
    // 1,000 messages a second for 12 s, each second seen for 100 ms, and nothing is seen from 11.1 s to 16 s.
    for second in 1..12 {
        let start = ms(second * 1_000);
        pauses.open(start);
        for at in 0..100 {
            stats.delivered_late(Some(start), start + ms(at), 1, 50);
        }
        pauses.close(start + ms(100));
    }
    let now = ms(16_000);
    stats.resume(&pauses, now, 0);
    let rate = stats.rate_over(1_100, ms(900), now, &pauses);
    let truth = 12_000.0 / 16.0;
    let off = rate.msg_per_s / truth - 1.0;
    assert!(off > 0.2 && rate.error > off && rate.error < 0.6, "{rate:?}");
}

#[test]
fn few_windows_tell_how_they_differ_less_exactly_than_many() {
    let window = |number: u64| TracedWindow {
        since: Nanos(number * SECOND),
        start: Nanos((number + 1) * SECOND - 100_000_000),
        end: Nanos((number + 1) * SECOND),
    };
    let error = |windows: u64| {
        let mut all = RateSums::default();
        for number in 1..=windows {
            let messages = if number % 2 == 0 { 900 } else { 1_100 };
            let count = WindowCount { messages, bytes: 0, reads: messages, squares: messages };
            all.add(&RateSums::of(&window(number), count, Nanos(0)));
        }
        all.rate().error * (windows as f64).sqrt()
    };
    // Of 2 and 100 values, 12.7 and 1.98 deviations of the mean.
    assert!(error(2) > 4.0 * error(100), "{} {}", error(2), error(100));
    assert!(error(10) > 1.1 * error(100), "{} {}", error(10), error(100));
}
