//! The choice of the figures that a row has room for.

use crate::text;
use wirelap_correlate::RowFigure;

/// The least width of each of up to two names.
const NAME: usize = 16;
/// The least width of each of more.
const SHORT_NAME: usize = 12;

/// The figures that are shown, in the order in which they are left out where there is no room, the last ones first.
const BY_IMPORTANCE: [RowFigure; 6] = [
    RowFigure::Delivered,
    RowFigure::Sent,
    RowFigure::P99,
    RowFigure::P50,
    RowFigure::Max,
    RowFigure::Bytes,
];

/// Figures from left to right.
const IN_PLACE: [RowFigure; 6] = [
    RowFigure::Sent,
    RowFigure::Delivered,
    RowFigure::Bytes,
    RowFigure::P50,
    RowFigure::P99,
    RowFigure::Max,
];

/// The figures of a table, and the width of each name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The figures from left to right.
    pub figures: Vec<RowFigure>,
    /// The width of each name.
    pub name: usize,
}

impl Columns {
    /// Chooses the columns that a table of so many columns has room for, with so many names; the figure of the order in any case.
    pub fn of(width: usize, names: usize, order: RowFigure) -> Columns {
        let names = names.max(1);
        let least = names * (if names > 2 { SHORT_NAME } else { NAME } + 1);
        let mut left = text::columns_left(width, least);
        let mut taken = Vec::new();
        let first = BY_IMPORTANCE.iter().filter(|figure| **figure == order);
        let others = BY_IMPORTANCE.iter().filter(|figure| **figure != order);
        for &figure in first.chain(others) {
            let wanted = self::width(figure) + 1;
            if wanted > left && !taken.is_empty() {
                break;
            }
            left = left.saturating_sub(wanted);
            taken.push(figure);
        }
        let figures: Vec<RowFigure> =
            IN_PLACE.into_iter().filter(|figure| taken.contains(figure)).collect();
        let used: usize = figures.iter().map(|&figure| self::width(figure) + 1).sum();
        let name = (text::columns_left(width, used) / names).max(2) - 1;
        Columns { figures, name }
    }
}

/// The width of a figure's column.
pub fn width(figure: RowFigure) -> usize {
    match figure {
        RowFigure::Messages | RowFigure::Sent | RowFigure::Bytes => 9,
        RowFigure::Delivered => 10,
        RowFigure::P50 | RowFigure::P99 | RowFigure::Max => 7,
    }
}

/// The heading of a figure's column.
pub fn heading(figure: RowFigure) -> &'static str {
    match figure {
        RowFigure::Messages => "MESSAGES",
        RowFigure::Sent => "SENT",
        RowFigure::Delivered => "DELIVERED",
        RowFigure::Bytes => "BYTES",
        RowFigure::P50 => "P50",
        RowFigure::P99 => "P99",
        RowFigure::Max => "MAX",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_leave_room_for_names_and_that_of_the_order_stays() {
        let wide = Columns::of(198, 2, RowFigure::Messages);
        assert_eq!(wide.figures, IN_PLACE);
        assert!(wide.name > 60);
        let narrow = Columns::of(78, 4, RowFigure::Max);
        assert_eq!(narrow.figures, [RowFigure::Delivered, RowFigure::Max]);
        assert!(narrow.name >= SHORT_NAME);
        for width in 0..200 {
            for names in 1..=4 {
                let columns = Columns::of(width, names, RowFigure::Bytes);
                assert!(columns.figures.contains(&RowFigure::Bytes));
            }
        }
    }
}
