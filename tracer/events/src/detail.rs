//! Detail in which a message's way is observed.

use crate::all_variants;
use strum::{IntoStaticStr, VariantArray};

/// Detail in which a message's way is observed. Each probe that is attached costs time at every such event of the host.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum TraceDetail {
    /// Sends and reads. The bytes of TCP are copied where they are sent. Packets are observed only once datagrams, or what another
    /// host sends, were read: there is no send on this host that has them. What came before is not seen.
    Ends,
    /// Also the packets, but not when TCP sockets are ready, nor the scheduler.
    Path,
    /// Everything.
    #[default]
    Full,
}

impl TraceDetail {
    /// All values, the least first.
    pub const ALL: [TraceDetail; TraceDetail::VARIANTS.len()] = all_variants();

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
