//! Restriction of brokers that cannot be on another host than their clients.

use wirelap_contract::About;

/// Why a middleware's own broker cannot have a host of its own; `None` if it can. `remedy` is what helps beside another broker.
pub fn confined(about: &About, broker: &str, remedy: &str) -> Option<String> {
    let known = about.brokers.iter().find(|known| known.name == broker)?;
    let name = &about.name;
    known.loopback_only.then(|| {
        format!(
            "the {name} broker {broker} cannot have a host of its own, because it listens on 127.0.0.1 alone: name another \
             one with --broker, or {remedy}"
        )
    })
}

/// Why a broker that runs already cannot have a host of its own.
pub fn running(address: &str) -> String {
    format!(
        "the broker at {address} cannot have a host of its own, because it runs already: name a broker that wirelap starts, \
         or run without --hosts"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Availability::BuiltIn;

    #[test]
    fn a_broker_that_listens_on_loopback_alone_is_confined() {
        let about = About::new("kafka", "Kafka", 1, &[]).broker("mock", BuiltIn).loopback_only();
        let about = about.broker("apache", BuiltIn);
        let why = confined(&about, "mock", "run without --hosts").unwrap();
        assert!(why.starts_with("the kafka broker mock cannot have a host of its own"), "{why}");
        assert_eq!(confined(&about, "apache", ""), None);
        assert!(running("127.0.0.1:1883").contains("it runs already"));
    }
}
