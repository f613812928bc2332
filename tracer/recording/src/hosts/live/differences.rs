//! Differences of all hosts' values from limits of the differences of some pairs.
//!
//! ```text
//!   b − a ≤ 7,  c − b ≤ 2   ⇒   c − a ≤ 9         the shortest ways (Floyd and Warshall)
//!   b − a ≤ 7,  a − b ≤ −9  ⇒   a − a ≤ −2        no such values are there
//! ```

/// No limit.
const UNKNOWN: i64 = i64::MAX;

/// The largest differences between any two hosts.
#[derive(Clone, Debug)]
pub struct Differences {
    hosts: usize,
    /// Of the value of host b less that of host a, at a × hosts + b.
    largest: Vec<i64>,
    /// Of each host less that of host 0.
    values: Vec<Option<i64>>,
}

impl Differences {
    /// Nothing is known but that each host has one value.
    pub fn new(hosts: usize) -> Differences {
        let mut largest = vec![UNKNOWN; hosts.saturating_mul(hosts)];
        largest.iter_mut().step_by(hosts.saturating_add(1)).for_each(|same| *same = 0);
        Differences { hosts, largest, values: vec![None; hosts] }
    }

    fn index(&self, a: usize, b: usize) -> usize {
        a.saturating_mul(self.hosts).saturating_add(b)
    }

    fn largest(&self, a: usize, b: usize) -> i64 {
        self.largest.get(self.index(a, b)).copied().unwrap_or(UNKNOWN)
    }

    fn lower(&mut self, a: usize, b: usize, to: i64) {
        let index = self.index(a, b);
        if let Some(largest) = self.largest.get_mut(index) {
            *largest = to.min(*largest);
        }
    }

    /// The value of `b` less that of `a` lies between two limits.
    pub fn limit(&mut self, [a, b]: [usize; 2], [low, high]: [i64; 2]) {
        self.lower(a, b, high);
        self.lower(b, a, low.saturating_neg());
    }

    /// Adds limits up over any number of hosts, and chooses values. Returns false if no values keep all limits.
    pub fn close(&mut self) -> bool {
        for through in 0..self.hosts {
            for a in 0..self.hosts {
                let first = self.largest(a, through);
                if first == UNKNOWN {
                    continue;
                }
                for b in 0..self.hosts {
                    let second = self.largest(through, b);
                    if second != UNKNOWN {
                        self.lower(a, b, first.saturating_add(second));
                    }
                }
            }
        }
        let is_possible = (0..self.hosts).all(|host| self.is_possible(host));
        if is_possible {
            self.choose_values();
        }
        is_possible
    }

    /// Gives each host a value that keeps all limits: as far in the middle between the two nearest limits as those that were
    /// given before allow.
    fn choose_values(&mut self) {
        self.values.fill(None);
        if let Some(first) = self.values.first_mut() {
            *first = Some(0);
        }
        while let Some((host, nearest)) = self.nearest() {
            let given = || self.values.iter().enumerate().filter_map(|(a, v)| Some((a, (*v)?)));
            let limits = given().filter_map(|(a, value)| {
                let limits = self.between(a, host)?;
                Some(limits.map(|limit| value.saturating_add(limit)))
            });
            let [low, high] = limits
                .fold([i64::MIN, i64::MAX], |all, one| [all[0].max(one[0]), all[1].min(one[1])]);
            self.values[host] = Some(nearest.max(low).min(high));
        }
    }

    /// A host without a value whose limits against one that has a value are the nearest, and the middle of those.
    fn nearest(&self) -> Option<(usize, i64)> {
        let values = || self.values.iter().enumerate();
        let open = || values().filter(|(_, value)| value.is_none()).map(|(host, _)| host);
        let given = values().filter_map(|(host, value)| Some((host, (*value)?)));
        let limits = given.flat_map(|(a, value)| {
            open().filter_map(move |b| {
                let [low, high] = self.between(a, b)?;
                let middle = value.saturating_add(low.midpoint(high));
                Some((high.saturating_sub(low), b, middle))
            })
        });
        limits.min().map(|(_, host, middle)| (host, middle))
    }

    /// False if the limits of a host's differences from others contradict each other.
    pub fn is_possible(&self, host: usize) -> bool {
        self.largest(host, host) >= 0
    }

    /// Limits of the value of `b` less that of `a`.
    pub fn between(&self, a: usize, b: usize) -> Option<[i64; 2]> {
        let (high, low) = (self.largest(a, b), self.largest(b, a));
        (high != UNKNOWN && low != UNKNOWN).then(|| [low.saturating_neg(), high])
    }

    /// The value of a host less that of host 0.
    pub fn value(&self, host: usize) -> Option<i64> {
        self.values.get(host).copied().flatten()
    }

    /// The largest error of the difference of two hosts' values.
    pub fn error(&self, a: usize, b: usize) -> Option<u64> {
        let [low, high] = self.between(a, b)?;
        let difference = self.value(b)?.saturating_sub(self.value(a)?);
        let error = high.saturating_sub(difference).max(difference.saturating_sub(low));
        Some(error.max(0).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_add_up_along_the_way_and_the_nearer_ones_count() {
        let mut differences = Differences::new(4);
        differences.limit([0, 1], [90, 110]);
        differences.limit([1, 2], [-5, 5]);
        differences.limit([2, 0], [-500, 500]);
        assert!(differences.close());
        assert_eq!(differences.between(0, 2), Some([85, 115]));
        assert_eq!([1, 2, 3].map(|host| differences.value(host)), [Some(100), Some(100), None]);
        assert_eq!(differences.error(1, 2), Some(5));
        assert_eq!(differences.error(2, 0), Some(15));
        assert_eq!(differences.error(3, 0), None);
    }

    #[test]
    fn the_nearest_limits_have_the_value_in_their_middle() {
        let mut differences = Differences::new(3);
        differences.limit([0, 1], [-500, 500]);
        differences.limit([0, 2], [-300, 600]);
        differences.limit([1, 2], [-50, 50]);
        assert!(differences.close());
        assert_eq!(differences.between(0, 1), Some([-350, 500]));
        assert_eq!(differences.error(1, 2), Some(50));
        assert_eq!(differences.error(0, 2), Some(475));
    }

    #[test]
    fn limits_that_nothing_keeps_are_told() {
        let mut differences = Differences::new(3);
        differences.limit([0, 1], [90, 110]);
        differences.limit([1, 2], [-5, 5]);
        differences.limit([0, 2], [116, 120]);
        assert!(!differences.close());
    }
}
