//! The views: what fills the body of the screen.

use strum::VariantArray;
use wirelap_events::all_variants;

/// A view that fills the body of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, VariantArray)]
pub enum View {
    /// All rows side by side.
    #[default]
    Overview,
    /// Everything about the selected row.
    Details,
    /// Why the selected row's messages took so long.
    Why,
    /// Marked rows, or the selected row and its baseline, stage by stage.
    Compare,
    /// The distribution of the selected row's latencies, and its change over time.
    Distribution,
    /// Single messages of the selected row, and one of them step by step.
    Messages,
    /// The byte ledger of the selected row.
    Ledger,
    /// The scheduling of the selected row's threads.
    Threads,
    /// The probes: the chosen hooks, what they bring, lose and cost.
    Probes,
    /// Events since the beginning.
    Log,
    /// Rows by topic, client and so on, and the subscribers that are behind.
    ByName,
}

impl View {
    /// All views, in the order of their tabs.
    pub const ALL: [View; View::VARIANTS.len()] = all_variants();

    /// The name in the tabs and in the command palette.
    pub const fn name(self) -> &'static str {
        match self {
            View::Overview => "overview",
            View::Details => "row",
            View::Why => "why",
            View::Compare => "compare",
            View::Distribution => "spread",
            View::Messages => "messages",
            View::Ledger => "bytes",
            View::Threads => "threads",
            View::Probes => "probes",
            View::Log => "log",
            View::ByName => "by name",
        }
    }

    /// The view's content in a few words, for the help.
    pub const fn words(self) -> &'static str {
        match self {
            View::Overview => "all rows side by side",
            View::Details => "all figures of the selected row",
            View::Why => "why the selected row's messages took so long",
            View::Compare => "marked rows, or the selected row and its baseline, stage by stage",
            View::Distribution => "distribution of the selected row's latencies, also over time",
            View::Messages => "single messages of the selected row, step by step",
            View::Ledger => "where the selected row's bytes went",
            View::Threads => "how the selected row's threads were scheduled",
            View::Probes => "the probes: hooks, events, losses, cost",
            View::Log => "what has happened so far",
            View::ByName => "rows by topic, client and so on; slow subscribers",
        }
    }

    /// True if the view has nothing to show while there are no rows.
    pub const fn is_of_a_row(self) -> bool {
        !matches!(self, View::Probes | View::Log | View::ByName)
    }

    /// The key that shows the view: 1 for the first one, 0 for the tenth, a letter for the eleventh.
    pub fn key(self) -> char {
        let at = View::ALL.iter().position(|view| *view == self).unwrap_or_default();
        ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0', 'g'][at]
    }

    /// The view with the tab to the right of this one's, or after the last one the first.
    #[must_use]
    pub fn next(self) -> View {
        let mut views = View::ALL.into_iter().cycle().skip_while(|view| *view != self);
        views.nth(1).unwrap_or_default()
    }

    /// The view with the tab to the left of this one's, or before the first one the last.
    #[must_use]
    pub fn previous(self) -> View {
        let mut views = View::ALL.into_iter().rev().cycle().skip_while(|view| *view != self);
        views.nth(1).unwrap_or_default()
    }
}
