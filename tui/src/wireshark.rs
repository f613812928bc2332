//! The display filter with which Wireshark shows the packets of a message.

use std::fmt::Write;
use wirelap_events::{FlowKey, Leg, Nanos, Transport};

/// Time before the first stage and after the last one for which packets are shown: the clocks are compared anew at each start, to
/// within some microseconds.
const MARGIN: Nanos = Nanos::from_micros(10);

/// The filter of a leg: its connection in both directions, so that acknowledgements are shown as well, from its first stage to its
/// last. `wall` is the difference from the clock of the stages to the wall clock, in nanoseconds; without it the filter has no time.
pub fn filter(leg: &Leg, wall: Option<i64>) -> String {
    let mut filter = connection(&leg.flow);
    let first = leg.times.seen().next().map(|(_, at)| at);
    let last = leg.times.seen().next_back().map(|(_, at)| at);
    if let (Some(first), Some(last), Some(wall)) = (first, last, wall) {
        let (from, to) = (epoch(first - MARGIN, wall), epoch(last + MARGIN, wall));
        let _ = write!(filter, " && frame.time_epoch >= {from} && frame.time_epoch <= {to}");
    }
    filter
}

fn connection(flow: &FlowKey) -> String {
    let ip = if flow.src.is_ipv4() { "ip" } else { "ipv6" };
    let transport = match flow.transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    };
    let addresses = [flow.src.ip(), flow.dst.ip()].map(|address| format!("{ip}.addr == {address}"));
    let ports =
        [flow.src.port(), flow.dst.port()].map(|port| format!("{transport}.port == {port}"));
    let mut parts: Vec<String> = addresses.into_iter().chain(ports).collect();
    parts.dedup();
    parts.join(" && ")
}

/// A moment in seconds since 1970, to the nanosecond.
fn epoch(at: Nanos, wall: i64) -> String {
    let at = at.0.saturating_add_signed(wall);
    format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{NetNs, Stage};
    use wirelap_test_support::delivered;

    fn leg(src: &str, dst: &str, transport: Transport) -> Leg {
        let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
        let flow = FlowKey::new(transport, src, dst, NetNs(0));
        Leg { flow, ..delivered::leg(&[(Stage::Send, 11_000), (Stage::Read, 2_000_000_001)]) }
    }

    #[test]
    fn a_filter_has_addresses_ports_and_the_time_of_the_wall_clock() {
        let one = leg("127.0.0.1:40000", "127.0.0.1:1883", Transport::Tcp);
        assert_eq!(
            filter(&one, Some(1_700_000_000_000_000_000)),
            "ip.addr == 127.0.0.1 && tcp.port == 40000 && tcp.port == 1883 \
             && frame.time_epoch >= 1700000000.000001000 && frame.time_epoch <= 1700000002.000010001"
        );
        let two = leg("10.0.0.1:7", "10.0.0.2:7", Transport::Udp);
        assert_eq!(
            filter(&two, None),
            "ip.addr == 10.0.0.1 && ip.addr == 10.0.0.2 && udp.port == 7"
        );
        let six = leg("[fe80::1]:1", "[fe80::2]:2", Transport::Tcp);
        assert!(filter(&six, None).starts_with("ipv6.addr == fe80::1 && ipv6.addr == fe80::2 &&"));
    }
}
