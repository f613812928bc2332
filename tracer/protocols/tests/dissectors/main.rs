//! The Lua dissectors for Wireshark (`dissectors/`) against our own decoders: of each capture both must tell the
//! same messages.
//!
//! Needs tshark and editcap: `cargo test -p wirelap-protocols --features e2e --test dissectors`.

#[path = "../common/mod.rs"]
mod common;
mod others;
mod ours;
mod pcap;
mod quiet;
mod scripts;
mod theirs;
mod zenoh;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One message, as both decoders see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub name: String,
    /// What it carries for the application, if it does.
    pub carried: Option<Carried>,
}

/// What a message carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Topic or key expression.
    pub topic: String,
    /// In bytes.
    pub payload_len: u64,
}

/// The messages of each direction, by source and destination port.
pub type Messages = BTreeMap<(u16, u16), Vec<Message>>;

/// A recorded session among the tests.
pub fn capture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// Checks that two decoders say the same, and says where they do not.
///
/// # Panics
/// They do not.
pub fn compare(ours: &Messages, theirs: &Messages) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (ports, ours) in ours {
        let theirs = &theirs[ports];
        for (index, (our, their)) in ours.iter().zip(theirs).enumerate() {
            assert_eq!(our, their, "message {index} of {ports:?}: ours, then the dissector's");
        }
        assert_eq!(ours.len(), theirs.len(), "messages of {ports:?}");
    }
}
