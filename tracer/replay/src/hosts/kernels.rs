//! Recordings of one kernel: they have one clock, and what two of them saw is taken from one.

use crate::open::shown;
use std::path::PathBuf;
use std::rc::Rc;
use wirelap_process::Failure;
use wirelap_recording::hosts::merge::{Placing, SharedKernel};
use wirelap_recording::hosts::{ClockLink, Clocks, Survey};

/// Recordings that saw the same have so much of each other's packets in common, and those of different ports so little.
const SAME: f64 = 0.9;
const OTHER: f64 = 0.1;

/// Where a file is from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// A recording of wirelap.
    pub is_own: bool,
    /// From the clock of its events to the wall clock, in nanoseconds.
    pub wall: i64,
    /// The run of the kernel whose clock that is.
    pub kernel_run: Option<u64>,
}

impl Origin {
    /// True if both are recordings of one run of a kernel.
    pub fn is_of_kernel_of(&self, other: &Origin) -> bool {
        self.kernel_run.is_some() && self.kernel_run == other.kernel_run
    }
}

/// Packets that two recordings of one kernel have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlap {
    /// They are not of the same time.
    None,
    /// One has all that the other one has, while both ran.
    Same,
    /// Each has others.
    Other,
    /// Each has packets that the other one lacks, and some are the same.
    Mixed,
}

/// Pairs of recordings of one kernel.
#[derive(Debug, Default)]
pub struct SameKernel {
    pairs: Vec<([usize; 2], i64, Overlap)>,
}

impl SameKernel {
    /// Finds them among files.
    pub fn of(origins: &[Origin], surveys: &[Survey]) -> SameKernel {
        let pairs = (0..origins.len()).flat_map(|b| (0..b).map(move |a| [a, b]));
        let same = pairs.filter(|[a, b]| origins[*a].is_of_kernel_of(&origins[*b]));
        let pairs = same.map(|[a, b]| {
            let ahead = origins[b].wall.saturating_sub(origins[a].wall);
            ([a, b], ahead, overlap([&surveys[a], &surveys[b]], ahead))
        });
        SameKernel { pairs: pairs.collect() }
    }

    /// True if two of them ran at the same time.
    pub fn are_at_once(&self) -> bool {
        self.pairs.iter().any(|(_, _, overlap)| *overlap != Overlap::None)
    }

    /// Refuses recordings of which events would be counted twice or not at all.
    ///
    /// # Errors
    /// Two recordings have some packets in common and others not.
    pub fn refuse_mixed(&self, files: &[PathBuf]) -> Result<(), Failure> {
        match self.pairs.iter().find(|(_, _, overlap)| *overlap == Overlap::Mixed) {
            None => Ok(()),
            Some(([a, b], ..)) => Err(Failure::Usage(format!(
                "{} and {} are recordings of one kernel, and have some packets in common but not all (were they recorded with different \
                 filters?): analyze each file alone",
                shown(&files[*a]),
                shown(&files[*b])
            ))),
        }
    }

    /// That they have one clock.
    pub fn links(&self) -> impl Iterator<Item = ClockLink> {
        self.pairs.iter().map(|(files, ahead, _)| ClockLink {
            files: *files,
            clocks: Some(Clocks::exact(*ahead)),
            is_one_host: true,
        })
    }

    /// Has each event taken from one of those that saw the same.
    pub fn share(&self, surveys: &[Survey], placings: &mut [Placing]) {
        let mut open: Vec<usize> = (0..placings.len()).collect();
        while let Some(first) = open.first().copied() {
            let is_same = |file: usize| {
                let is = |(pair, _, overlap): &([usize; 2], i64, Overlap)| {
                    *pair == [first, file] && *overlap == Overlap::Same
                };
                file == first || self.pairs.iter().any(is)
            };
            let (group, rest): (Vec<usize>, Vec<usize>) =
                open.iter().copied().partition(|file| is_same(*file));
            open = rest;
            if group.len() < 2 {
                continue;
            }
            let span = |file: &usize| {
                let (begins, ends) = surveys[*file].span.unwrap_or_default();
                (placings[*file].to_first(begins), placings[*file].to_first(ends))
            };
            let kernel = Rc::new(SharedKernel { spans: group.iter().map(span).collect() });
            for (index, file) in group.into_iter().enumerate() {
                placings[file].share(Rc::clone(&kernel), index);
            }
        }
    }
}

fn overlap([first, second]: [&Survey; 2], ahead: i64) -> Overlap {
    if !first.overlaps(second) {
        return Overlap::None;
    }
    let shares = [first.share_in(second, ahead), second.share_in(first, ahead.saturating_neg())];
    let known: Vec<f64> = shares.into_iter().flatten().collect();
    let largest = known.iter().copied().fold(0.0, f64::max);
    if largest >= SAME {
        Overlap::Same
    } else if largest <= OTHER {
        Overlap::Other
    } else {
        Overlap::Mixed
    }
}
