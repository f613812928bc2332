//! The deliveries of all rows in one interval of time, packed.

use super::packed::{PackedReader, PackedWriter};
use crate::slice::{RowSlice, SegmentSlice};
use wirelap_events::{GroupId, Nanos, Segment, Size};

/// The deliveries of all rows in one interval of time.
#[derive(Clone, Debug)]
pub struct TimelineBlock {
    /// The interval's beginning.
    pub from: Nanos,
    /// The interval's end.
    pub to: Nanos,
    /// The rows that delivered anything, by their ids, and where the bytes of each end.
    rows: Box<[(GroupId, u32)]>,
    bytes: Box<[u8]>,
}

impl TimelineBlock {
    /// Packs what rows delivered; these are in the order of their ids.
    pub fn pack<'a>(
        from: Nanos,
        to: Nanos,
        rows: impl IntoIterator<Item = (GroupId, &'a RowSlice)>,
    ) -> TimelineBlock {
        let mut writer = PackedWriter::default();
        let mut ends = Vec::new();
        for (group, row) in rows {
            write(&mut writer, row);
            ends.push((group, u32::try_from(writer.len()).unwrap_or(u32::MAX)));
        }
        TimelineBlock { from, to, rows: ends.into(), bytes: writer.finish() }
    }

    /// The deliveries of each row, by the rows' ids.
    pub fn rows(&self) -> impl Iterator<Item = RowSlice> + '_ {
        self.rows.iter().enumerate().map(|(index, &(group, _))| read(group, self.reader(index)))
    }

    /// The deliveries of one row; `None` if there are none.
    pub fn row(&self, group: GroupId) -> Option<RowSlice> {
        let index = self.rows.binary_search_by_key(&group, |row| row.0).ok()?;
        Some(read(group, self.reader(index)))
    }

    /// The memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        let rows = size_of_val(&*self.rows);
        (Size::of::<TimelineBlock>(1) + rows + self.bytes.len()).0
    }

    /// Reads from where a row begins.
    fn reader(&self, row: usize) -> PackedReader<'_> {
        let before = row.checked_sub(1).and_then(|before| self.rows.get(before));
        let begin = before.map_or(0, |(_, end)| usize::try_from(*end).unwrap_or(usize::MAX));
        PackedReader::new(self.bytes.get(begin..).unwrap_or_default())
    }
}

fn write(writer: &mut PackedWriter, row: &RowSlice) {
    writer.number(row.payload_bytes);
    for bins in row.bins() {
        writer.bins(bins);
    }
    writer.number(row.segments.len() as u64);
    for segment in &row.segments {
        writer.number(segment.leg as u64);
        writer.number(segment.segment as u64);
        writer.number(segment.sum);
        writer.number(segment.count);
        writer.bins(&segment.times);
    }
}

fn read(group: GroupId, mut reader: PackedReader<'_>) -> RowSlice {
    let mut row = RowSlice {
        group,
        payload_bytes: reader.number(),
        one_way: reader.bins(),
        sched_gap: reader.bins(),
        dwell: reader.bins(),
        segments: Vec::new(),
    };
    for _ in 0..reader.small::<u16>() {
        let leg = reader.small();
        let segment = Segment::ALL.get(reader.small::<usize>()).copied();
        let (sum, count, times) = (reader.number(), reader.number(), reader.bins());
        let segment = segment.map(|segment| SegmentSlice { leg, segment, sum, count, times });
        row.segments.extend(segment);
    }
    row
}
