//! Kafka: `link` (librdkafka) for all roles, and two brokers to run: `mock`, the test broker that librdkafka brings
//! along, and `apache`, Apache Kafka as a child process.

mod apache;
mod consumer;
mod context;
mod jars;
mod link;
mod mock;
mod producer;
mod settings;
mod topics;
mod window;

use anyhow::{Result, bail};
use settings::{APACHE, MAX_PAYLOAD, MOCK};
use wirelap_contract::{About, Availability, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{Family, Handler, Opened};

/// The middleware `kafka`.
pub struct KafkaWorkload;

impl Family for KafkaWorkload {
    fn about(&self) -> About {
        let about = About::new(
            "kafka",
            "Kafka through a broker (rdkafka); `mock` is librdkafka's test broker",
            MAX_PAYLOAD,
            &[LinkTransport::Tcp],
        )
        .scaling(Scaling { wildcards: false, shared: false, ..Scaling::BROKERED })
        .broker(MOCK, Availability::BuiltIn)
        .loopback_only()
        .broker(APACHE, jars::availability());
        settings::describe(about)
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        link::open(spec, handler, control)
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        match spec.broker.as_deref() {
            None | Some(MOCK) => mock::serve(spec, control),
            Some(APACHE) => apache::serve(spec, control),
            Some(other) => bail!("--broker {other}: known brokers are {MOCK} and {APACHE}"),
        }
    }

    fn fetch(&self) -> Result<()> {
        jars::fetch()
    }
}
