//! The broker `mock`: librdkafka's own test broker, in this process. It keeps everything in memory and little of it,
//! knows no replicas and no disk, and answers a fetch with one batch: it shows the protocol and the client, not
//! what Kafka can do.

use crate::settings::{self, MOCK};
use crate::topics;
use anyhow::{Context, Result, ensure};
use rdkafka::mocking::MockCluster;
use rustix::net::sockopt::set_tcp_nodelay;
use std::net::{Ipv4Addr, SocketAddr};
use wirelap_contract::{Role, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts};
use wirelap_harness::own_sockets;

/// Size of a partition that the mock keeps (`rdkafka_mock.c`, `rd_kafka_mock_partition_init`); older batches are gone, whether
/// they were fetched or not.
const RETAINED: &str = "5 MiB or 100000 batches a partition";

/// The largest payload: of two batches that are too much together, it loses both.
const LARGEST: usize = 2 << 20;

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let asked = link::resolve(&spec.endpoint)?;
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ensure!(
        asked == any,
        "--endpoint {asked}: the mock broker chooses its port itself, on 127.0.0.1: leave it away, or use \
         --broker apache"
    );
    ensure!(
        spec.payload <= LARGEST,
        "--payload {}: the mock broker carries at most {LARGEST} bytes: use --broker apache",
        spec.payload
    );
    let partitions = settings::partitions(spec)?;
    let cluster = MockCluster::new(1).context("cannot start the mock broker")?;
    for role in [Role::Pub, Role::Pong] {
        let spec = Spec { role, ..spec.clone() };
        if let Some(topic) = link::RoleTopics::of(&spec).outgoing {
            cluster
                .create_topic(&topics::name(&topic)?, partitions, 1)
                .with_context(|| format!("cannot make the topic {topic}"))?;
        }
    }
    // It has no option for it, but Linux gives an accepted socket the setting of its listener.
    for waiting in own_sockets::listening()? {
        set_tcp_nodelay(&waiting.socket, spec.nodelay).context("cannot set TCP_NODELAY")?;
    }
    control.say_ready(std::process::id(), facts(spec, &cluster.bootstrap_servers(), partitions));
    control.wait_until(None, || false)?;
    Ok(())
}

fn facts(spec: &Spec, address: &str, partitions: i32) -> Facts {
    let version = rdkafka::util::get_rdkafka_version().1;
    Facts::at(address)
        .version("librdkafka mock broker", &version)
        .setting("broker", format!("{MOCK}: librdkafka's test broker, not Apache Kafka"))
        .setting("retained", RETAINED)
        .setting("partitions", partitions)
        .setting("TCP_NODELAY", spec.nodelay)
}
