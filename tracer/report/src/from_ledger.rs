//! Conversions from the correlator's overhead ledger.

use crate::{
    EthernetBytes, LayersBytes, LegBytes, OperationBytes, PartsBytes, PerMessageBytes,
    ReportedOverhead,
};
use wirelap_correlate::{
    Detail, Framed, Operation, OperationCost, Overhead as Ledger, Part, Parts,
};

impl From<&Ledger> for ReportedOverhead {
    fn from(ledger: &Ledger) -> ReportedOverhead {
        let each = |bytes: u64| match ledger.deliveries {
            0 => 0.0,
            deliveries => bytes as f64 / deliveries as f64,
        };
        ReportedOverhead {
            per_message_bytes: PerMessageBytes {
                payload: each(ledger.payload),
                protocol: each(ledger.protocol),
                control: each(ledger.control),
                transport: each(ledger.transport),
                network: each(ledger.network),
                link: each(ledger.link),
                retransmitted: each(ledger.retransmitted),
                opaque: each(ledger.opaque),
            },
            ratio: ledger.ratio().unwrap_or_default(),
            total_bytes: ledger.total(),
            packets: ledger.packets,
            deliveries: ledger.deliveries,
            layers_bytes: LayersBytes {
                payload: ledger.payload,
                protocol: ledger.protocol,
                control: ledger.control,
                transport: ledger.transport,
                network: ledger.network,
                link: ledger.link,
                retransmitted: ledger.retransmitted,
                opaque: ledger.opaque,
            },
            parts_bytes: (&ledger.detail.parts()).into(),
            legs: legs(&ledger.detail),
            operations: operations(&ledger.detail),
            ethernet: ledger.detail.framed.into(),
            retransmissions: ledger.detail.retransmissions,
        }
    }
}

/// The ledger that a report was made of, so that those of several repetitions can be added.
impl From<&ReportedOverhead> for Ledger {
    fn from(overhead: &ReportedOverhead) -> Ledger {
        let layers = &overhead.layers_bytes;
        let mut ledger = Ledger {
            payload: layers.payload,
            protocol: layers.protocol,
            control: layers.control,
            opaque: layers.opaque,
            transport: layers.transport,
            network: layers.network,
            link: layers.link,
            retransmitted: layers.retransmitted,
            deliveries: overhead.deliveries,
            packets: overhead.packets,
            detail: Detail::default(),
        };
        let detail = &mut ledger.detail;
        for leg in &overhead.legs {
            if let Some(parts) = detail.legs.get_mut(usize::from(leg.leg)) {
                *parts = (&leg.parts_bytes).into();
            }
        }
        for (operation, cost) in Operation::ALL.into_iter().zip(&mut detail.operations) {
            let named = |one: &&OperationBytes| one.operation == operation.name();
            if let Some(one) = overhead.operations.iter().find(named) {
                *cost = OperationCost { count: one.count, bytes: one.total_bytes };
            }
        }
        let EthernetBytes { frames, frame_bytes, .. } = overhead.ethernet;
        detail.framed = Framed { frames, bytes: frame_bytes };
        detail.retransmissions = overhead.retransmissions;
        ledger
    }
}

fn legs(detail: &Detail) -> Vec<LegBytes> {
    let legs = (0..).zip(&detail.legs).map(|(leg, parts)| LegBytes {
        leg,
        total_bytes: parts.total(),
        parts_bytes: parts.into(),
    });
    legs.filter(|leg| leg.total_bytes > 0).collect()
}

fn operations(detail: &Detail) -> Vec<OperationBytes> {
    let occurred = |operation: &Operation| detail.cost(*operation).bytes > 0;
    let cost = |operation: Operation| {
        let cost = detail.cost(operation);
        let mean = if cost.count > 0 { cost.bytes as f64 / cost.count as f64 } else { 0.0 };
        OperationBytes {
            operation: operation.name().to_owned(),
            count: cost.count,
            total_bytes: cost.bytes,
            mean_bytes: mean,
        }
    };
    Operation::ALL.into_iter().filter(occurred).map(cost).collect()
}

impl From<&Parts> for PartsBytes {
    fn from(parts: &Parts) -> PartsBytes {
        PartsBytes {
            payload: parts[Part::Payload],
            copies: parts[Part::Copies],
            repeats: parts[Part::Repeats],
            header: parts[Part::Header],
            session: parts[Part::Session],
            subscribe: parts[Part::Subscribe],
            ack: parts[Part::Ack],
            keepalive: parts[Part::KeepAlive],
            discovery: parts[Part::Discovery],
            other: parts[Part::Other],
            opaque: parts[Part::Opaque],
            transport: parts[Part::Transport],
            network: parts[Part::Network],
            link: parts[Part::Link],
            pure_ack: parts[Part::PureAck],
            connection: parts[Part::Connection],
            retransmitted: parts[Part::Retransmitted],
        }
    }
}

impl From<&PartsBytes> for Parts {
    fn from(bytes: &PartsBytes) -> Parts {
        let mut parts = Parts::default();
        // Both lists go from the payload outwards to the link.
        for (part, (_, bytes)) in Part::ALL.into_iter().zip(bytes.named()) {
            parts[part] = bytes;
        }
        parts
    }
}

impl From<Framed> for EthernetBytes {
    fn from(framed: Framed) -> EthernetBytes {
        EthernetBytes {
            frames: framed.frames,
            frame_bytes: framed.bytes,
            line_bytes: framed.line_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_every_leg_is_in_the_report() {
        let mut ledger = Ledger { deliveries: 2, ..Ledger::default() };
        for (leg, parts) in ledger.detail.legs.iter_mut().enumerate().take(3) {
            for (place, part) in Part::ALL.into_iter().enumerate() {
                parts[part] = 1 << (place + leg);
            }
        }
        let overhead = ReportedOverhead::from(&ledger);
        let each = (1 << Part::COUNT) - 1;
        assert_eq!(overhead.parts_bytes.total(), each * 7);
        let legs: Vec<_> = overhead.legs.iter().map(|leg| (leg.leg, leg.total_bytes)).collect();
        assert_eq!(legs, [(0, each), (1, each * 2), (2, each * 4)]);
        assert!(overhead.legs.iter().all(|leg| leg.parts_bytes.total() == leg.total_bytes));
    }

    #[test]
    fn a_ledger_can_be_made_of_its_report() {
        let mut ledger = Ledger { deliveries: 7, packets: 9, ..Ledger::default() };
        let layers = [
            &mut ledger.payload,
            &mut ledger.protocol,
            &mut ledger.control,
            &mut ledger.opaque,
            &mut ledger.transport,
            &mut ledger.network,
            &mut ledger.link,
            &mut ledger.retransmitted,
        ];
        layers.into_iter().zip(1..).for_each(|(layer, bytes)| *layer = bytes);
        for (leg, parts) in ledger.detail.legs.iter_mut().enumerate() {
            for (place, part) in Part::ALL.into_iter().enumerate() {
                parts[part] = 1 << (place + leg);
            }
        }
        for (cost, bytes) in ledger.detail.operations.iter_mut().zip(10..) {
            *cost = OperationCost { count: bytes / 2, bytes };
        }
        ledger.detail.framed = Framed { frames: 3, bytes: 900 };
        ledger.detail.retransmissions = 2;
        let report = ReportedOverhead::from(&ledger);
        assert_eq!(Ledger::from(&report), ledger);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<ReportedOverhead>(&text).unwrap(), report);
    }

    #[test]
    fn an_operation_that_did_not_occur_is_left_out() {
        let mut ledger = Ledger::default();
        ledger.detail.operations[Operation::Publish as usize] =
            wirelap_correlate::OperationCost { count: 4, bytes: 26 };
        let [publish] = ReportedOverhead::from(&ledger).operations.try_into().unwrap();
        assert_eq!((publish.operation.as_str(), publish.count), ("publish", 4));
        assert!((publish.mean_bytes - 6.5).abs() < 1e-12);
    }
}
