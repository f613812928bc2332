//! zenoh-pico, by the example programs of the user's own build: `z_ping` and `z_pong` for round trips, `z_pub_thr` and
//! `z_sub_thr` for throughput. Two peers over TCP (`zenoh-pico`) or in a multicast group (`zenoh-pico-multicast`).

mod examples;
mod place;
mod roles;

use anyhow::Result;
use examples::FOLDER;
use place::PicoAddress;
use wirelap_contract::{About, Availability, Done, LinkTransport, Role, Spec, WorkloadKind};
use wirelap_harness::control::Control;
use wirelap_harness::link::Family;

/// Builds differ in what they take: 4 KiB, encoded, unless `FRAG_MAX_SIZE` says something else.
const MAX_PAYLOAD: usize = 16 << 20;

/// The middleware `zenoh-pico`.
pub struct Pico;

/// The middleware `zenoh-pico-multicast`.
pub struct PicoMulticast;

impl Family for Pico {
    fn about(&self) -> About {
        let available = FOLDER.availability(&["z_ping", "z_pong", "z_pub_thr", "z_sub_thr"]);
        About {
            roles: vec![Role::Pub, Role::Sub, Role::Ping, Role::Pong],
            ..about(
                "zenoh-pico",
                "zenoh-pico's examples, peer to peer",
                LinkTransport::Tcp,
                available,
            )
        }
    }

    fn perform(&self, spec: &Spec, control: &Control) -> Result<Option<Done>> {
        roles::play(spec, PicoAddress::tcp(spec)?, control).map(Some)
    }
}

impl Family for PicoMulticast {
    fn about(&self) -> About {
        let available = FOLDER.availability(&["z_pub_thr", "z_sub_thr"]);
        let what = "zenoh-pico's examples, UDP multicast";
        About {
            // `z_ping` sends its first ping before it knows the other side, and then waits for ever.
            roles: vec![Role::Pub, Role::Sub],
            ..about("zenoh-pico-multicast", what, LinkTransport::Udp, available)
        }
    }

    fn perform(&self, spec: &Spec, control: &Control) -> Result<Option<Done>> {
        roles::play(spec, PicoAddress::multicast(spec)?, control).map(Some)
    }
}

fn about(name: &str, what: &str, transport: LinkTransport, available: Availability) -> About {
    About {
        available,
        kind: WorkloadKind::Foreign,
        paced: false,
        ..About::new(name, what, MAX_PAYLOAD, &[transport])
    }
}
