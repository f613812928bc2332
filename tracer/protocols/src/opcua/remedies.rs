//! Remedies for OPC UA, its clients and its servers.

use crate::remedies::Remedies;

pub const REMEDIES: Remedies = Remedies {
    fetch: Some("lower the subscription's publishing interval and the item's sampling interval"),
    ..Remedies::GENERAL
};
