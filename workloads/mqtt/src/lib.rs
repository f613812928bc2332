//! MQTT 3.1.1: `client` (rumqttc) for all roles, and two brokers to run: `rumqttd` (embedded, the
//! default) and `mosquitto` (a child process).

mod client;
mod event_loops;
mod mosquitto;
#[cfg(feature = "rumqttd")]
mod rumqttd;
mod settings;

use anyhow::{Result, bail};
use settings::{BROKER_NODELAY, CLIENT_NODELAY, MAX_PAYLOAD};
#[cfg(feature = "rumqttd")]
use wirelap_contract::Availability;
use wirelap_contract::{About, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// The middleware `mqtt`.
pub struct MqttWorkload;

impl Family for MqttWorkload {
    fn about(&self) -> About {
        let about = "MQTT through a broker (rumqttc)";
        let about = About::new("mqtt", about, MAX_PAYLOAD, &[LinkTransport::Tcp]);
        #[cfg(feature = "rumqttd")]
        let about = about.broker("rumqttd", Availability::BuiltIn);
        about
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
            #[cfg(feature = "rumqttd")]
            None | Some("rumqttd") => rumqttd::serve(spec, control),
            Some("mosquitto") => mosquitto::serve(spec, control),
            Some(other) => bail!("--broker {other}: known brokers are rumqttd and mosquitto"),
            #[cfg(not(feature = "rumqttd"))]
            None => bail!(
                "this program was built without the broker rumqttd: name another one with --broker"
            ),
        }
    }
}
