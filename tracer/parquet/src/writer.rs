//! The thread that writes rows to files, one after the other.

use crate::batch::RowBatch;
use crate::columns::Names;
use crate::file::{GROUP, ParquetFile};
use std::fs::File;
use std::io;
use std::sync::mpsc::Receiver;
use wirelap_events::{Count, Saturate, TopicId};
use wirelap_report::SampleOrigin;

/// Gives the files that rows are written to, and takes them when they are complete.
pub trait TableFiles: Send + 'static {
    /// An empty file.
    ///
    /// # Errors
    /// There is none to be had.
    fn begin(&mut self) -> io::Result<File>;

    /// Takes a file that can be read.
    ///
    /// # Errors
    /// The file cannot be kept.
    fn keep(&mut self, file: File) -> io::Result<()>;

    /// True if there is a file even without any row.
    fn keeps_empty(&self) -> bool;
}

/// The next task of the writing thread.
#[derive(Debug)]
pub enum WriterTask {
    /// The origin with this index, of which rows follow.
    Origin(usize, SampleOrigin),
    /// Topics are numbered anew.
    ForgetTopics,
    /// The name of a topic.
    Topic(TopicId, String),
    /// Rows to write.
    Rows(RowBatch),
    /// The file ends; what follows belongs to another one.
    EndFile,
}

/// The result of writing.
#[derive(Debug, Default)]
pub struct WrittenTable {
    /// The files that were kept.
    pub files: Count,
    /// The rows in them.
    pub rows: u64,
    /// The deliveries that were taken. They are as many as the rows, unless there was an error or some were dropped.
    pub taken: u64,
    /// The deliveries that were dropped, because they came faster than they could be written.
    pub dropped: u64,
    /// The first reason for which a file does not have all rows.
    pub error: Option<io::Error>,
}

/// Writes rows to files.
pub struct TableWriter<F> {
    files: F,
    names: Names,
    file: Option<ParquetFile<File>>,
    /// The reason for which the present file gets no further rows.
    failed: Option<io::Error>,
    written: WrittenTable,
}

impl<F: TableFiles> TableWriter<F> {
    /// A writer that has not begun a file.
    pub fn new(files: F) -> TableWriter<F> {
        TableWriter {
            files,
            names: Names::default(),
            file: None,
            failed: None,
            written: WrittenTable::default(),
        }
    }

    /// Writes until there are no further tasks. After an error, the rest of a file is taken and dropped, so that the trace goes on.
    pub fn write(mut self, tasks: &Receiver<Vec<WriterTask>>) -> WrittenTable {
        tasks.iter().flatten().for_each(|task| self.take(task));
        self.end_file();
        let WrittenTable { files, error, .. } = &self.written;
        if self.files.keeps_empty() && *files == 0 && error.is_none() {
            self.begin();
            self.end_file();
        }
        self.written
    }

    fn take(&mut self, task: WriterTask) {
        match task {
            WriterTask::Origin(index, origin) => self.names.name(index, origin),
            WriterTask::ForgetTopics => self.names.topics.clear(),
            WriterTask::Topic(topic, name) => drop(self.names.topics.insert(topic, name)),
            WriterTask::Rows(batch) => self.add(&batch),
            WriterTask::EndFile => self.end_file(),
        }
    }

    fn begin(&mut self) {
        match self.files.begin().and_then(|file| ParquetFile::new(file, GROUP)) {
            Ok(file) => self.file = Some(file),
            Err(error) => self.failed = Some(error),
        }
    }

    fn add(&mut self, batch: &RowBatch) {
        if self.file.is_none() && self.failed.is_none() {
            self.begin();
        }
        if let Some(file) = self.file.as_mut().filter(|_| self.failed.is_none()) {
            self.failed = file.add(batch, &self.names).err();
        }
    }

    /// Completes the present file, if one was begun.
    fn end_file(&mut self) {
        let mut failed = self.failed.take();
        if let Some(file) = self.file.take() {
            let (file, rows, error) = file.finish(failed);
            failed = error;
            // A file without any row is kept only if it is complete.
            if rows > 0 || failed.is_none() {
                match self.files.keep(file) {
                    Ok(()) => {
                        self.written.files += 1;
                        self.written.rows.grow(rows);
                    }
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        self.written.error = self.written.error.take().or(failed);
    }
}
