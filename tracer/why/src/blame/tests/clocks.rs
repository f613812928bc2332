//! Times between two hosts.

use super::*;
use wirelap_events::LinkQueue;

/// A leg that spent 2 ms on the wire, nearly all of it in a queue, between hosts whose clocks have this error.
fn queued(error_us: u64) -> Vec<(usize, Segment, Cause, u64)> {
    let stages = [(Stage::Send, 0), (Stage::Xmit, 10), (Stage::Rx, 2_010), (Stage::Read, 2_100)];
    let mut leg = leg(&stages);
    let [from, to] = [10, 2_010].map(Nanos::from_micros);
    leg.circumstances.path.queue =
        Some(LinkQueue { from, to, longest: to - from, least: Nanos(0), rate: 1_000 });
    let hosts = &mut leg.circumstances.path.hosts;
    (hosts.from, hosts.to, hosts.error) = (1, 2, Nanos::from_micros(error_us));
    let found = blamed(vec![leg]);
    found.into_iter().filter(|part| part.1 == Segment::Wire).collect()
}

#[test]
fn a_segment_between_hosts_is_blamed_for_more_than_the_error_of_their_clocks() {
    let wire = |cause| vec![(0, Segment::Wire, cause, 2_000_000)];
    for error_us in [0, 50, 1_999] {
        assert_eq!(queued(error_us), wire(of(VerdictKind::BottleneckLink)), "{error_us}");
    }
    assert_eq!(queued(2_000), wire(Cause::Ordinary));
}

#[test]
fn a_broker_that_waits_for_another_host_is_known_to_do_so_for_longer_than_the_error() {
    let dwell = |error_us: u64| {
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut second = leg(&[(Stage::Send, 3_100), (Stage::Read, 3_200)]);
        second.circumstances.request.made = Some(Nanos::from_micros(3_000));
        let hosts = &mut second.circumstances.path.hosts;
        (hosts.from, hosts.to, hosts.error) = (2, 1, Nanos::from_micros(error_us));
        let found = blamed(vec![first, second]);
        found.iter().any(|part| part.2 == of(VerdictKind::FetchWait))
    };
    assert_eq!([0, 100, 5_000].map(dwell), [true, true, false]);
}
