//! Clocks of the hosts against that of this one, for those who use times of them.

use super::MergedHosts;
use wirelap_events::{HostBounds, Nanos};

impl MergedHosts {
    /// Largest errors of times between hosts, as of the last estimate.
    pub fn bounds(&self) -> HostBounds {
        let mut bounds = HostBounds::default();
        for (before, a) in self.hosts.iter().enumerate() {
            for b in self.hosts.iter().take(before) {
                let bound = self.clocks.bound(a.clock(), b.clock());
                bounds.set(a.kernel, b.kernel, bound);
            }
        }
        bounds
    }

    /// A time of a host's clock by the clock of this host; `None` if the host or its clock is not known.
    pub fn to_reference(&self, number: u8, at: Nanos) -> Option<Nanos> {
        if number == 1 {
            return Some(at);
        }
        let host = self.hosts.iter().find(|host| host.kernel == number)?;
        self.clocks.to_reference(host.clock(), at)
    }
}
