//! The lacks of a machine or a process for tracing, and the command that mends each on its distribution.

mod asker;
mod distribution;
mod lack;
mod table;

pub use asker::Asker;
pub use distribution::{DistributionFamily, LinuxDistribution, Traces};
pub use lack::{Lack, LackKind};
pub use table::{FILE_CAPABILITIES, set_capabilities};

#[cfg(test)]
mod tests;
