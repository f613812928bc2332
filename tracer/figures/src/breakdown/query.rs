//! The query of a breakdown: which rows are made, and which of them a snapshot lists.

use super::dimension::Dimension;
use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;

/// The figure by which rows are ordered, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RowFigure {
    /// Messages that were sent or read.
    #[default]
    Messages,
    /// Messages that were sent.
    Sent,
    /// Messages that were read.
    Delivered,
    /// Payload bytes of what was read.
    Bytes,
    /// The median of the one-way latency.
    P50,
    /// The 99th percentile of the one-way latency.
    P99,
    /// The maximum of the one-way latency.
    Max,
}

impl RowFigure {
    /// Every figure.
    pub const ALL: [RowFigure; RowFigure::VARIANTS.len()] = all_variants();

    /// The name on the command line and on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The figure of this name.
    pub fn of_name(name: &str) -> Option<RowFigure> {
        RowFigure::ALL.into_iter().find(|figure| figure.name() == name)
    }
}

/// The rows that are made, and those of them that a snapshot lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakdownQuery {
    /// Dimensions by which the rows are told apart, the outermost first; empty for none. Only the first of each
    /// and at most [`MAX_NESTED`](super::MAX_NESTED) count.
    pub by: Vec<Dimension>,
    /// The figure by which the rows are ordered.
    pub order: RowFigure,
    /// Only rows with a name that has this text, in upper or lower case, are listed; empty for all.
    pub text: String,
}

impl BreakdownQuery {
    /// Rows by these dimensions, those with the most messages first.
    pub fn by(by: &[Dimension]) -> BreakdownQuery {
        BreakdownQuery { by: by.to_vec(), ..BreakdownQuery::default() }
    }
}

/// True if one of a row's names contains a text, which is in lower case. A name that is not known has
/// none.
pub fn has_text(names: &[Option<String>], text: &str) -> bool {
    text.is_empty() || names.iter().flatten().any(|name| name.to_lowercase().contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_name_of_its_own() {
        for figure in RowFigure::ALL {
            assert_eq!(RowFigure::of_name(figure.name()), Some(figure));
        }
        assert_eq!(RowFigure::of_name("colour"), None);
    }

    #[test]
    fn a_text_is_looked_for_in_every_name() {
        let names = [None, Some("Plant/7".to_owned())];
        assert!(has_text(&names, "plant") && has_text(&names, ""));
        assert!(!has_text(&names, "8"));
    }
}
