//! What metrics are: their kinds and units.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// It only grows; its name ends with `_total`.
    Counter,
    /// It is what it is now.
    Gauge,
    /// It counts values in buckets.
    Histogram,
}

/// The unit of a metric, which its name ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyUnit {
    /// A number of things.
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share, 0 to 1.
    Ratio,
}

impl FamilyUnit {
    /// The end of the name; empty without unit.
    pub const fn suffix(self) -> &'static str {
        match self {
            FamilyUnit::None => "",
            FamilyUnit::Seconds => "_seconds",
            FamilyUnit::Bytes => "_bytes",
            FamilyUnit::Ratio => "_ratio",
        }
    }
}
