use super::*;
use crate::sampler::WhenBehind;
use crate::writer::TableFiles;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use wirelap_events::{Count, Stage};
use wirelap_test_support::delivered;

/// Files that tests read.
#[derive(Clone, Default)]
struct KeptFiles {
    files: Arc<Mutex<Vec<File>>>,
    /// Files that are refused.
    refused: usize,
}

impl TableFiles for KeptFiles {
    fn begin(&mut self) -> io::Result<File> {
        if let Some(left) = self.refused.checked_sub(1) {
            self.refused = left;
            return Err(io::ErrorKind::StorageFull.into());
        }
        tempfile::tempfile()
    }

    fn keep(&mut self, file: File) -> io::Result<()> {
        self.files.lock().unwrap().push(file);
        Ok(())
    }

    fn keeps_empty(&self) -> bool {
        false
    }
}

fn table_in(files: &KeptFiles) -> RowTable {
    let sampler = Sampler::start(files.clone(), WhenBehind::Wait).unwrap();
    let mut table = RowTable::new(sampler).of_host(Some("robot".into()));
    table.set_wall_offset(1_000_000);
    table
}

fn table() -> (RowTable, KeptFiles) {
    let files = KeptFiles::default();
    (table_in(&files), files)
}

fn delivery(group: u32) -> Delivery {
    let leg = delivered::leg(&[(Stage::Send, 10), (Stage::Read, 70)]);
    Delivery { group: GroupId(group), ..delivered::delivery([leg]) }
}

fn group(id: u32, middleware: &str) -> Group {
    Group { id: GroupId(id), middleware: middleware.into(), ..Group::default() }
}

fn read(file: File) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// The rows of the only file.
fn batches((mut table, files): (RowTable, KeptFiles)) -> Vec<RecordBatch> {
    let written = table.finish();
    assert!(written.error.is_none());
    let mut files = files.files.lock().unwrap();
    assert_eq!((files.len() as u64, written.files), (1, Count(1)));
    let all = read(files.pop().unwrap());
    let rows: usize = all.iter().map(RecordBatch::num_rows).sum();
    assert_eq!((rows as u64, rows as u64), (written.taken, written.rows));
    all
}

/// The middlewares of all rows, in order.
fn middlewares(table: (RowTable, KeptFiles)) -> Vec<Option<String>> {
    let named = |batch: &RecordBatch| {
        let column = batch.column_by_name("middleware").unwrap().as_string::<i32>();
        column.iter().map(|name| name.map(str::to_owned)).collect::<Vec<_>>()
    };
    batches(table).iter().flat_map(named).collect()
}

#[test]
fn rows_have_the_names_that_are_told_after_their_first_deliveries() {
    let (mut table, files) = table();
    (0..2_000).for_each(|number| table.delivery(&delivery(number % 2)));
    assert!(table.needs_snapshot(Nanos(1)));
    table.name_rows(&[group(1, "nats"), group(0, "mqtt"), group(7, "kafka")]);
    assert!(!table.needs_snapshot(Nanos(u64::MAX)), "all rows have names");
    let names = middlewares((table, files));
    assert_eq!(names.len(), 2_000);
    let is_right = |(number, name): (usize, &Option<String>)| {
        name.as_deref() == Some(["mqtt", "nats"][number % 2])
    };
    assert!(names.iter().enumerate().all(is_right));
}

#[test]
fn names_are_asked_for_rarely_and_at_once_if_rows_pile_up() {
    let (mut table, _) = table();
    assert!(!table.needs_snapshot(Nanos(0)), "no row has no name");
    table.delivery(&delivery(0));
    assert!(table.needs_snapshot(Nanos(0)));
    assert!(!table.needs_snapshot(ASK_AGAIN - Nanos(1)));
    assert!(table.needs_snapshot(ASK_AGAIN));
    (0..8_200).for_each(|_| table.delivery(&delivery(0)));
    assert!(table.needs_snapshot(ASK_AGAIN + Nanos(1)));
}

#[test]
fn rows_whose_names_are_never_told_are_written_without() {
    let (mut table, files) = table();
    (0..20_000).for_each(|_| table.delivery(&delivery(0)));
    let names = middlewares((table, files));
    assert_eq!((names.len(), names.iter().flatten().count()), (20_000, 0));
}

#[test]
fn what_was_not_followed_is_a_row_without_a_latency() {
    let (mut table, files) = table();
    table.delivery(&delivery(0));
    table.aside(&delivered::delivery([delivered::leg(&[(Stage::Send, 10)])]));
    table.name_rows(&[group(0, "mqtt")]);
    let all = batches((table, files));
    let column = |name: &str| all[0].column_by_name(name).unwrap();
    let status: Vec<_> = column("status").as_string::<i32>().iter().flatten().collect();
    assert_eq!(status, ["counted", "read_not_seen"]);
    let latency: Vec<_> = column("one_way_ns").as_primitive::<Int64Type>().iter().collect();
    assert_eq!(latency, [Some(60), None]);
    let offset: Vec<_> = column("wall_offset_ns").as_primitive::<Int64Type>().iter().collect();
    assert_eq!(offset, [Some(1_000_000); 2]);
}

fn published(at: u64) -> Arc<Snapshot> {
    Arc::new(Snapshot { at: Nanos(at), groups: vec![group(0, "mqtt")], ..Snapshot::default() })
}

#[test]
fn a_file_ends_with_its_time_and_the_last_one_with_the_table() {
    let files = KeptFiles::default();
    let (sender, result) = sync_channel(1);
    let mut table = table_in(&files).in_pieces(Nanos(1_000), || 7).with_result(sender);
    for at in [0, 500, 1_000, 1_400, 2_100, 9_000] {
        table.delivery(&delivery(0));
        table.published(&published(at));
    }
    table.delivery(&delivery(0));
    drop(table);
    let written = result.recv().unwrap();
    assert_eq!((written.files, written.rows, written.taken), (Count(4), 7, 7));
    let kept: Vec<_> = std::mem::take(&mut *files.files.lock().unwrap());
    let rows: Vec<usize> =
        kept.into_iter().map(|file| read(file).iter().map(RecordBatch::num_rows).sum()).collect();
    assert_eq!(rows, [3, 2, 1, 1]);
}

#[test]
fn after_a_file_that_cannot_be_had_the_next_one_is_written() {
    let files = KeptFiles { refused: 1, ..KeptFiles::default() };
    let mut table = table_in(&files).in_pieces(Nanos(1_000), || 7);
    for at in [0, 1_000, 1_400, 2_100] {
        table.delivery(&delivery(0));
        table.published(&published(at));
    }
    let written = table.finish();
    assert_eq!((written.files, written.rows, written.taken), (Count(1), 2, 4));
    assert_eq!(written.error.unwrap().kind(), io::ErrorKind::StorageFull);
}

/// A disk that takes nothing until it is let go.
struct StuckDisk {
    is_let_go: Receiver<()>,
    files: KeptFiles,
}

impl TableFiles for StuckDisk {
    fn begin(&mut self) -> io::Result<File> {
        self.is_let_go.recv().unwrap();
        self.files.begin()
    }

    fn keep(&mut self, file: File) -> io::Result<()> {
        self.files.keep(file)
    }

    fn keeps_empty(&self) -> bool {
        false
    }
}

#[test]
fn what_a_slow_disk_does_not_take_is_dropped_and_counted_and_its_names_are_kept() {
    let files = KeptFiles::default();
    let (let_go, is_let_go) = sync_channel(1);
    let disk = StuckDisk { is_let_go, files: files.clone() };
    let mut table = RowTable::new(Sampler::start(disk, WhenBehind::Drop).unwrap());
    for n in 0..100_000 {
        table.delivery(&delivery(u32::from(n >= 99_999)));
        table.name_rows(&[group(0, "mqtt"), group(1, "nats")]);
    }
    let_go.send(()).unwrap();
    let written = table.finish();
    assert!(written.error.is_none() && written.dropped > 50_000, "{written:?}");
    assert_eq!((written.rows + written.dropped, written.taken), (100_000, 100_000));
    let last = read(files.files.lock().unwrap().pop().unwrap()).pop().unwrap();
    let names = last.column_by_name("middleware").unwrap().as_string::<i32>();
    assert_eq!(names.iter().next_back(), Some(Some("nats")), "named while nothing was taken");
}
