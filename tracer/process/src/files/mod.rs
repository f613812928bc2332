//! Files by name: where a path leads, and which names may be written.

mod names;
mod resolve;

pub use names::Names;
pub use resolve::{Place, resolve};
