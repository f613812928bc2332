//! Places addresses on hosts, and tells which captures are parts of one.

use super::common::Sides;
use super::survey::{AddressNumbers, Survey};
use super::tree::ClockLink;
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::IpAddr;
use wirelap_events::Nanos;

/// Between two parts of one capture there is no more time than this.
const GAP: Nanos = Nanos::from_millis(1_000);

/// The addresses of the hosts that made captures, as pairs of captures show: of a packet that two have, its sender is on the
/// side of the one that had it first. An address that is on the one side against one capture and on the other side against
/// another is beyond both: this host passes on what it sends.
#[derive(Debug, Default)]
pub struct HostAddresses {
    /// By capture: addresses on its side.
    near: FxHashMap<usize, FxHashSet<IpAddr>>,
    /// Addresses on the side of another.
    far: FxHashMap<usize, FxHashSet<IpAddr>>,
    /// Captures that have packets in common, which parts of one capture do not.
    pairs: FxHashSet<[usize; 2]>,
}

impl HostAddresses {
    /// Two captures, and the addresses that each has on its own side and on the other's.
    pub fn add(&mut self, files: [usize; 2], sides: [Sides; 2]) {
        let [a, b] = files;
        self.pairs.extend([[a, b], [b, a]]);
        for (file, Sides { near, far }) in files.into_iter().zip(sides) {
            self.near.entry(file).or_default().extend(near);
            self.far.entry(file).or_default().extend(far);
        }
    }

    /// The addresses of the host that made these captures.
    pub fn of(&self, files: &[usize]) -> FxHashSet<IpAddr> {
        let of = |sides: &FxHashMap<usize, FxHashSet<IpAddr>>| -> FxHashSet<IpAddr> {
            files.iter().filter_map(|file| sides.get(file)).flatten().copied().collect()
        };
        let (near, far) = (of(&self.near), of(&self.far));
        near.difference(&far).copied().collect()
    }

    /// The capture that another one goes on from, or goes before: they are next to each other in time, have no packet in
    /// common, and are of a host with the same address.
    pub fn part(
        &self,
        surveys: &[Survey],
        of: usize,
        addresses: &AddressNumbers,
    ) -> Option<ClockLink> {
        let this = surveys.get(of)?;
        let mut common: Vec<IpAddr> = self.of(&[of]).into_iter().collect();
        if common.is_empty() {
            let most: Vec<u32> = this.common_addresses().into_iter().collect();
            common = addresses.of(&most);
        }
        let is_part = |&(other, survey): &(usize, &Survey)| {
            let own = self.of(&[other]);
            other != of
                && !self.pairs.contains(&[of, other])
                && this.apart(survey).is_some_and(|gap| gap <= GAP)
                && common.iter().any(|address| own.contains(address))
        };
        let others = surveys.iter().enumerate().filter(is_part);
        let (other, _) = others.min_by_key(|(_, survey)| this.apart(survey))?;
        Some(ClockLink { files: [other, of], clocks: None, is_one_host: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn sides(near: u8, far: u8) -> [Sides; 2] {
        let sides = |near, far| Sides { near: vec![ip(near)], far: vec![ip(far)] };
        [sides(near, far), sides(far, near)]
    }

    #[test]
    fn what_a_router_passes_on_is_not_its_own() {
        let mut places = HostAddresses::default();
        // The client's capture, the router's, the server's.
        places.add([0, 1], sides(1, 9));
        places.add([1, 2], sides(1, 9));
        places.add([0, 2], sides(1, 9));
        let of = |file| places.of(&[file]).into_iter().collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [vec![ip(1)], vec![], vec![ip(9)]]);
    }

    #[test]
    fn a_broker_in_the_middle_has_its_own() {
        let mut places = HostAddresses::default();
        places.add([0, 1], sides(1, 9));
        places.add([1, 2], sides(9, 2));
        let of = |file| places.of(&[file]).into_iter().collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [vec![ip(1)], vec![ip(9)], vec![ip(2)]]);
    }
}
