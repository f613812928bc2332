//! Pairs the results of A with those of B.

use crate::comparison::{Unpaired, WhichSide};
use wirelap_report::{RunResult, human};

/// A result with the rate that its run was made with.
#[derive(Clone, Copy, Debug)]
pub struct Rated<'a> {
    /// The result.
    pub result: &'a RunResult,
    /// Messages per second, if pacing is a rate.
    pub rate_msg_per_s: Option<f64>,
    /// True if the variant is one of the things that must be the same.
    pub by_variant: bool,
}

/// The properties that two variants do not have in common, because they differ in them: their results need not agree on these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Varied {
    broker: bool,
    payload: bool,
    rate: bool,
}

impl Varied {
    /// The properties that no result of a middleware on one side has in common with any on the other.
    fn of(middleware: &str, a: &[Rated<'_>], b: &[Rated<'_>]) -> Varied {
        let of = |one: &&Rated<'_>| one.result.middleware == middleware;
        let none = |same: fn(&Rated<'_>, &Rated<'_>) -> bool| {
            !a.iter().filter(of).any(|one| b.iter().filter(of).any(|other| same(one, other)))
        };
        Varied {
            broker: none(|a, b| a.result.broker == b.result.broker),
            payload: none(|a, b| a.result.payload_bytes == b.result.payload_bytes),
            rate: none(|a, b| a.rate_msg_per_s == b.rate_msg_per_s),
        }
    }
}

impl Rated<'_> {
    /// `mqtt/mosquitto 64 B`, `mqtt A 64 B at 5 k msg/s`, `mqtt/mosquitto at 100 connections/s`.
    pub fn name(&self) -> String {
        let name = if self.by_variant { self.result.label() } else { self.result.name() };
        let opens = self.result.topology.as_ref().is_some_and(|topology| topology.connections > 0);
        let name = if opens {
            name
        } else {
            format!("{name} {}", human::bytes(self.result.payload_bytes as f64))
        };
        match self.rate_msg_per_s {
            Some(rate) if opens => format!("{name} at {} connections/s", human::count(rate)),
            Some(rate) => format!("{name} at {} msg/s", human::count(rate)),
            None => name,
        }
    }

    fn belongs_to(&self, other: &Rated, varied: Varied) -> bool {
        let (a, b) = (self.result, other.result);
        a.middleware == b.middleware
            && (varied.broker || a.broker == b.broker)
            && (varied.payload || a.payload_bytes == b.payload_bytes)
            && (varied.rate || self.rate_msg_per_s == other.rate_msg_per_s)
            && (!self.by_variant || a.variant == b.variant)
    }
}

/// The pairs in the order of A, and the results without a counterpart. What is compared may differ `by_variant`: what a
/// middleware's results of both sides have never in common.
pub fn pair<'a>(
    a: &[Rated<'a>],
    b: &[Rated<'a>],
    by_variant: bool,
) -> (Vec<(Rated<'a>, Rated<'a>)>, Vec<Unpaired>) {
    let varied = |one: &Rated<'_>| {
        if by_variant { Varied::of(&one.result.middleware, a, b) } else { Varied::default() }
    };
    let mut left: Vec<Rated> = b.to_vec();
    let (mut pairs, mut unpaired) = (Vec::new(), Vec::new());
    for one in a {
        match left.iter().position(|other| one.belongs_to(other, varied(one))) {
            Some(index) => pairs.push((*one, left.remove(index))),
            None => unpaired.push(Unpaired { side: WhichSide::A, name: one.name() }),
        }
    }
    let rest = left.iter().map(|one| Unpaired { side: WhichSide::B, name: one.name() });
    unpaired.extend(rest);
    (pairs, unpaired)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(middleware: &str, broker: Option<&str>, payload_bytes: u64) -> RunResult {
        RunResult {
            middleware: middleware.into(),
            broker: broker.map(str::to_owned),
            payload_bytes,
            ..RunResult::default()
        }
    }

    fn rated(results: &[RunResult], rate_msg_per_s: Option<f64>) -> Vec<Rated<'_>> {
        let rated = results.iter().map(|result| Rated { result, rate_msg_per_s, by_variant: true });
        rated.collect()
    }

    #[test]
    fn results_belong_together_by_middleware_broker_payload_and_rate() {
        let a = [result("tcp", None, 64), result("mqtt", Some("mosquitto"), 64)];
        let b = [
            result("mqtt", Some("rumqttd"), 64),
            result("tcp", None, 64),
            result("tcp", None, 1024),
        ];
        let pair = |a: &[Rated], b: &[Rated]| {
            let (pairs, unpaired) = pair(a, b, false);
            (pairs.iter().map(|(_, b)| b.name()).collect::<Vec<_>>(), unpaired)
        };
        let (pairs, unpaired) = pair(&rated(&a, None), &rated(&b, None));
        assert_eq!(pairs.len(), 1);
        assert_eq!(pairs[0], "tcp 64 B");
        let names: Vec<&str> = unpaired.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["mqtt/mosquitto 64 B", "mqtt/rumqttd 64 B", "tcp 1 KiB"]);
        let (pairs, unpaired) = pair(&rated(&a, Some(5000.0)), &rated(&a, Some(6000.0)));
        assert!(pairs.is_empty());
        assert_eq!(unpaired[3].name, "mqtt/mosquitto 64 B at 6 k msg/s");
    }

    #[test]
    fn variants_of_two_files_belong_together_by_variant() {
        let variant =
            |variant: &str| RunResult { variant: Some(variant.into()), ..result("mqtt", None, 64) };
        let (a, b) = ([variant("A"), variant("B")], [variant("B")]);
        let (pairs, unpaired) = pair(&rated(&a, None), &rated(&b, None), false);
        assert_eq!((pairs.len(), unpaired[0].name.as_str()), (1, "mqtt A 64 B"));
        assert_eq!(pairs[0].0.name(), "mqtt B 64 B");
    }

    #[test]
    fn variants_may_differ_in_what_is_compared() {
        let variant = |variant: &str, broker: &str, payload| RunResult {
            variant: Some(variant.into()),
            ..result("mqtt", Some(broker), payload)
        };
        let a = [variant("A", "rumqttd", 64), variant("A", "rumqttd", 1024)];
        let b = [variant("B", "mosquitto", 64), variant("B", "mosquitto", 1024)];
        let (mut a, mut b) = (rated(&a, None), rated(&b, None));
        a.iter_mut().chain(&mut b).for_each(|one| one.by_variant = false);
        let (pairs, unpaired) = pair(&a, &b, true);
        let names: Vec<_> = pairs.iter().map(|(a, b)| (a.name(), b.name())).collect();
        assert_eq!(names[1], ("mqtt/rumqttd 1 KiB".to_owned(), "mqtt/mosquitto 1 KiB".to_owned()));
        assert_eq!((names.len(), unpaired.len()), (2, 0));
    }

    #[test]
    fn what_differs_of_one_middleware_may_be_the_same_of_another() {
        let a = [result("tcp", None, 64), result("mqtt", Some("rumqttd"), 64)];
        let b = [result("tcp", None, 64), result("mqtt", Some("mosquitto"), 64)];
        let (pairs, unpaired) = pair(&rated(&a, None), &rated(&b, None), true);
        assert_eq!((pairs.len(), unpaired.len()), (2, 0));
    }
}
