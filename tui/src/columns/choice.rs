//! The columns that the user wants to see, and their order.

use super::column::Column;

/// From this width on, the usual choice leaves room for a longer name before it adds columns.
const WIDE: u16 = 100;
/// The room that a name has beyond the least, on a screen that is so wide.
const LONGER_NAME: u16 = 8;

/// The shown columns, and the order of all of them. The row's name is always shown, and always the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnChoice {
    entries: Vec<(Column, bool)>,
}

impl Default for ColumnChoice {
    fn default() -> ColumnChoice {
        ColumnChoice { entries: Column::ALL.map(|column| (column, true)).to_vec() }
    }
}

impl ColumnChoice {
    /// A choice from the names of the shown columns, as [`Column::id`] has them. Unknown names are left out; without a known
    /// one this is the usual choice.
    pub fn of_ids<'a>(ids: impl IntoIterator<Item = &'a str>) -> ColumnChoice {
        let mut entries: Vec<(Column, bool)> = vec![(Column::Name, true)];
        let add = |entries: &mut Vec<(Column, bool)>, column, shown| {
            if entries.iter().all(|(known, _)| *known != column) {
                entries.push((column, shown));
            }
        };
        for column in ids.into_iter().filter_map(Column::from_id) {
            add(&mut entries, column, true);
        }
        if entries.len() == 1 {
            return ColumnChoice::default();
        }
        for column in Column::ALL {
            add(&mut entries, column, false);
        }
        ColumnChoice { entries }
    }

    /// True if this is the usual choice.
    pub fn is_usual(&self) -> bool {
        *self == ColumnChoice::default()
    }

    /// All columns in their order, and whether each is shown.
    pub fn entries(&self) -> &[(Column, bool)] {
        &self.entries
    }

    /// The shown columns in their order.
    pub fn shown(&self) -> Vec<Column> {
        self.entries.iter().filter(|(_, shown)| *shown).map(|(column, _)| *column).collect()
    }

    /// Shows or hides the column at a position.
    pub fn toggle(&mut self, at: usize) {
        if let Some((column, shown)) = self.entries.get_mut(at) {
            *shown = *column == Column::Name || !*shown;
        }
    }

    /// Exchanges the column at a position with the one before it. Returns its new position.
    pub fn move_up(&mut self, at: usize) -> usize {
        if at < 2 || at >= self.entries.len() {
            return at;
        }
        self.entries.swap(at, at - 1);
        at - 1
    }

    /// Exchanges the column at a position with the one after it. Returns its new position.
    pub fn move_down(&mut self, at: usize) -> usize {
        if at == 0 || at + 1 >= self.entries.len() {
            return at;
        }
        self.entries.swap(at, at + 1);
        at + 1
    }

    /// The columns that fit into `width` with a space before each, from left to right, with times that have errors or not. Of the usual choice, the less important
    /// ones are left out; of another one, those at its end.
    pub fn fitting(&self, width: u16, has_errors: bool) -> Vec<Column> {
        let shown = self.shown();
        let candidates =
            if self.is_usual() { Column::BY_IMPORTANCE.to_vec() } else { shown.clone() };
        let longer = if self.is_usual() && width >= WIDE { LONGER_NAME } else { 0 };
        let mut left = width - longer;
        let mut fitting: Vec<Column> = candidates
            .into_iter()
            .take_while(|column| {
                let after = left.checked_sub(column.width_with(has_errors) + 1);
                left = after.unwrap_or(0);
                after.is_some()
            })
            .collect();
        if fitting.is_empty() {
            fitting.push(Column::Name);
        }
        fitting.sort_by_key(|column| shown.iter().position(|c| c == column));
        fitting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_screen_keeps_what_matters_most() {
        let usual = ColumnChoice::default();
        assert_eq!(usual.fitting(0, false), [Column::Name]);
        assert_eq!(
            usual.fitting(40, false),
            [Column::Name, Column::Rate, Column::P50, Column::P99]
        );
        assert_eq!(usual.fitting(250, false), Column::ALL);
        let between_hosts = [Column::Name, Column::Rate, Column::P50, Column::P99];
        assert_eq!(usual.fitting(59, true), between_hosts);
        for width in 15..250 {
            let used: u16 =
                usual.fitting(width, false).iter().map(|column| column.width() + 1).sum();
            assert!(used <= width);
        }
    }

    #[test]
    fn what_the_user_put_first_is_kept_on_a_narrow_screen() {
        let mut choice = ColumnChoice::default();
        let dwell = Column::ALL.iter().position(|column| *column == Column::Dwell).unwrap();
        let mut at = dwell;
        for _ in 0..30 {
            at = choice.move_up(at);
        }
        assert_eq!(at, 1);
        choice.toggle(2);
        assert_eq!(choice.fitting(31, false), [Column::Name, Column::Dwell, Column::P50]);
        choice.toggle(0);
        assert!(choice.shown().contains(&Column::Name), "the name cannot be hidden");
        assert_eq!(choice.move_down(0), 0);
        assert_eq!(choice.move_down(at), 2);
        assert_eq!((choice.move_down(19), choice.move_up(99), choice.move_down(99)), (19, 99, 99));
        choice.toggle(99);
    }

    #[test]
    fn a_choice_survives_as_names() {
        let mut choice = ColumnChoice::default();
        choice.toggle(3);
        choice.move_down(1);
        let shown = choice.shown();
        let again = ColumnChoice::of_ids(shown.iter().map(|column| column.id()));
        assert_eq!(again.shown(), shown);
        assert_eq!(
            ColumnChoice::of_ids(["max", "colour", "max"]).shown(),
            [Column::Name, Column::Max]
        );
        assert_eq!(ColumnChoice::of_ids(["?"]), ColumnChoice::default());
        let usual = ColumnChoice::of_ids(Column::ALL.map(Column::id));
        assert_eq!(usual, ColumnChoice::default());
    }
}
