//! The ports that placed processes meet at.

use crate::broker::Broker;
use crate::plan::Plan;
use crate::trial::Trial;
use std::ops::Range;
use wirelap_contract::LinkTransport;

/// Ports to choose from: below those that kernels give to clients (32768 of `net.ipv4.ip_local_port_range`), and above most that are registered.
const PORTS: Range<u16> = 20_000..30_000;

/// A port that is probably free on all hosts.
pub fn chosen() -> u16 {
    fastrand::u16(PORTS)
}

/// The ports of all trials; none if the messages of some pass at others, so that everything must be observed.
pub fn traced_ports(plan: &Plan) -> Vec<u16> {
    let mut ports = Vec::new();
    for trial in &plan.trials {
        let Some(port) = port(trial) else { return Vec::new() };
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    ports
}

/// The port of a trial; `None` if its messages pass at others.
fn port(trial: &Trial) -> Option<u16> {
    match &trial.broker {
        _ if trial.transport() != Some(LinkTransport::Tcp) => None,
        Some(Broker::Running(address)) => address.rsplit_once(':')?.1.parse().ok(),
        Some(Broker::Own(_)) | None => Some(trial.workloads.port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::tests::world;
    use crate::plan::plan;
    use crate::request::tests::request;

    #[test]
    fn ports_are_known_where_all_messages_pass_at_them() {
        let of = |words: &str| {
            let mut request = request(words);
            request.workloads.port = 20_001;
            traced_ports(&plan(&request, &world()).unwrap())
        };
        assert_eq!(of("latency --on tcp,mqtt --broker rumqttd"), [20_001]);
        assert_eq!(of("latency --on mqtt --broker 10.0.0.9:1883"), [1883]);
        assert!(of("latency --on tcp,dds").is_empty());
        assert!(PORTS.contains(&chosen()));
    }
}
