//! The distribution of a time over several repetitions.

use wirelap_report::{DistributionSummary, Histograms, Repetition, Samples};

/// The distribution of the times of all repetitions, from those of each and their histograms.
pub fn merged(
    all: &[&Repetition],
    own: impl Fn(&Repetition) -> Option<DistributionSummary>,
    encoded: impl Fn(&Histograms) -> Option<&String>,
) -> DistributionSummary {
    let known = || {
        all.iter().filter_map(|one| {
            let own = own(one).filter(|own| own.count > 0)?;
            Some((own, encoded(&one.histograms)))
        })
    };
    if known().count() < 2 {
        return known().next().map(|(own, _)| own).unwrap_or_default();
    }
    let mut sum = Samples::new();
    for (own, text) in known() {
        if let Some(one) = text.and_then(|text| Samples::decode(text, (own.min, own.max), 0)) {
            sum.merge(&one);
        }
    }
    sum.distribution()
}
