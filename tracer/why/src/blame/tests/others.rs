//! Sleeps of a broker that data of other connections ended.

use super::super::VerdictKind;
use super::dwell::dwell;
use super::{blamed_with, hop, leg, of};
use wirelap_events::{Hop, LegOffCpu, Nanos, OffCpu, SleepCall, Stage};

/// As one of a quorum, or one that asks a backend: its thread sleeps until they answer.
#[test]
fn a_broker_that_sleeps_until_others_answer_is_not_stalled() {
    let led_by = |sleep, from_irq| {
        let told = dwell(|leg| leg.before.push(Hop { sleep, from_irq, ..hop(200, 900, 900, 0) }));
        told[1]
    };
    let (stalled, awaited) = (of(VerdictKind::BrokerStalled), of(VerdictKind::FetchWait));
    for call in [SleepCall::Poll, SleepCall::Call] {
        assert_eq!(led_by(call, true), (awaited, 700));
        assert_eq!(led_by(call, false), (stalled, 700), "another thread of it");
    }
    for call in [SleepCall::Timer, SleepCall::TimedPoll, SleepCall::Lock, SleepCall::Unknown] {
        assert_eq!(led_by(call, true), (stalled, 700), "{call:?}");
    }
}

/// A broker read at 0.1 ms, and sent at 10 ms; before its last sleep it slept for 6 ms, of which data ended 5, or it polled for 5.
#[test]
fn what_led_to_the_send_tells_what_a_broker_slept_for() {
    let slept = |sleep, is_by_data| {
        let mut second = leg(&[(Stage::Send, 10_000), (Stage::Read, 10_100)]);
        second.before.push(Hop { sleep, ..hop(8_000, 9_000, 9_000, 0) });
        let (asleep, most) = (Nanos::from_millis(6), Nanos::from_millis(5));
        let (by_data, polled) = if is_by_data { (most, Nanos(0)) } else { (Nanos(0), most) };
        let rested = OffCpu { asleep, by_data, polled, ..OffCpu::NONE };
        let rests = LegOffCpu { dwell: Some(rested), ..LegOffCpu::NONE };
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let parts = blamed_with(vec![first, second], vec![LegOffCpu::NONE, rests]);
        [VerdictKind::FetchWait, VerdictKind::BrokerStalled].map(|kind| {
            let of_kind = parts.iter().filter(|part| part.2 == of(kind));
            of_kind.map(|part| part.3 / 1_000_000).sum::<u64>()
        })
    };
    for is_by_data in [true, false] {
        assert_eq!(slept(SleepCall::Poll, is_by_data), [5 + 1, 1], "{is_by_data}");
        let timed = slept(SleepCall::TimedPoll, is_by_data);
        assert_eq!(timed, [0, 6 + 1], "other data interrupted it");
    }
}
