//! The columns: what each one shows, how wide it is, and which ones a narrow screen leaves out.

/// A column of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The middleware, and its broker or endpoint.
    Name,
    /// Deliveries in the last second.
    Rate,
    /// Median one-way latency.
    P50,
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
    /// Bytes beyond the payload, in percent of the payload.
    Overhead,
    /// Bytes on the device per delivery.
    BytesPerMessage,
    /// Median payload size in bytes.
    Payload,
    /// Deliveries so far.
    Delivered,
    /// Share of the deliveries that were matched.
    Matched,
    /// The most serious problem.
    Why,
}

impl Column {
    /// Every column, from left to right.
    pub const ALL: [Column; 14] = [
        Column::Name,
        Column::Rate,
        Column::P50,
        Column::P99,
        Column::P999,
        Column::Max,
        Column::GapP50,
        Column::GapP99,
        Column::Overhead,
        Column::BytesPerMessage,
        Column::Payload,
        Column::Delivered,
        Column::Matched,
        Column::Why,
    ];

    /// Every column, the most important one first: a narrow screen leaves out the last ones.
    const BY_IMPORTANCE: [Column; 14] = [
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
        Column::BytesPerMessage,
        Column::Payload,
        Column::P999,
        Column::Delivered,
    ];

    /// The column's heading.
    pub const fn title(self) -> &'static str {
        match self {
            Column::Name => "MIDDLEWARE",
            Column::Rate => "MSG/S",
            Column::P50 => "P50",
            Column::P99 => "P99",
            Column::P999 => "P99.9",
            Column::Max => "MAX",
            Column::GapP50 => "GAP50",
            Column::GapP99 => "GAP99",
            Column::Overhead => "OVERHD",
            Column::BytesPerMessage => "B/MSG",
            Column::Payload => "PAYLOAD",
            Column::Delivered => "DELIVERED",
            Column::Matched => "MATCH",
            Column::Why => "WHY",
        }
    }

    /// What the column shows, for the help.
    pub const fn words(self) -> &'static str {
        match self {
            Column::Name => "middleware, and the broker or endpoint",
            Column::Rate => "messages delivered in the last second",
            Column::P50 => "one-way latency on the wire, median",
            Column::P99 => "one-way latency, 99th percentile",
            Column::P999 => "one-way latency, 99.9th percentile",
            Column::Max => "one-way latency, maximum",
            Column::GapP50 => "scheduling gap (wakeup + run queue), median",
            Column::GapP99 => "scheduling gap, 99th percentile",
            Column::Overhead => "bytes beyond the payload, in % of the payload",
            Column::BytesPerMessage => "bytes on the device per delivery",
            Column::Payload => "payload bytes, median",
            Column::Delivered => "messages delivered so far",
            Column::Matched => "deliveries followed from first send to last read",
            Column::Why => "the most serious problem, and its share of the median or of the tail",
        }
    }

    /// Character cells that the column takes, without the space before it; for [`Column::Name`] the least.
    pub const fn width(self) -> u16 {
        match self {
            Column::Name => 14,
            Column::Why => 19,
            Column::Delivered => 9,
            Column::Overhead | Column::Matched => 6,
            _ => 7,
        }
    }

    /// The columns that fit into `width` with a space before each, from left to right.
    pub fn fitting(width: u16) -> Vec<Column> {
        let mut left = width;
        let mut chosen: Vec<Column> = Column::BY_IMPORTANCE
            .into_iter()
            .take_while(|column| {
                let after = left.checked_sub(column.width() + 1);
                left = after.unwrap_or(0);
                after.is_some()
            })
            .collect();
        if chosen.is_empty() {
            chosen.push(Column::Name);
        }
        chosen.sort_by_key(|column| Column::ALL.iter().position(|c| c == column));
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_screen_keeps_what_matters_most() {
        assert_eq!(Column::fitting(0), [Column::Name]);
        assert_eq!(Column::fitting(40), [Column::Name, Column::Rate, Column::P50, Column::P99]);
        assert_eq!(Column::fitting(250), Column::ALL);
        for width in 15..250 {
            let used: u16 = Column::fitting(width).iter().map(|column| column.width() + 1).sum();
            assert!(used <= width);
        }
    }
}
