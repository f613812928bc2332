//! Open files: a connection takes at least one.

use anyhow::{Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wirelap_contract::topology::OTHER_FILES;
use wirelap_contract::{Role, Spec};

/// Most files that a connection has open: some libraries wait for each one apart from the others.
const EACH: u64 = 8;

/// Raises the limit on open files to what the connections of this process take, as far as that is allowed.
pub fn raise(spec: &Spec) -> Result<()> {
    let connections = connections(spec);
    let others = u64::from(OTHER_FILES);
    let (least, wanted) = (connections + others, connections * EACH + others);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let set = |current: u64, maximum: Option<u64>| {
        setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum }).is_ok()
    };
    // Beyond the hard limit, only a privileged process may raise it.
    let hard = maximum.unwrap_or(wanted);
    if set(wanted, Some(hard.max(wanted))) || hard >= least && set(hard, maximum) {
        return Ok(());
    }
    bail!(
        "{connections} connections need {least} open files, and this process may have {hard}: raise the limit with \
         `ulimit -n {least}`, or choose fewer clients"
    )
}

fn connections(spec: &Spec) -> u64 {
    let topology = spec.topology;
    let connections = match spec.role {
        Role::Pub => topology.publisher_connections(),
        Role::Sub => topology.subscribers,
        Role::Ping | Role::Pong => 1,
        Role::Connect => topology.connections,
        Role::Broker => topology.broker_connections(),
    };
    connections.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::{Handles, WorkloadTopology};

    #[test]
    fn a_broker_holds_the_connections_of_all() {
        let topology = WorkloadTopology {
            publishers: 5,
            subscribers: 1000,
            connections: 7,
            ..WorkloadTopology::default()
        };
        let of = |role| connections(&Spec { topology, ..Spec::new(role, "mqtt") });
        assert_eq!([Role::Pub, Role::Sub, Role::Connect, Role::Broker].map(of), [5, 1000, 7, 1012]);
        let shared = WorkloadTopology { handles: Some(Handles::Shared), ..topology };
        assert_eq!(connections(&Spec { topology: shared, ..Spec::new(Role::Pub, "nats") }), 1);
    }
}
