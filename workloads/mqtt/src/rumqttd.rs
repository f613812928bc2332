//! The embedded broker, rumqttd.

use crate::settings::{self, BROKER_NODELAY, IN_FLIGHT, MAX_PACKET};
use anyhow::{Context, Result, anyhow, bail};
use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};
use rustix::net::sockopt::set_tcp_nodelay;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_contract::Spec;
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts};
use wirelap_harness::own_sockets::{self, Waiting};

const START_LIMIT: Duration = Duration::from_secs(10);
/// Memory that the broker may keep messages in. It keeps them in segments, and whoever falls behind
/// by more than all segments loses messages; nobody is slowed down.
const RETAINED: usize = 256 << 20;
/// Bytes of a message beside its payload.
const PER_MESSAGE: usize = 400;
const SEGMENTS: usize = 16;
const MAX_CONNECTIONS: usize = 1000;
/// Messages that a subscriber gets in one turn.
const OUTGOING: u64 = 200;

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let address = link::resolve(&spec.endpoint)?;
    let nodelay = settings::nodelay(spec, BROKER_NODELAY)?;
    let ended = Arc::new(AtomicBool::new(false));
    start(config(spec, address), ended.clone(), control.clone())?;
    let Some(waiting) = wait_for_listener(address, &ended, control)? else {
        return Ok(());
    };
    // rumqttd has no option for it, but Linux gives an accepted socket the setting of its listener
    // (net/ipv4/tcp_minisocks.c copies the whole socket). Without it QoS 1 meets Nagle and delayed ACKs.
    set_tcp_nodelay(&waiting.socket, nodelay).context("cannot set TCP_NODELAY")?;
    control.say_ready(std::process::id(), facts(spec, nodelay, waiting.address));
    drop(waiting);
    control.wait_until(None, || ended.load(Ordering::Acquire))?;
    if ended.load(Ordering::Acquire) && !control.stopped() {
        bail!("rumqttd ended by itself");
    }
    Ok(())
}

fn start(config: Config, ended: Arc<AtomicBool>, control: Control) -> Result<()> {
    let broker = move || {
        // It logs why it ends and returns success.
        let _ = Broker::new(config).start();
        ended.store(true, Ordering::Release);
        control.wake();
    };
    thread::Builder::new().name("rumqttd".into()).spawn(broker).context("cannot start a thread")?;
    Ok(())
}

/// `None` when told to stop.
fn wait_for_listener(
    address: SocketAddr,
    ended: &AtomicBool,
    control: &Control,
) -> Result<Option<Waiting>> {
    let deadline = Instant::now() + START_LIMIT;
    loop {
        if let Some(waiting) = own_sockets::listening()?.pop() {
            return Ok(Some(waiting));
        }
        if ended.load(Ordering::Acquire) {
            return Err(why_not(address));
        }
        if control.stopped() {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            bail!("rumqttd did not listen on {address} within {} s", START_LIMIT.as_secs());
        }
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// Why nobody can listen on `address`.
fn why_not(address: SocketAddr) -> anyhow::Error {
    match TcpListener::bind(address) {
        Ok(_) => anyhow!("rumqttd could not listen on {address}"),
        Err(error) => link::explain(&error, address),
    }
}

fn config(spec: &Spec, listen: SocketAddr) -> Config {
    let connections = ConnectionSettings {
        connection_timeout_ms: 60_000,
        max_payload_size: MAX_PACKET,
        max_inflight_count: IN_FLIGHT.into(),
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    let server = ServerSettings {
        name: "mqtt".into(),
        listen,
        tls: None,
        next_connection_delay_ms: 1,
        connections,
    };
    let router = RouterConfig {
        max_connections: (spec.topology.broker_connections() as usize)
            .saturating_add(MAX_CONNECTIONS),
        max_outgoing_packet_count: OUTGOING,
        max_segment_size: segment_bytes(spec.payload),
        max_segment_count: SEGMENTS,
        ..RouterConfig::default()
    };
    Config { router, v4: Some([("1".into(), server)].into()), ..Config::default() }
}

/// A segment's size by rumqttd's count, which leaves out what a message takes beside its payload.
fn segment_bytes(payload: usize) -> usize {
    let messages = RETAINED / (payload + PER_MESSAGE);
    (messages * payload / SEGMENTS).max(payload).max(64 << 10)
}

fn facts(spec: &Spec, nodelay: bool, address: SocketAddr) -> Facts {
    Facts::at(address)
        .version("rumqttd", env!("WIRELAP_RUMQTTD"))
        .setting("TCP_NODELAY", nodelay)
        .setting("max_segment_size", segment_bytes(spec.payload))
        .setting("max_segment_count", SEGMENTS)
        .setting("max_inflight_count", IN_FLIGHT)
        .setting("max_outgoing_packet_count", OUTGOING)
}
