//! Kinds and units of metrics.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// The value only grows; its name ends with `_total`.
    Counter,
    /// The value may rise and fall.
    Gauge,
    /// Values are counted in buckets.
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
