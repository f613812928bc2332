//! Pipeline above the decoders, for tests, fuzz targets and examples of several crates. Only ever a dev-dependency, or one of a
//! fuzz crate; its own tests replay what fuzzing found, and damaged captures.
//!
//! | module | gives |
//! |---|---|
//! | [`deliveries`] | messages that are made up, for what draws them |
//! | [`files`] | a file through the whole pipeline: its events, messages, and every report on them |
//! | [`histories`] | updates that are made up, for what keeps and draws them |
//! | [`reassembly`] | any packets through the reassembly |
//! | [`snapshots`] | snapshots that are made up, for what draws them |

#![allow(clippy::missing_panics_doc, reason = "a panic is how a test fails")]

pub mod deliveries;
pub mod files;
pub mod histories;
pub mod reassembly;
pub mod snapshots;
mod warp;
