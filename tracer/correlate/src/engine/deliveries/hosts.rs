//! The hosts at the ends of legs, where events are of several hosts, and the error of times between them.

use wirelap_events::{HostBounds, Leg, LegHosts, Nanos, SocketId, Stage};
use wirelap_flow::{Direction, Flow, FlowTable, PacketTimes, Path};

/// How exact times between hosts are; without bounds, all events are of one host.
#[derive(Debug, Default)]
pub struct HostClocks {
    pub bounds: Option<HostBounds>,
}

impl HostClocks {
    /// Notes the hosts at the ends of a direction, as far as they are known now.
    pub fn note(&self, direction: Direction, flows: &mut FlowTable) {
        if let Some(bounds) = &self.bounds
            && let Some(flow) = flows.flow_mut(direction)
        {
            let [from, to] = flow.ends_on();
            flow.set_hosts(hosts(bounds, from, to));
        }
    }

    /// The hosts at the ends of a path of a flow.
    pub fn of_path(&self, flow: &Flow, path: &Path<'_>) -> LegHosts {
        let leaves = [path.publish, path.send, path.sent, path.lost, path.queue, path.xmit];
        let comes = [path.rx, path.ready, path.read];
        let reader = path.reader.and_then(|reader| reader.socket);
        let is_any = |seen: &[Option<Nanos>]| seen.iter().any(Option::is_some);
        self.seen(flow, reader, [is_any(&leaves), is_any(&comes)])
    }

    /// The hosts at which packets of a flow were seen.
    pub fn of_packets(&self, flow: &Flow, seen: &PacketTimes) -> LegHosts {
        self.seen(flow, None, [seen.xmit.is_some(), seen.rx.is_some()])
    }

    /// The hosts at the ends of a flow, or of one of its readers. Where one end was not seen, all times are of the other.
    fn seen(&self, flow: &Flow, reader: Option<SocketId>, [leaves, comes]: [bool; 2]) -> LegHosts {
        let Some(bounds) = &self.bounds else { return LegHosts::default() };
        let [from, to] = flow.ends_on();
        let to = reader.map(SocketId::host).or(to);
        match [leaves, comes] {
            [true, true] => hosts(bounds, from, to),
            [true, false] => hosts(bounds, from, from),
            [false, _] => hosts(bounds, to, to),
        }
    }

    /// The largest error of the time from the first stage of these legs to the last.
    pub fn error_over(&self, legs: &[Leg]) -> Nanos {
        let Some((bounds, (first, last))) = self.bounds.as_ref().zip(legs.first().zip(legs.last()))
        else {
            return Nanos(0);
        };
        let begins = first.times.seen().next().is_some_and(|(stage, _)| stage < Stage::Rx);
        let ends = last.times.seen().next_back().is_some_and(|(stage, _)| stage < Stage::Rx);
        let host = |leg: &Leg, leaves| {
            let LegHosts { from, to, .. } = leg.circumstances.path.hosts;
            let host = if leaves { from } else { to };
            (host != 0).then_some(host)
        };
        hosts(bounds, host(first, begins), host(last, ends)).error
    }
}

/// Two hosts, and the error of times between them. Of a host that is not known, it is not known that it is another.
fn hosts(bounds: &HostBounds, from: Option<u8>, to: Option<u8>) -> LegHosts {
    let error = match (from, to) {
        (Some(from), Some(to)) => bounds.bound(from, to).unwrap_or(LegHosts::UNKNOWN),
        _ => Nanos(0),
    };
    LegHosts { from: from.unwrap_or(0), to: to.unwrap_or(0), error }
}
