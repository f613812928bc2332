//! The columns: what each one shows, how wide it is, and which ones a narrow screen leaves out.

use strum::{IntoStaticStr, VariantArray};
use wirelap_events::all_variants;
use wirelap_history::FigureWindow;

/// A column of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Column {
    /// The middleware, and its broker or endpoint.
    Name,
    /// Deliveries a second.
    Rate,
    /// Median one-way latency.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Largest one-way latency.
    Max,
    /// Median scheduling gap.
    GapP50,
    /// 99th percentile of the scheduling gap.
    GapP99,
    /// Median time that the broker had a message.
    Dwell,
    /// Bytes beyond the payload, in percent of the payload.
    Overhead,
    /// Bytes on the device per delivery.
    BytesPerMessage,
    /// TCP segments that were sent again.
    Retransmissions,
    /// Median payload size in bytes.
    Payload,
    /// Deliveries.
    Delivered,
    /// Share of the deliveries that were matched.
    Matched,
    /// The reliability of the row's figures.
    Trust,
    /// The most serious problem.
    Why,
    /// The median latency of each of the last seconds.
    MedianTrend,
    /// The deliveries in each of the last seconds.
    RateTrend,
}

impl Column {
    /// Every column, in its usual place from left to right.
    pub const ALL: [Column; Column::VARIANTS.len()] = all_variants();

    /// Every column, the most important one first: a narrow screen leaves out the last ones.
    pub const BY_IMPORTANCE: [Column; 20] = [
        Column::Name,
        Column::P50,
        Column::P99,
        Column::Rate,
        Column::Matched,
        Column::GapP99,
        Column::Overhead,
        Column::Max,
        Column::GapP50,
        Column::Why,
        Column::MedianTrend,
        Column::Dwell,
        Column::P90,
        Column::Retransmissions,
        Column::P999,
        Column::BytesPerMessage,
        Column::Payload,
        Column::Trust,
        Column::Delivered,
        Column::RateTrend,
    ];

    /// The column's heading.
    pub const fn title(self) -> &'static str {
        match self {
            Column::Name => "MIDDLEWARE",
            Column::Rate => "MSG/S",
            Column::P50 => "P50",
            Column::P90 => "P90",
            Column::P99 => "P99",
            Column::P999 => "P99.9",
            Column::Max => "MAX",
            Column::GapP50 => "GAP50",
            Column::GapP99 => "GAP99",
            Column::Dwell => "DWELL",
            Column::Overhead => "OVERHD",
            Column::BytesPerMessage => "B/MSG",
            Column::Retransmissions => "RETRANS",
            Column::Payload => "PAYLOAD",
            Column::Delivered => "DELIVERED",
            Column::Matched => "MATCH",
            Column::Trust => "TRUST",
            Column::Why => "WHY",
            Column::MedianTrend => "P50 BY S",
            Column::RateTrend => "MSG BY S",
        }
    }

    /// The column's content in a few words, for the help.
    pub const fn words(self) -> &'static str {
        match self {
            Column::Name => "middleware, and the broker or endpoint",
            Column::Rate => "messages delivered a second; of \"since start\", in the last second",
            Column::P50 => "one-way latency on the wire, median",
            Column::P90 => "one-way latency, 90th percentile",
            Column::P99 => "one-way latency, 99th percentile",
            Column::P999 => "one-way latency, 99.9th percentile",
            Column::Max => "one-way latency, maximum",
            Column::GapP50 => "scheduling gap (wakeup + run queue), median",
            Column::GapP99 => "scheduling gap, 99th percentile",
            Column::Dwell => "time that the broker had a message, median",
            Column::Overhead => "bytes beyond the payload, in % of the payload",
            Column::BytesPerMessage => "bytes on the device per delivery",
            Column::Retransmissions => "TCP segments that were sent again",
            Column::Payload => "payload bytes, median",
            Column::Delivered => "messages delivered",
            Column::Matched => "deliveries followed from first send to last read",
            Column::Trust => "whether the row's figures can be used; the view \"row\" says why not",
            Column::Why => "the most serious problem, and its share of the median or of the tail",
            Column::MedianTrend => {
                "median latency of each of the last 10 seconds, each row on its own scale"
            }
            Column::RateTrend => {
                "messages in each of the last 10 seconds, each row on its own scale"
            }
        }
    }

    /// Character cells that the column takes, without the space before it; for [`Column::Name`] the least.
    pub const fn width(self) -> u16 {
        match self {
            Column::Name => 14,
            Column::Why => 19,
            Column::Delivered => 9,
            Column::Trust => 8,
            Column::MedianTrend | Column::RateTrend => TREND,
            Column::Overhead | Column::Matched => 6,
            _ => 7,
        }
    }

    /// The column's width where some rows are of messages between two hosts, whose times are shown with their errors.
    pub const fn width_with(self, has_errors: bool) -> u16 {
        match self {
            Column::P50 | Column::P99 if has_errors => 14,
            _ => self.width(),
        }
    }

    /// The time that the column's figures are of, if it is not the chosen one. [`wirelap_history::SessionHistory::snapshot`] says which
    /// figures it has of a window.
    pub fn other_time(self, window: FigureWindow) -> Option<&'static str> {
        let is_window = window != FigureWindow::SinceStart;
        match self {
            Column::Rate if !is_window => Some("last second"),
            Column::Overhead
            | Column::BytesPerMessage
            | Column::Retransmissions
            | Column::Payload
            | Column::Trust
            | Column::Why
                if is_window =>
            {
                Some("since start")
            }
            _ => None,
        }
    }

    /// The name in the file of what the screen remembers.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The column with this [`Column::id`].
    pub fn from_id(id: &str) -> Option<Column> {
        Column::ALL.into_iter().find(|column| column.id() == id)
    }

    /// True if the cells are texts, which begin at the column's left edge; figures end at its right edge.
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Column::Name | Column::Trust | Column::Why | Column::MedianTrend | Column::RateTrend
        )
    }
}

/// Seconds that a sparkline in the table shows, a character for each.
pub const TREND: u16 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_its_importance_and_a_name_in_files() {
        for column in Column::ALL {
            assert!(Column::BY_IMPORTANCE.contains(&column));
            assert_eq!(Column::from_id(column.id()), Some(column));
            assert!(column.title().len() <= usize::from(column.width()), "{column:?}");
        }
    }
}
