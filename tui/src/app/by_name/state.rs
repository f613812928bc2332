//! The user's choices in the view of rows by name.

use wirelap_correlate::BreakdownQuery;
use wirelap_correlate::snapshot::Breakdown;

/// The user's choices in the view of rows by name.
#[derive(Clone, Debug, Default)]
pub struct ByName {
    /// The rows that are asked for; until the user asks for others, those of the snapshots.
    pub(super) query: BreakdownQuery,
    /// True once the user has asked for other rows than the command line did.
    has_asked: bool,
    /// The position of the selected row.
    pub(super) selected: usize,
}

impl ByName {
    /// Takes what newer snapshots have, while the user has not asked for anything else.
    pub fn follow(&mut self, shown: Option<&Breakdown>) {
        if let Some(shown) = shown.filter(|_| !self.has_asked) {
            self.query.by.clone_from(&shown.by);
            self.query.order = shown.order;
        }
    }

    /// The text that the rows are filtered by.
    pub fn text(&self) -> &str {
        &self.query.text
    }

    /// The text that the rows are filtered by, to be changed.
    pub fn text_mut(&mut self) -> &mut String {
        &mut self.query.text
    }

    /// The rows as they are asked for now.
    pub fn ask(&mut self) -> BreakdownQuery {
        self.has_asked = true;
        self.query.clone()
    }
}
