//! Random transport messages and their names.

use super::messages::zid;
use proptest::prelude::*;
use std::time::Duration;
use zenoh_protocol::core::{Priority, Resolution, WhatAmI, ZenohIdProto};
use zenoh_protocol::transport::{
    self, Close, InitAck, InitSyn, Join, KeepAlive, OpenAck, OpenSyn, PrioritySn, init,
};

/// Any transport message that carries nothing.
pub fn any_message() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let whatami = prop_oneof![Just(WhatAmI::Router), Just(WhatAmI::Peer), Just(WhatAmI::Client)];
    let secs = any::<bool>();
    (
        0..7_u8,
        zid(),
        whatami,
        any::<u16>(),
        any::<u32>(),
        prop::collection::vec(any::<u8>(), 0..99),
        secs,
    )
        .prop_map(|(kind, zid, whatami, batch_size, sn, cookie, secs)| {
            let lease =
                if secs { Duration::from_secs(sn.into()) } else { Duration::from_millis(1234) };
            match kind {
                0 => ("InitSyn", encode!(&init_syn(zid, whatami, batch_size))),
                1 => ("InitAck", encode!(&init_ack(zid, whatami, batch_size, cookie))),
                2 => ("OpenSyn", encode!(&open_syn(lease, sn, cookie))),
                3 => ("OpenAck", encode!(&open_ack(lease, sn))),
                4 => ("Close", encode!(&Close { reason: 3, session: secs })),
                5 => ("KeepAlive", encode!(&KeepAlive)),
                _ => ("Join", encode!(&join(zid, whatami, batch_size, lease))),
            }
        })
}

fn init_syn(zid: ZenohIdProto, whatami: WhatAmI, batch_size: u16) -> InitSyn {
    InitSyn {
        version: 9,
        whatami,
        zid,
        resolution: Resolution::default(),
        batch_size,
        ext_qos: Some(init::ext::QoS::new()),
        ext_qos_link: None,
        ext_auth: Some(init::ext::Auth::new(vec![1, 2, 3].into())),
        ext_mlink: None,
        ext_lowlatency: None,
        ext_compression: None,
        ext_patch: init::ext::PatchType::CURRENT,
        ext_region_name: None,
    }
}

fn init_ack(zid: ZenohIdProto, whatami: WhatAmI, batch_size: u16, cookie: Vec<u8>) -> InitAck {
    InitAck {
        version: 9,
        whatami,
        zid,
        resolution: Resolution::default(),
        batch_size,
        cookie: cookie.into(),
        ext_qos: None,
        ext_qos_link: Some(init::ext::QoSLink::new(77)),
        ext_auth: None,
        ext_mlink: Some(init::ext::MultiLink::new(vec![9; 200].into())),
        ext_lowlatency: None,
        ext_compression: None,
        ext_patch: init::ext::PatchType::NONE,
        ext_region_name: None,
    }
}

fn open_syn(lease: Duration, initial_sn: u32, cookie: Vec<u8>) -> OpenSyn {
    OpenSyn {
        lease,
        initial_sn,
        cookie: cookie.into(),
        ext_qos: None,
        ext_auth: Some(transport::open::ext::Auth::new(vec![1, 2, 3].into())),
        ext_mlink: None,
        ext_lowlatency: None,
        ext_compression: None,
        ext_remote_bound: None,
    }
}

fn open_ack(lease: Duration, initial_sn: u32) -> OpenAck {
    OpenAck {
        lease,
        initial_sn,
        ext_qos: None,
        ext_auth: None,
        ext_mlink: Some(transport::open::ext::MultiLinkAck::new()),
        ext_lowlatency: None,
        ext_compression: None,
        ext_remote_bound: Some(transport::open::ext::RemoteBound::new(2)),
    }
}

fn join(zid: ZenohIdProto, whatami: WhatAmI, batch_size: u16, lease: Duration) -> Join {
    Join {
        version: 9,
        whatami,
        zid,
        resolution: Resolution::default(),
        batch_size,
        lease,
        next_sn: PrioritySn { reliable: 300, best_effort: 1 },
        ext_qos: Some(Box::new([PrioritySn { reliable: 7, best_effort: 70_000 }; Priority::NUM])),
        ext_shm: None,
        ext_patch: transport::join::ext::PatchType::CURRENT,
    }
}
