//! The order of the rows.

use super::Column;
use super::names::name;
use std::cmp::Ordering;
use wirelap_correlate::snapshot::{Group, Trust};

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// The column to sort by; `None` is the order in which the rows were found.
    pub by: Option<Column>,
    /// True if the column's usual order is reversed.
    pub reverse: bool,
}

impl Sort {
    /// Sorts by the next of these columns to the right; after the last one, in the order in which the rows were found.
    #[must_use]
    pub fn next(self, columns: &[Column]) -> Sort {
        let by = match self.by {
            None => columns.first(),
            Some(column) => columns.iter().skip_while(|c| **c != column).nth(1),
        };
        Sort { by: by.copied(), reverse: false }
    }

    /// Sorts by the next of these columns to the left.
    #[must_use]
    pub fn previous(self, columns: &[Column]) -> Sort {
        let by = match self.by {
            None => columns.last(),
            Some(column) => columns.iter().take_while(|c| **c != column).last(),
        };
        Sort { by: by.copied(), reverse: false }
    }

    /// Sorts by a column, or reverses the order if it is the one that the rows are sorted by.
    #[must_use]
    pub fn toward(self, column: Column) -> Sort {
        let reverse = self.by == Some(column) && !self.reverse;
        Sort { by: Some(column), reverse }
    }

    /// True if the largest value comes first, as it does by default for rates, counts and problems.
    pub fn descends(self) -> bool {
        let largest = matches!(
            self.by,
            Some(
                Column::Rate
                    | Column::Retransmissions
                    | Column::Delivered
                    | Column::Trust
                    | Column::Why
                    | Column::RateTrend
            )
        );
        largest != self.reverse
    }

    /// The indices of the groups in this order. Rows with equal values stay in the order in which they were found.
    pub fn order(self, groups: &[Group], trust: &Trust) -> Vec<usize> {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        match self.by {
            None if self.reverse => order.reverse(),
            None => {}
            Some(column) => {
                order.sort_by(|&a, &b| self.compare(column, (&groups[a], &groups[b]), trust));
            }
        }
        order
    }

    fn compare(self, column: Column, (a, b): (&Group, &Group), trust: &Trust) -> Ordering {
        let direct =
            |ordering: Ordering| if self.descends() { ordering.reverse() } else { ordering };
        if column == Column::Name {
            return direct(name(a).cmp(&name(b)));
        }
        match (column.key(a, trust), column.key(b, trust)) {
            (Some(a), Some(b)) => direct(a.total_cmp(&b)),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::snapshot::Summary;
    use wirelap_events::Nanos;

    fn group(middleware: &str, rate: f64, p50: u64) -> Group {
        let mut group = Group { middleware: middleware.into(), ..Group::default() };
        group.rate_now.msg_per_s = rate;
        group.one_way = Summary { count: p50.min(1), p50: Nanos(p50), ..Summary::default() };
        group
    }

    fn groups() -> Vec<Group> {
        vec![group("udp", 5.0, 30), group("mqtt", 9.0, 0), group("dds", 7.0, 20)]
    }

    #[test]
    fn sorting_goes_through_every_column_and_back() {
        let mut sort = Sort::default();
        for column in Column::ALL {
            sort = sort.next(&Column::ALL);
            assert_eq!(sort.by, Some(column));
        }
        assert_eq!(sort.next(&Column::ALL), Sort::default());
        assert_eq!(Sort::default().previous(&Column::ALL).by, Some(Column::RateTrend));
        assert_eq!(
            Sort { by: Some(Column::Name), reverse: true }.previous(&Column::ALL),
            Sort::default()
        );
    }

    #[test]
    fn a_column_that_is_chosen_again_reverses_the_order() {
        let sort = Sort::default().toward(Column::P50);
        assert_eq!(sort, Sort { by: Some(Column::P50), reverse: false });
        assert!(sort.toward(Column::P50).reverse);
        assert!(!sort.toward(Column::P50).toward(Column::Rate).reverse);
    }

    #[test]
    fn rates_descend_and_times_ascend_until_reversed() {
        let order =
            |by, reverse| Sort { by: Some(by), reverse }.order(&groups(), &Trust::default());
        assert_eq!(order(Column::Rate, false), [1, 2, 0]);
        assert_eq!(order(Column::Rate, true), [0, 2, 1]);
        assert_eq!(order(Column::P50, false), [2, 0, 1]);
        assert_eq!(order(Column::Name, false), [2, 1, 0]);
        assert_eq!(Sort { by: None, reverse: true }.order(&groups(), &Trust::default()), [2, 1, 0]);
    }

    #[test]
    fn a_row_without_a_value_is_last_both_ways() {
        assert_eq!(
            Sort { by: Some(Column::P50), reverse: true }.order(&groups(), &Trust::default()),
            [0, 2, 1]
        );
    }
}
