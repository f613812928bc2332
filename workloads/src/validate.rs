//! Checks of options that the command line's types cannot express.

use anyhow::{Error, Result, ensure};
use wirelap_contract::{About, Role, STAMP_BYTES, Spec};

/// Sequences and counts have 32 bits in a stamp.
const MAX_MESSAGES: u64 = 1 << 32;

/// Refuses values that make no sense, with a sentence that names the limit.
pub fn spec(spec: &Spec, about: &About) -> Result<()> {
    let name = &about.name;
    let (payload, largest) = (spec.payload, about.max_payload);
    ensure!(about.can(spec.role), "{name} has no {}", spec.role.name());
    ensure!(
        payload >= STAMP_BYTES,
        "--payload {payload}: at least {STAMP_BYTES} bytes are needed for the message's stamp"
    );
    ensure!(payload <= largest, "--payload {payload}: {name} carries at most {largest} bytes");
    ensure!(spec.qos <= 2, "--qos {}: MQTT has 0, 1 and 2", spec.qos);
    ensure!(spec.stream < 64, "--stream {}: 0 to 63", spec.stream);
    ensure!(spec.warmup <= MAX_MESSAGES, "--warmup {}: at most {MAX_MESSAGES}", spec.warmup);
    if let Some(messages) = spec.messages {
        ensure!(messages <= MAX_MESSAGES, "--messages {messages}: at most {MAX_MESSAGES}");
    }
    if let Some(rate) = spec.rate {
        ensure!(rate.is_finite() && rate > 0.0, "--rate {rate}: must be more than 0");
    }
    for (name, seconds) in [("--seconds", spec.seconds), ("--warmup-seconds", spec.warmup_seconds)]
    {
        let seconds = seconds.unwrap_or(0.0);
        ensure!((0.0..=1e9).contains(&seconds), "{name} {seconds}: must be 0 or more");
    }
    about.transport(spec.transport).map_err(Error::msg)?;
    topology(spec, about)?;
    for (setting, _) in &spec.set {
        let known = about.settings.iter().any(|known| known.name == *setting);
        ensure!(known, "--set {setting}: {}", known_settings(about));
    }
    Ok(())
}

/// Refuses clients that the middleware cannot have, or that the role does not go with.
fn topology(spec: &Spec, about: &About) -> Result<()> {
    let topology = spec.topology;
    topology.check().and_then(|()| about.check_topology(topology)).map_err(Error::msg)?;
    ensure!(
        topology.handles.is_none() || spec.truth.is_none(),
        "--truth does not go with --handles"
    );
    let pairs = matches!(spec.role, Role::Ping | Role::Pong);
    ensure!(!pairs || topology.is_pair(), "a ping-pong has one publisher and one subscriber");
    ensure!(
        spec.role != Role::Connect || topology.connections > 0,
        "connect needs --connections: how many to open"
    );
    Ok(())
}

fn known_settings(about: &About) -> String {
    let names: Vec<_> = about.settings.iter().map(|setting| setting.name.as_str()).collect();
    match names.as_slice() {
        [] => format!("{} has no settings", about.name),
        names => format!("{} has {}", about.name, names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use wirelap_contract::{LinkTransport, Role};

    fn refused(change: impl FnOnce(&mut Spec)) -> String {
        let mut changed = Spec::new(Role::Pub, "udp");
        change(&mut changed);
        let about = registry::family(&changed.middleware).unwrap().about();
        spec(&changed, &about).unwrap_err().to_string()
    }

    #[test]
    fn nonsense_is_refused_with_the_limit() {
        assert!(refused(|spec| spec.payload = 7).contains("at least 8 bytes"));
        assert!(refused(|spec| spec.role = Role::Broker).contains("udp has no broker"));
        assert!(refused(|spec| spec.set = vec![("a".into(), "1".into())]).contains("no settings"));
        let tcp = Some(LinkTransport::Tcp);
        assert!(
            refused(|spec| {
                spec.middleware = "zenoh-p2p".into();
                spec.transport = tcp;
                spec.payload = 1;
            })
            .contains("at least 8")
        );
        assert!(refused(|spec| spec.payload = 65_508).contains("udp carries at most 65507"));
        assert!(refused(|spec| spec.qos = 3).contains("0, 1 and 2"));
        assert!(refused(|spec| spec.stream = 64).contains("0 to 63"));
        assert!(refused(|spec| spec.rate = Some(0.0)).contains("more than 0"));
        assert!(refused(|spec| spec.rate = Some(f64::NAN)).contains("more than 0"));
        assert!(refused(|spec| spec.seconds = Some(-1.0)).contains("0 or more"));
        assert!(refused(|spec| spec.messages = Some(1 << 33)).contains("at most 4294967296"));
    }

    #[test]
    fn limits_themselves_are_fine() {
        let edge = Spec {
            payload: 65_507,
            qos: 2,
            stream: 63,
            messages: Some(1 << 32),
            ..Spec::new(Role::Pub, "udp")
        };
        let about = registry::family("udp").unwrap().about();
        assert!(spec(&edge, &about).is_ok());
    }
}
