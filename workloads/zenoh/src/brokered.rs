//! Two clients of a router, over TCP.

use crate::link::{Uplink, ZenohLink};
use crate::session::{ConnectMode, Opening};
use crate::{MAX_PAYLOAD, router, zenohd};
use anyhow::{Context, Result, bail};
use wirelap_contract::{About, Availability, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Family, Handler, Opened};

/// The setting that a router stamps messages with its time.
const TIMESTAMPING: &str = "timestamping";

/// The middleware `zenoh-brokered`.
pub struct ZenohBrokered;

impl Family for ZenohBrokered {
    fn about(&self) -> About {
        About::new("zenoh-brokered", "Zenoh through a router", MAX_PAYLOAD, &[LinkTransport::Tcp])
            .scaling(Scaling { shared: false, ..Scaling::BROKERED })
            .broker("router", Availability::BuiltIn)
            .broker("zenohd", zenohd::availability())
            .setting(TIMESTAMPING, true, "the router adds its time to messages: true, false")
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let opening = Opening {
            mode: "client",
            side: ConnectMode::Connect,
            transport: LinkTransport::Tcp,
            address: link::resolve(&spec.endpoint)?,
            timestamping: false,
        };
        let uplink = Uplink {
            session: opening.open()?,
            router: Some(opening.address),
            is_lossless: opening.transport == LinkTransport::Tcp,
        };
        let link = ZenohLink::declare(uplink, spec, handler, control)?;
        if !link::listens(spec.role) {
            link.wait_for_match(control)?;
        }
        Ok(link.at(opening.address, opening.transport, spec))
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        let timestamping = timestamping(spec)?;
        match spec.broker.as_deref() {
            None | Some("router") => router::serve(spec, timestamping, control),
            Some("zenohd") => zenohd::serve(spec, timestamping, control),
            Some(other) => bail!("--broker {other}: known brokers are router and zenohd"),
        }
    }
}

/// On is the library's default for routers.
fn timestamping(spec: &Spec) -> Result<bool> {
    let told = spec.set_value(TIMESTAMPING).unwrap_or("true");
    told.parse().with_context(|| format!("--set {TIMESTAMPING}={told}: true or false"))
}
