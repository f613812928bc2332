//! Ways from the reference clock to each host, by the least sum of errors (Dijkstra).

use super::band::PairBand;
use super::state::ClockSource;
use wirelap_events::Nanos;

/// A host's clock at the refresh, as the best way to it tells.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Its time.
    pub now: Nanos,
    /// Largest error of that, in nanoseconds.
    pub error: i64,
    /// The same if the fastest packets take equally long in both directions.
    pub within: i64,
    /// By how much it runs faster than the reference clock, in nanoseconds a second.
    pub drift: f64,
    /// The hosts on the way, without the reference.
    pub through: Vec<usize>,
    /// The weakest evidence on the way; none of the reference.
    pub from: Option<ClockSource>,
    is_settled: bool,
}

/// The way of each host that one leads to.
#[derive(Clone, Debug)]
pub struct Ways {
    /// By host.
    pub hosts: Vec<Option<Reached>>,
}

impl Ways {
    /// The ways from host 0.
    pub fn from_reference(hosts: usize, now: Nanos) -> Ways {
        let mut ways = vec![None; hosts];
        if let Some(first) = ways.first_mut() {
            *first = Some(Reached {
                now,
                error: 0,
                within: 0,
                drift: 0.0,
                through: Vec::new(),
                from: None,
                is_settled: false,
            });
        }
        Ways { hosts: ways }
    }

    /// Goes on to hosts that are not reached yet. `link` gives the band of two hosts, the second one's time less that of the
    /// first, at a time of the first.
    pub fn spread(
        &mut self,
        mut link: impl FnMut(usize, usize, Nanos) -> Option<(PairBand, ClockSource)>,
    ) {
        let reached: Vec<bool> = self.hosts.iter().map(Option::is_some).collect();
        self.hosts.iter_mut().flatten().for_each(|way| way.is_settled = false);
        while let Some((host, way)) = self.settle() {
            for other in (0..self.hosts.len()).filter(|&other| !reached[other] && other != host) {
                let Some((band, from)) = link(host, other, way.now) else { continue };
                let next = way.on_to(host, &band, from);
                if self.hosts[other].as_ref().is_none_or(|known| next.error < known.error) {
                    self.hosts[other] = Some(next);
                }
            }
        }
    }

    /// The nearest host from which it has not gone on yet.
    fn settle(&mut self) -> Option<(usize, Reached)> {
        let ways = self.hosts.iter_mut().enumerate();
        let open = ways.filter_map(|(host, way)| Some((host, way.as_mut()?)));
        let (host, way) =
            open.filter(|(_, way)| !way.is_settled).min_by_key(|(_, way)| way.error)?;
        way.is_settled = true;
        Some((host, way.clone()))
    }
}

impl Reached {
    /// The way over a host on to another one.
    fn on_to(&self, host: usize, band: &PairBand, from: ClockSource) -> Reached {
        let through = self.through.iter().copied().chain((host != 0).then_some(host));
        Reached {
            now: Nanos(self.now.0.saturating_add_signed(band.middle())),
            error: self.error.saturating_add(band.half()),
            within: self.within.saturating_add(band.within.min(band.half())),
            drift: self.drift + band.mean_drift() * (1.0 + self.drift / 1e9),
            through: through.collect(),
            from: Some(self.from.map_or(from, |before| before.weaker(from))),
            is_settled: false,
        }
    }
}
