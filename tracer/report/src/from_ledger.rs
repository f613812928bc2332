//! Conversions from the correlator's overhead ledger.

use crate::{EthernetBytes, LegBytes, OperationBytes, Overhead, PartsBytes, PerMessageBytes};
use wirelap_correlate::{Detail, Framed, Operation, Overhead as Ledger, Part, Parts};

impl From<&Ledger> for Overhead {
    fn from(ledger: &Ledger) -> Overhead {
        let each = |bytes: u64| match ledger.deliveries {
            0 => 0.0,
            deliveries => bytes as f64 / deliveries as f64,
        };
        Overhead {
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
            parts_bytes: (&ledger.detail.parts()).into(),
            legs: legs(&ledger.detail),
            operations: operations(&ledger.detail),
            ethernet: ledger.detail.framed.into(),
            retransmissions: ledger.detail.retransmissions,
        }
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
        let overhead = Overhead::from(&ledger);
        let each = (1 << Part::COUNT) - 1;
        assert_eq!(overhead.parts_bytes.total(), each * 7);
        let legs: Vec<_> = overhead.legs.iter().map(|leg| (leg.leg, leg.total_bytes)).collect();
        assert_eq!(legs, [(0, each), (1, each * 2), (2, each * 4)]);
        assert!(overhead.legs.iter().all(|leg| leg.parts_bytes.total() == leg.total_bytes));
    }

    #[test]
    fn an_operation_that_did_not_occur_is_left_out() {
        let mut ledger = Ledger::default();
        ledger.detail.operations[Operation::Publish as usize] =
            wirelap_correlate::Cost { count: 4, bytes: 26 };
        let [publish] = Overhead::from(&ledger).operations.try_into().unwrap();
        assert_eq!((publish.operation.as_str(), publish.count), ("publish", 4));
        assert!((publish.mean_bytes - 6.5).abs() < 1e-12);
    }
}
