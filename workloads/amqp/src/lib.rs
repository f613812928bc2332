//! AMQP 0-9-1 through `RabbitMQ`: `client` (lapin) for all roles, `confirms` waits for the broker's confirms, `server` starts the
//! broker.

mod client;
mod confirms;
mod server;
mod settings;

use anyhow::{Result, bail};
use settings::{ACKS, AmqpSettings, CONFIRMS, MAX_PAYLOAD, PREFETCH};
use wirelap_contract::{About, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// The middleware `amqp`.
pub struct AmqpWorkload;

impl Family for AmqpWorkload {
    fn about(&self) -> About {
        let about = "AMQP 0-9-1 through RabbitMQ (lapin)";
        let default = AmqpSettings::default();
        About::new("amqp", about, MAX_PAYLOAD, &[LinkTransport::Tcp])
            .scaling(Scaling::BROKERED)
            .broker(server::NAME, server::availability())
            .setting(CONFIRMS, default.confirms, "true: the broker confirms each message")
            .setting(ACKS, default.acks, "true: the consumer acknowledges what it was delivered")
            .setting(PREFETCH, default.prefetch, "deliveries without an ack at once; 0: no limit")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        client::open(spec, AmqpSettings::of(spec)?, handler, control)
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        match spec.broker.as_deref() {
            None | Some(server::NAME) => server::serve(spec, control),
            Some(other) => bail!("--broker {other}: the only known broker is {}", server::NAME),
        }
    }
}
