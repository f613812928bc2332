//! Two peers over TCP or UDP: one side listens, the other connects.

use crate::MAX_PAYLOAD;
use crate::link::{Uplink, ZenohLink};
use crate::session::{ConnectMode, Opening};
use anyhow::Result;
use wirelap_contract::{About, LinkTransport, Scaling, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Family, Handler, Opened};

/// Those that this program was built with: Zenoh's UDP brings its QUIC and TLS along, a tenth of the first build.
const TRANSPORTS: &[LinkTransport] = if cfg!(feature = "udp") {
    &[LinkTransport::Tcp, LinkTransport::Udp]
} else {
    &[LinkTransport::Tcp]
};

/// The middleware `zenoh-p2p`.
pub struct ZenohPeerToPeer;

impl Family for ZenohPeerToPeer {
    fn about(&self) -> About {
        About::new("zenoh-p2p", "Zenoh, peer to peer", MAX_PAYLOAD, TRANSPORTS).scaling(
            // A subscriber listens, and a second one would need an address of its own.
            Scaling { publishers: true, handles: true, ..Scaling::default() },
        )
    }

    fn open(&self, spec: &Spec, handler: Option<Handler>, control: &Control) -> Result<Opened> {
        let opening = Opening {
            mode: "peer",
            side: if link::listens(spec.role) { ConnectMode::Listen } else { ConnectMode::Connect },
            transport: spec.transport.unwrap_or(LinkTransport::Tcp),
            address: link::resolve(&spec.endpoint)?,
            timestamping: false,
        };
        let uplink = Uplink {
            session: opening.open()?,
            router: None,
            is_lossless: opening.transport == LinkTransport::Tcp,
        };
        let link = ZenohLink::declare(uplink, spec, handler, control)?;
        let endpoint = match opening.side {
            ConnectMode::Listen => opening.listening()?,
            ConnectMode::Connect => {
                link.wait_for_match(control)?;
                opening.address
            }
        };
        Ok(link.at(endpoint, opening.transport, spec))
    }
}
