//! Charts as SVG, from numbers to markup in pure functions. Every chart has a title, a description and its numbers as a table.
//!
//! | module | what |
//! |---|---|
//! | [`number`] | numbers in attributes, always finite |
//! | [`scale`] | values to coordinates, and ticks |
//! | [`axis`] | axes with ticks, labels and titles |
//! | [`look`] | colours, dash patterns and markers |
//! | [`frame`] | the SVG and the figure around a chart |
//! | `over_axis` | items one below the other over one axis: what bars and rows have in common |
//! | [`plot`] | lines and steps over two axes |
//! | [`bars`] | stacked horizontal bars |
//! | [`rows`] | points over one axis |
//! | [`columns`] | groups of vertical bars |
//! | [`waterfall`] | the steps of one message |

pub mod axis;
pub mod bars;
pub mod columns;
pub mod frame;
pub mod look;
pub mod number;
mod over_axis;
pub mod plot;
pub mod rows;
pub mod scale;
pub mod waterfall;
