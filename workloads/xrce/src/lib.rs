//! DDS-XRCE, by programs of the user's own build: the Micro XRCE-DDS Agent as the broker, and the client library's
//! examples `PublishHelloWorldClient` and `SubscribeHelloWorldClient`. They send a sample of their own a second, and print
//! a line for each that was sent and received.

mod agent;
mod examples;
mod folder;

use agent::MIDDLEWARE;
use anyhow::Result;
use folder::FOLDER;
use wirelap_contract::{About, Done, LinkTransport, Role, Spec, WorkloadKind};
use wirelap_harness::control::Control;
use wirelap_harness::link::Family;

/// The examples' samples have a size of their own.
const MAX_PAYLOAD: usize = 1 << 20;

/// The middleware `xrce-dds`.
pub struct XrceWorkload;

impl Family for XrceWorkload {
    fn about(&self) -> About {
        let what = "DDS-XRCE's examples through the Micro XRCE-DDS Agent";
        About {
            roles: vec![Role::Pub, Role::Sub],
            available: FOLDER.availability(&[examples::PUBLISHER, examples::SUBSCRIBER]),
            kind: WorkloadKind::Foreign,
            paced: false,
            ..About::new("xrce-dds", what, MAX_PAYLOAD, &[LinkTransport::Udp])
        }
        .broker("agent", FOLDER.availability(&[agent::PROGRAM]))
        .setting(MIDDLEWARE, agent::USUAL, "where the agent hands samples to: dds, ced")
    }

    fn perform(&self, spec: &Spec, control: &Control) -> Result<Option<Done>> {
        examples::play(spec, control).map(Some)
    }

    fn serve(&self, spec: &Spec, control: &Control) -> Result<()> {
        agent::serve(spec, control)
    }
}
