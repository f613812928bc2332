use super::*;
use crate::columns::columns;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use wirelap_events::{Delivery, SampleStatus, Stage, Stamp, TopicId};
use wirelap_report::SampleOrigin;
use wirelap_test_support::delivered;

/// A disk with little room.
struct SmallDisk {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.room - self.bytes.len();
        if left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = left.min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TableTarget for SmallDisk {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.bytes.truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

fn names() -> Names {
    let origin = SampleOrigin {
        middleware: "mqtt".into(),
        broker: Some("mosquitto".into()),
        repetition: Some(1),
        ..SampleOrigin::default()
    };
    Names { origins: vec![origin], topics: [(TopicId(7), "a/b".to_owned())].into() }
}

/// The delivery with a number, which takes as many nanoseconds more than 100.
fn delivery(number: u32) -> Delivery {
    let at = u64::from(number) * 1_000;
    let there = [(Stage::Send, at), (Stage::Xmit, at + 30), (Stage::Read, at + 60)];
    let back = [(Stage::Send, at + 80), (Stage::Read, at + 100 + u64::from(number))];
    Delivery {
        stamp: Some(Stamp { stream: 3, seq: number, reply: false, warmup: false }),
        topic: Some(TopicId(7)),
        ..delivered::delivery([delivered::leg(&there), delivered::leg(&back)])
    }
}

fn batch(numbers: std::ops::Range<u32>) -> RowBatch {
    let mut batch = RowBatch::default();
    numbers.for_each(|number| batch.add(0, &delivery(number), SampleStatus::Counted));
    batch
}

/// The rows of a file, all in one batch.
fn read(bytes: &[u8]) -> RecordBatch {
    let file = tempfile::tempfile().unwrap();
    (&file).write_all(bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let rows = reader.metadata().file_metadata().num_rows();
    let schema = Arc::clone(reader.schema());
    let mut all = reader.with_batch_size(1 << 20).build().unwrap();
    let batch = all.next().map_or_else(|| RecordBatch::new_empty(schema), Result::unwrap);
    assert_eq!(i64::try_from(batch.num_rows()).unwrap(), rows);
    batch
}

fn integers(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
    column.as_primitive::<Int64Type>().iter().collect()
}

fn disk(room: usize) -> SmallDisk {
    SmallDisk { bytes: Vec::new(), room }
}

#[test]
fn what_is_written_is_read() {
    let mut parquet = ParquetFile::new(disk(usize::MAX), 100).unwrap();
    for first in [0, 60, 120] {
        parquet.add(&batch(first..first + 60), &names()).unwrap();
    }
    let (disk, rows, error) = parquet.finish(None);
    assert_eq!((rows, error.map(|error| error.kind())), (180, None));
    let table = read(&disk.bytes);
    let schema = table.schema();
    let read: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(read, columns().iter().map(|column| &column.name).collect::<Vec<_>>());
    let numbers: Vec<Option<i64>> = (0..180).map(Some).collect();
    assert_eq!(integers(&table, "sequence"), numbers);
    let latency: Vec<Option<i64>> = (100..280).map(Some).collect();
    assert_eq!(integers(&table, "one_way_ns"), latency);
    assert_eq!(integers(&table, "leg1_at_xmit_ns")[179], Some(179_030));
    assert_eq!(integers(&table, "leg2_in_broker_dwell_ns")[179], Some(20));
    assert_eq!(integers(&table, "leg3_at_read_ns")[179], None);
    assert_eq!(integers(&table, "leg1_sender_pid")[0], None);
    assert_eq!(table.column_by_name("topic").unwrap().as_string::<i32>().value(5), "a/b");
    assert_eq!(table.column_by_name("broker").unwrap().as_string::<i32>().value(5), "mosquitto");
    assert!(table.column_by_name("variant").unwrap().is_null(5));
    // All that a message spent its time on adds up to its latency.
    let spent = table.column_by_name("spent").unwrap().as_list::<i32>().value(179);
    let times = spent.as_struct().column_by_name("time_ns").unwrap();
    assert_eq!(times.as_primitive::<Int64Type>().values().iter().sum::<i64>(), 279);
}

#[test]
fn a_delivery_that_was_not_followed_has_no_latency() {
    let mut rows = RowBatch::default();
    let whole = delivery(1);
    rows.add(0, &whole, SampleStatus::LegIncomplete);
    rows.add(0, &whole, SampleStatus::Duplicate);
    let mut parquet = ParquetFile::new(disk(usize::MAX), 100).unwrap();
    parquet.add(&rows, &names()).unwrap();
    let table = read(&parquet.finish(None).0.bytes);
    assert_eq!(integers(&table, "one_way_ns"), [None, Some(101)]);
    assert_eq!(integers(&table, "leg1_at_read_ns"), [Some(1_060), Some(1_060)]);
    assert_eq!(integers(&table, "leg1_in_wire_ns").len(), 2);
    assert_eq!(integers(&table, "leg2_in_broker_dwell_ns"), [None, Some(20)]);
    let spent = table.column_by_name("spent").unwrap().as_list::<i32>();
    assert_eq!((spent.value_length(0), spent.value_length(1) > 0), (0, true));
    let status = table.column_by_name("status").unwrap().as_string::<i32>();
    assert_eq!((status.value(0), status.value(1)), ("leg_incomplete", "duplicate"));
}

/// Fills a disk of each size, in steps: whatever is kept can be read, and is the beginning.
#[test]
fn on_a_full_disk_the_first_row_groups_stay_readable() {
    let fill = |room: usize| {
        let mut parquet = ParquetFile::new(disk(room), 50).unwrap();
        let numbers = (0..10).map(|group| group * 50);
        let failed = numbers
            .map(|first| parquet.add(&batch(first..first + 50), &names()))
            .find_map(Result::err);
        parquet.finish(failed)
    };
    let (all, rows, error) = fill(1 << 24);
    assert_eq!((rows, error.is_none()), (500, true));
    let whole = all.bytes.len();
    let mut kept = Vec::new();
    for room in (0..=whole).step_by(whole / 200).chain([whole - 1, whole]) {
        let (disk, rows, error) = fill(room);
        assert_eq!(error.is_none(), room == whole, "{room} of {whole} bytes");
        if let Some(error) = error {
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        if rows > 0 {
            let sequence = integers(&read(&disk.bytes), "sequence");
            let first: Vec<Option<i64>> = (0..i64::try_from(rows).unwrap()).map(Some).collect();
            assert_eq!(sequence, first);
        }
        kept.push(rows);
    }
    kept.dedup();
    assert!(kept.len() > 5 && kept.is_sorted(), "{kept:?}");
}
