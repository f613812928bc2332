//! MQTT 3.1.1: `client` (rumqttc) for all roles, and two brokers to run: `rumqttd` (embedded, the
//! default) and `mosquitto` (a child process).

mod client;
mod event_loops;
mod mosquitto;
mod rumqttd;
mod settings;

use anyhow::{Result, bail};
use settings::{BROKER_NODELAY, CLIENT_NODELAY, MAX_PAYLOAD};
use wirelap_contract::{About, Availability, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// The middleware `mqtt`.
pub struct Mqtt;

impl Family for Mqtt {
    fn about(&self) -> About {
        About::new("mqtt", "MQTT through a broker (rumqttc)", MAX_PAYLOAD, &[LinkTransport::Tcp])
            .broker("rumqttd", Availability::BuiltIn)
            .broker("mosquitto", mosquitto::availability())
            .scaling(Scaling::BROKERED)
            .setting(CLIENT_NODELAY, "as --nodelay", "TCP_NODELAY of the clients: true or false")
            .setting(BROKER_NODELAY, "as --nodelay", "TCP_NODELAY of the broker: true or false")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        client::open(spec, handler, control)
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        match spec.broker.as_deref() {
            None | Some("rumqttd") => rumqttd::serve(spec, control),
            Some("mosquitto") => mosquitto::serve(spec, control),
            Some(other) => bail!("--broker {other}: known brokers are rumqttd and mosquitto"),
        }
    }
}
