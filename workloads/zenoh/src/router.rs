//! The embedded router: what `zenohd` is around, without its plugins.

use crate::session::{ConnectMode, Opening};
use anyhow::Result;
use wirelap_contract::{LinkTransport, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::link::{self, Facts};
use zenoh::Wait;

pub fn serve(spec: &Spec, timestamping: bool, control: &Control) -> Result<()> {
    let opening = Opening {
        mode: "router",
        side: ConnectMode::Listen,
        transport: LinkTransport::Tcp,
        address: link::resolve(&spec.endpoint)?,
        timestamping,
    };
    let session = opening.open()?;
    let facts = Facts::at(opening.listening()?)
        .version("zenoh", env!("WIRELAP_ZENOH"))
        .setting("timestamping", timestamping)
        .setting("TCP_NODELAY", true);
    control.say_ready(std::process::id(), facts);
    control.wait_until(None, || false)?;
    // Clients that have left first are no failure.
    let _ = session.close().wait();
    Ok(())
}
