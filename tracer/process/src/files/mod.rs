//! Output files by name: where a path leads, and which names may be written.

mod names;
mod resolve;

pub use names::{Existing, OutputNames, numbers};
pub use resolve::{Destination, resolve};
