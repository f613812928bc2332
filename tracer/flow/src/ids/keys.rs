//! Places in tables, with serial numbers: a place may be used again.

/// A leg's index and serial number.
pub type LegKey = (usize, u64);

/// An assembly's index and serial number.
pub type AssemblyId = (usize, u64);
