//! The reports of one or several runs as one HTML page: self-contained, without scripts, for screen, phone, paper and screen
//! reader.
//!
//! | module | what |
//! |---|---|
//! | [`page`] | the whole document |
//! | `sections` | its sections, a file each |
//! | `chart` | charts as SVG |
//! | `tables` | tables |
//! | `subject` | the files and their results, under the names that they have on the page |
//! | `samples` | distributions of latencies, from histograms or quantiles |
//! | `published` | results of others, which stand beside ours |
//! | `write` | numbers and lists as text |
//!
//! Sentences and formatted numbers are those of `wirelap_report`, so that text, JSON and page say the same.

// Numbers from a file may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod chart;
mod document;
mod published;
mod samples;
mod sections;
mod subject;
mod tables;
mod write;

pub use document::page;
pub use subject::File;
pub use wirelap_report::explain::ExplainOptions;
