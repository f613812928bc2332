//! The usual remedies against a verdict: in the middleware's own words where its protocol has some, and in general ones otherwise.

use super::phrases::own_remedies;
use super::verdicts::{
    VerdictWords, cpu_throttled, fetch_wait, of_proxy, run_queue_contention, sender_batching,
    subscriber_away,
};
use std::borrow::Cow;
use wirelap_correlate::{Remedy, Verdict, Why};
use wirelap_protocols::broker;

/// The usual remedy, in one sentence without a full stop; empty where none is known. `why` is the list that the verdict is from.
pub fn remedy(verdict: &Verdict, why: &Why) -> String {
    match &verdict.remedy {
        Remedy::None => String::new(),
        Remedy::Usual(circumstance) => {
            let words = VerdictWords::of(verdict.kind);
            (words.of_verdict)(verdict, why).unwrap_or_else(|| {
                let is_at_proxy = verdict.is_at_proxy;
                // What a broker or a protocol calls its own settings, a proxy does not have.
                let own = if is_at_proxy { None } else { own(words, why) };
                let usual = || of_proxy((words.remedy)(*circumstance), is_at_proxy);
                own.map_or_else(usual, Cow::Borrowed).into_owned()
            })
        }
        Remedy::CpuLimit(quota) => cpu_throttled::cpu_limit(quota.as_deref()),
        Remedy::Commit => fetch_wait::COMMIT.to_owned(),
        Remedy::MoreRequests => sender_batching::MORE_REQUESTS.to_owned(),
        Remedy::OwnNames => subscriber_away::OWN_NAMES.to_owned(),
        Remedy::TraceLess => run_queue_contention::TRACE_LESS.to_owned(),
        Remedy::OutsideReceive => "look at what the process waits for outside its receive call: a lock, a disk, a sleep, another service".into(),
    }
}

/// The remedy of the implementation, the broker or the protocol; `None` if none has one of its own.
fn own(words: &VerdictWords, why: &Why) -> Option<&'static str> {
    let own = own_remedies(why);
    let of_broker = why.broker.as_deref().and_then(broker);
    (words.own_remedy)(own.of(why.implementation), of_broker)
        .or_else(|| (words.own_remedy)(own, of_broker))
}

#[cfg(test)]
mod tests {
    use super::super::verdicts::cpu_throttled;
    use super::*;
    use wirelap_correlate::{Circumstance, Clause, Severity, VerdictKind};
    use wirelap_events::{Quota, Segment};

    fn of(kind: VerdictKind, at_broker: bool, protocol: &'static str, broker: &str) -> String {
        let circumstance = Circumstance { at_broker, ..Circumstance::in_segment(Segment::Wire) };
        let why = Why { protocol, broker: Some(broker.to_owned()), ..Why::default() };
        let remedy_of = Remedy::Usual(circumstance);
        let verdict = Verdict { remedy: remedy_of, ..Verdict::new(kind, Severity::Problem) };
        remedy(&verdict, &why)
    }

    #[test]
    fn a_broker_has_its_own_words_and_its_clients_theirs() {
        let nagle = |at_broker, broker| of(VerdictKind::NagleDelayedAck, at_broker, "mqtt", broker);
        assert_eq!(nagle(true, "mosquitto"), "`set_tcp_nodelay true` in mosquitto.conf");
        assert_eq!(nagle(true, "emqx"), "set TCP_NODELAY on the sockets of emqx");
        assert!(nagle(false, "mosquitto").contains("rumqttc"));
        let cpu = |protocol, broker| of(VerdictKind::BrokerCpuBound, true, protocol, broker);
        assert!(cpu("mqtt", "mosquitto").starts_with("mosquitto has one thread"));
        assert!(cpu("mqtt", "emqx").starts_with("give the broker more CPU"));
        assert!(cpu("kafka", "java").contains("num.io.threads"));
    }

    #[test]
    fn an_implementation_has_its_own_words_and_several_have_what_holds_for_all() {
        let of = |kind, implementation| {
            let why = Why { protocol: "dds", implementation, ..Why::default() };
            let remedy_of = Remedy::Usual(Circumstance::in_segment(Segment::Wire));
            remedy(&Verdict { remedy: remedy_of, ..Verdict::new(kind, Severity::Problem) }, &why)
        };
        let overflow = |implementation| of(VerdictKind::QueueOverflow, implementation);
        assert!(overflow("Cyclone DDS").contains("SocketReceiveBufferSize"));
        assert!(overflow("Fast DDS").contains("listenSocketBufferSize"));
        assert!(overflow("RTI Connext DDS").contains("recv_socket_buffer_size"));
        for unknown in ["", "another implementation"] {
            let text = overflow(unknown);
            assert!(!text.contains('`') && text.contains("net.core.rmem_max"), "{text}");
        }
        assert!(!of(VerdictKind::SenderBatching, "Fast DDS").contains("dds_write"));
        assert!(of(VerdictKind::NeverDelivered, "Fast DDS").contains("transient-local"));
    }

    #[test]
    fn who_waits_for_acknowledgements_is_told_how_to_need_fewer() {
        let of = |protocol| {
            let why = Why { protocol, ..Why::default() };
            let remedy_of = Remedy::Usual(Circumstance::in_segment(Segment::BrokerDwell));
            let evidence = vec![Clause::AcknowledgementUnderWay];
            let new = Verdict::new(VerdictKind::FetchWait, Severity::Problem);
            remedy(&Verdict { remedy: remedy_of, evidence, ..new }, &why)
        };
        assert!(of("mqtt").contains("max_inflight_messages"));
        assert!(of("amqp").contains("prefetch"));
        assert!(of("nats").contains("max_ack_pending"));
        assert!(of("zenoh").starts_with("raise how many messages"));
    }

    #[test]
    fn a_middleware_without_words_of_its_own_gets_general_ones() {
        let batching = |protocol| of(VerdictKind::SenderBatching, false, protocol, "");
        assert!(batching("kafka").contains("linger.ms"));
        let general = "lower the sender's batching or linger time, or flush after publishing";
        assert_eq!(
            (batching("mqtt").as_str(), batching("unheard of").as_str()),
            (general, general)
        );
        // Every kind has some.
        for kind in VerdictKind::ALL {
            assert!(!of(kind, false, "", "").is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn the_limit_is_called_what_it_is_called_there() {
        let name = "/docker/0123".try_into().unwrap();
        let v1 = cpu_throttled::cpu_limit(Some(&Quota { name, is_v2: false, ..Quota::default() }));
        let v2 = cpu_throttled::cpu_limit(Some(&Quota { name, is_v2: true, ..Quota::default() }));
        assert!(v1.contains("/docker/0123 or take it away: `cpu.cfs_quota_us`"), "{v1}");
        assert!(v2.contains("`cpu.max`"), "{v2}");
    }
}
