//! Tests of the permits that a broker needs to pass a message on.

use super::super::super::awaited::Awaited;
use super::{BlameSink, BlamedPart, Cause, VerdictKind, blame, hop, leg, of};
use wirelap_events::{
    Circumstances, Credit, EarlierBytes, Leg, LegOffCpu, Nanos, OffCpu, Receipt, Release, Segment,
    Stage, TxState,
};
use wirelap_test_support::delivered;

/// Waits of a broker by kind and thing, in microseconds.
#[derive(Default)]
struct Waits(Vec<(VerdictKind, Awaited, u64)>);

impl BlameSink for Waits {
    fn part(&mut self, part: BlamedPart<'_>) {
        if let (Segment::BrokerDwell, Cause::Of(kind)) = (part.segment, part.cause)
            && part.awaited != Awaited::Nothing
        {
            self.0.push((kind, part.awaited, part.time.0 / 1_000));
        }
    }
}

/// The longest part of the dwell.
#[derive(Default)]
struct Longest(Option<(VerdictKind, Nanos)>);

impl BlameSink for Longest {
    fn part(&mut self, part: BlamedPart<'_>) {
        if let (Segment::BrokerDwell, Cause::Of(kind)) = (part.segment, part.cause)
            && self.0.is_none_or(|(_, longest)| part.time > longest)
        {
            self.0 = Some((kind, part.time));
        }
    }
}

fn us(us: u64) -> Nanos {
    Nanos(us * 1_000)
}

/// Waits of a broker that read at 100 µs and sent at 1,100 µs.
fn waits(
    requester: Option<&OffCpu>,
    edit: impl FnOnce(&mut Circumstances),
) -> Vec<(VerdictKind, Awaited, u64)> {
    let mut second: Leg = leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
    second.before.push(hop(200, 1_000, 1_000, 0));
    edit(&mut second.circumstances);
    let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
    let mut delivery = delivered::delivery(vec![first, second]);
    let requester = requester.copied();
    delivery.off_cpu =
        [LegOffCpu::NONE, LegOffCpu { requester, ..LegOffCpu::NONE }].into_iter().collect();
    let mut found = Waits::default();
    blame(&delivery, &mut found);
    found.0.retain(|(kind, ..)| *kind != VerdictKind::BrokerStalled);
    found.0
}

/// A release that was sent at 800 µs and read at 1,000 µs, whose sender had to have a receipt.
fn released(receipt: Option<Receipt>) -> Vec<(VerdictKind, Awaited, u64)> {
    let release = Release {
        sent: us(800),
        left: us(800),
        arrived: us(950),
        read: us(1_000),
        waited: Nanos(0),
        nagle: false,
        resent: false,
        recovery: None,
        receipt,
    };
    waits(None, |seen| seen.permission.release = Some(release))
}

/// A receipt that was sent at 110 µs and left at 200 µs.
fn receipt(arrived: Option<u64>, lost: u64) -> Receipt {
    Receipt {
        sent: us(110),
        left: us(200),
        arrived: arrived.map(us),
        lost: us(lost),
        recovery: None,
        nagle: false,
        is_window_full: false,
    }
}

#[test]
fn a_publisher_owes_its_release_from_when_it_has_the_receipt() {
    let way = (VerdictKind::ReleaseWait, Awaited::Release, 150);
    let wait = |awaited, time| (VerdictKind::ReleaseWait, awaited, time);
    let slow = released(Some(receipt(Some(210), 0)));
    assert_eq!(slow, [wait(Awaited::Receipt, 100), wait(Awaited::Release, 590), way]);
    // It was lost, or waited behind what was lost, in the broker's socket or later.
    let lost = (VerdictKind::Retransmission, Awaited::Receipt, 600);
    let quick = released(Some(receipt(Some(780), 600)));
    assert_eq!(quick, [lost, wait(Awaited::Receipt, 70), wait(Awaited::Release, 20), way]);
}

#[test]
fn a_publisher_that_is_not_seen_is_not_blamed() {
    let way = (VerdictKind::ReleaseWait, Awaited::Release, 150);
    let wait = (VerdictKind::ReleaseWait, Awaited::UnseenRelease, 700);
    assert_eq!(released(None), [wait, way]);
    let lost = (VerdictKind::Retransmission, Awaited::Receipt, 300);
    let wait = (VerdictKind::ReleaseWait, Awaited::UnseenRelease, 390);
    assert_eq!(released(Some(receipt(None, 300))), [lost, wait, way]);
}

/// An acknowledgement at 900 µs.
fn acknowledged(own: u64, unknown: u64) -> Credit {
    Credit { at: us(900), full: us(800), own: us(own), unknown: us(unknown), by: None }
}

#[test]
fn a_subscriber_that_has_what_it_does_not_acknowledge_is_late_by_itself() {
    let late =
        |requester| waits(requester, |seen| seen.permission.credit = Some(acknowledged(600, 0)));
    let of = |kind, time| (kind, Awaited::LateAcknowledgement, time);
    let way = (VerdictKind::FetchWait, Awaited::Acknowledgement, 200);
    let asleep = OffCpu { asleep: us(600), ..OffCpu::NONE };
    assert_eq!(late(Some(&asleep)), [of(VerdictKind::ClientStalled, 600), way]);
    assert_eq!(late(Some(&OffCpu::NONE)), [of(VerdictKind::ReaderBusy, 600), way]);
    let mixed = OffCpu { asleep: us(200), waited: us(100), ..OffCpu::NONE };
    let parts = [
        of(VerdictKind::ClientStalled, 200),
        of(VerdictKind::FetchWait, 100),
        of(VerdictKind::ReaderBusy, 300),
        way,
    ];
    assert_eq!(late(Some(&mixed)), parts);
    assert_eq!(late(None), [of(VerdictKind::FetchWait, 600), way]);
}

/// The broker might send for 700 of 800 µs.
#[test]
fn a_broker_that_may_send_waits_for_no_acknowledgement() {
    let all = waits(None, |seen| {
        seen.permission.credit = Some(Credit { full: us(100), ..acknowledged(60, 0) });
    });
    let parts = [
        (VerdictKind::FetchWait, Awaited::LateAcknowledgement, 60),
        (VerdictKind::FetchWait, Awaited::Acknowledgement, 40),
    ];
    assert_eq!(all, parts);
}

/// Earlier messages fill the socket until 700 µs, and the subscriber may not have more until 900 µs.
#[test]
fn without_permission_it_is_not_the_socket_that_keeps_a_message() {
    let tx = TxState {
        in_flight: 900,
        unsent: 900,
        window: 900,
        mss: 100,
        cwnd: 99,
        ..TxState::default()
    };
    let behind = EarlierBytes { since: us(100), time: us(900), tx, send_len: 100, no_room: true };
    let mut kinds = Vec::new();
    for credit in [None, Some(acknowledged(600, 0))] {
        let mut second: Leg = leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
        (second.circumstances.permission.credit, second.circumstances.socket.behind) =
            (credit, Some(behind));
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut delivery = delivered::delivery(vec![first, second]);
        let asleep = OffCpu { asleep: us(600), ..OffCpu::NONE };
        delivery.off_cpu =
            [LegOffCpu::NONE, LegOffCpu { requester: Some(asleep), ..LegOffCpu::NONE }]
                .into_iter()
                .collect();
        let mut most = Longest::default();
        blame(&delivery, &mut most);
        kinds.push(most.0);
    }
    let window = Some((VerdictKind::ReceiveWindow, us(900)));
    assert_eq!(kinds, [window, Some((VerdictKind::ClientStalled, us(600)))]);
}

#[test]
fn what_was_not_seen_is_neither_on_its_way_nor_late() {
    let unseen = waits(None, |seen| seen.permission.credit = Some(acknowledged(0, 800)));
    assert_eq!(unseen, [(VerdictKind::FetchWait, Awaited::UnseenAcknowledgement, 800)]);
    // Lost bytes are the network's, but not while the subscriber had something to acknowledge.
    let lost = waits(None, |seen| {
        seen.permission.credit = Some(acknowledged(300, 100));
        seen.loss.missing = Some((us(100), us(900)));
    });
    let parts = [
        (VerdictKind::FetchWait, Awaited::LateAcknowledgement, 300),
        (VerdictKind::Retransmission, Awaited::Acknowledgement, 500),
    ];
    assert_eq!(lost, parts);
}

#[test]
fn who_is_asked_for_messages_waits_for_no_acknowledgement() {
    let asked = waits(None, |seen| {
        seen.permission.credit = Some(acknowledged(600, 0));
        seen.request.made = Some(us(50));
    });
    assert!(asked.iter().all(|part| part.1 == Awaited::Request), "{asked:?}");
    assert!(asked.iter().all(|part| of(part.0) == of(VerdictKind::FetchWait)), "{asked:?}");
}

/// A consumer that had the answer to its earlier request at 800 µs, and asked at 900 µs: what of this it awaited answers is known.
#[test]
fn a_consumer_that_awaits_an_answer_asks_nothing() {
    let of = |awaited, time| (VerdictKind::FetchWait, awaited, time);
    let asked = |own, missing: Option<(Nanos, Nanos)>| {
        waits(None, |seen| {
            seen.request.made = Some(us(900));
            seen.request.free_since = Some(us(800));
            seen.request.between = us(own);
            seen.loss.missing = missing;
        })
    };
    let late = of(Awaited::Request, 100);
    assert_eq!(asked(0, None)[..2], [of(Awaited::Answer, 700), late]);
    assert_eq!(asked(400, None)[..3], [of(Awaited::Answer, 300), of(Awaited::Request, 400), late]);
    assert_eq!(asked(700, None)[..2], [of(Awaited::Request, 700), late]);
    // What was lost was an answer, and the pause is none of it.
    let lost = (VerdictKind::Retransmission, Awaited::Request, 300);
    assert_eq!(
        asked(300, Some((us(200), us(500))))[..4],
        [lost, of(Awaited::Answer, 100), of(Awaited::Request, 300), late]
    );
}

/// A consumer that had answers, and had not asked again, for 400 µs, and then for 100 µs: of both it slept nine tenths.
#[test]
fn a_consumer_that_sleeps_before_an_earlier_request_is_late_with_that() {
    let asleep = OffCpu { asleep: us(450), ..OffCpu::NONE };
    let asked = waits(Some(&asleep), |seen| {
        seen.request.made = Some(us(900));
        seen.request.free_since = Some(us(800));
        seen.request.between = us(400);
    });
    let parts = [
        (VerdictKind::FetchWait, Awaited::Answer, 300),
        (VerdictKind::ClientStalled, Awaited::Request, 360),
        (VerdictKind::ReaderBusy, Awaited::Request, 40),
        (VerdictKind::FetchWait, Awaited::Request, 100),
    ];
    assert_eq!(asked[..4], parts);
}

/// A request was made at 200 µs and was there at 700 µs.
#[test]
fn a_request_on_its_way_is_nobodys_delay() {
    let all = waits(None, |seen| {
        seen.request.made = Some(us(200));
        seen.request.there = Some(us(700));
    });
    assert!(all.contains(&(VerdictKind::FetchWait, Awaited::Answer, 500)), "{all:?}");
}
