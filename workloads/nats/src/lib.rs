//! NATS through `nats-server`: `client` (async-nats) for all roles, `server` starts the broker, `stream` is what differs
//! with `JetStream`.

mod client;
mod server;
mod settings;
mod stream;

use anyhow::{Result, bail};
use settings::{HTTP_PORT, JETSTREAM, MAX_PAYLOAD, NatsSettings, STORAGE};
use wirelap_contract::{About, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// The middleware `nats`.
pub struct NatsWorkload;

impl Family for NatsWorkload {
    fn about(&self) -> About {
        About::new("nats", "NATS through a server (async-nats)", MAX_PAYLOAD, &[LinkTransport::Tcp])
            .scaling(Scaling::BROKERED)
            .broker(server::PROGRAM, server::availability())
            .setting(
                JETSTREAM,
                false,
                "true: publish into a stream, with acks, and consume in order from it",
            )
            .setting(STORAGE, "memory", "where JetStream keeps messages: memory or file")
            .setting(HTTP_PORT, 0, "port of the server's monitoring pages; 0: none")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        client::open(spec, NatsSettings::of(spec)?, handler, control)
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        match spec.broker.as_deref() {
            None | Some(server::PROGRAM) => server::serve(spec, NatsSettings::of(spec)?, control),
            Some(other) => bail!("--broker {other}: the only known broker is {}", server::PROGRAM),
        }
    }
}
