//! A Parquet file that grows by whole row groups, so that what was written can be read even if the disk becomes full.
//!
//! ```text
//!  PAR1 | row group | row group | … | footer | PAR1
//!                               ▲
//!                               └ after an error, the file is cut here and gets the footer of what is before
//! ```
//!
//! A row group is made in memory and written at once. Readers need the footer, which says where row groups begin.

use crate::batch::RowBatch;
use crate::columns::{self, Names, TableColumn};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;

/// The usual number of rows in a row group.
pub const GROUP: usize = 65_536;

/// The output that a table is written to.
pub trait TableTarget: Write {
    /// Removes what is behind `length` bytes. What is written next comes there.
    ///
    /// # Errors
    /// This cannot be removed, for instance because another program has read it already.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Waits until everything is on the disk: some file systems report only then that the disk is full.
    ///
    /// # Errors
    /// It cannot be written.
    fn sync(&self) -> io::Result<()>;
}

impl TableTarget for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A Parquet file.
pub struct ParquetFile<T> {
    file: T,
    /// The rows of a row group.
    group: usize,
    columns: Vec<TableColumn>,
    schema: Arc<Schema>,
    /// Makes row groups in memory.
    writer: ArrowWriter<Vec<u8>>,
    /// The row groups in the file.
    groups: Vec<RowGroup>,
    /// The content of the footer, once the library has ended the table, which it does once only.
    metadata: Option<ParquetMetaData>,
}

/// A row group that is in the file.
#[derive(Clone, Copy, Debug)]
struct RowGroup {
    rows: usize,
    /// The length of the file with it.
    end: u64,
}

impl<T: TableTarget> ParquetFile<T> {
    /// A table without rows, which will be written to an empty file, with `group` rows in a row group.
    ///
    /// # Errors
    /// The library refuses the columns.
    pub fn new(file: T, group: usize) -> io::Result<ParquetFile<T>> {
        let columns = columns::all();
        let fields: Vec<_> = columns.iter().map(TableColumn::field).collect();
        let schema = Arc::new(Schema::new(fields));
        let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties()))
            .map_err(refused)?;
        Ok(ParquetFile { file, group, columns, schema, writer, groups: Vec::new(), metadata: None })
    }

    /// Adds rows. They are in the file when their row group is complete.
    ///
    /// # Errors
    /// A row group cannot be written. Nothing more can be added then.
    pub fn add(&mut self, batch: &RowBatch, names: &Names) -> io::Result<()> {
        let arrays = self.columns.iter().map(|column| column.array(batch, names)).collect();
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|error| refused(error.into()))?;
        self.writer.write(&rows).map_err(refused)?;
        if self.writer.in_progress_rows() >= self.group { self.end_group() } else { Ok(()) }
    }

    /// Writes the row group that was begun.
    fn end_group(&mut self) -> io::Result<()> {
        let rows = self.writer.in_progress_rows();
        self.writer.flush().map_err(refused)?;
        let bytes = self.take_bytes()?;
        self.file.write_all(&bytes)?;
        let end = self.end().saturating_add(bytes.len() as u64);
        self.groups.push(RowGroup { rows, end });
        Ok(())
    }

    /// The bytes that the library has made since the last call.
    fn take_bytes(&mut self) -> io::Result<Vec<u8>> {
        self.writer.sync()?;
        Ok(std::mem::take(self.writer.inner_mut()))
    }

    /// The length of the file with all complete row groups.
    fn end(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end)
    }

    /// Completes the file. After an error, it has as many row groups as fit. Returns the file, the number of rows in it, and
    /// the error of [`ParquetFile::add`] or of the end.
    pub fn finish(mut self, failed: Option<io::Error>) -> (T, u64, Option<io::Error>) {
        let error = match failed {
            Some(error) => error,
            None => match self.end_group().and_then(|()| self.write_footer()) {
                Ok(()) => return self.finished(None),
                Err(error) => error,
            },
        };
        if self.salvage().is_err() {
            self.groups.clear();
        }
        self.finished(Some(error))
    }

    fn finished(self, error: Option<io::Error>) -> (T, u64, Option<io::Error>) {
        let rows: usize = self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.rows));
        (self.file, rows as u64, error)
    }

    fn write_footer(&mut self) -> io::Result<()> {
        self.metadata = Some(self.writer.finish().map_err(refused)?);
        let bytes = self.take_bytes()?;
        self.file.write_all(&bytes)?;
        self.file.sync()
    }

    /// Ends the file after its last complete row group, or after an earlier one if there is no room for the footer.
    fn salvage(&mut self) -> io::Result<()> {
        let all = match self.metadata.take() {
            Some(all) => all,
            None => self.writer.finish().map_err(refused)?,
        };
        loop {
            self.file.cut(self.end())?;
            let footer = footer(&all, &self.groups)?;
            match self.file.write_all(&footer).and_then(|()| self.file.sync()) {
                Ok(()) => return Ok(()),
                Err(error) => drop(self.groups.pop().ok_or(error)?),
            }
        }
    }
}

/// The footer of a file with the first row groups only.
fn footer(all: &ParquetMetaData, groups: &[RowGroup]) -> io::Result<Vec<u8>> {
    let of = all.file_metadata();
    let rows: usize = groups.iter().fold(0, |sum, group| sum.saturating_add(group.rows));
    let file = FileMetaData::new(
        of.version(),
        i64::try_from(rows).unwrap_or(i64::MAX),
        of.created_by().map(str::to_owned),
        of.key_value_metadata().cloned(),
        of.schema_descr_ptr(),
        of.column_orders().cloned(),
    );
    let first = all.row_groups().iter().take(groups.len()).cloned().collect();
    let mut bytes = Vec::new();
    if groups.is_empty() {
        bytes.extend_from_slice(b"PAR1");
    }
    let metadata = ParquetMetaData::new(file, first);
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().map_err(refused)?;
    Ok(bytes)
}

/// The encoding of the columns. Times grow from row to row, so that their differences are small; texts and the rest repeat.
fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("wirelap ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(None)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    let times = columns::all().into_iter().map(|column| vec![column.name]);
    let spent = ["spent", "list", "item", "time_ns"].map(str::to_owned).to_vec();
    for path in times.chain([spent]).filter(|path| path.iter().any(|name| name.ends_with("_ns"))) {
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::new(path.clone()), false)
            .set_column_encoding(ColumnPath::new(path), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// An error of the library: those of writing are the system's.
fn refused(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests;
