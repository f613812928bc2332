//! Takes deliveries where they are made, and gives them to a thread that writes.

use crate::batch::RowBatch;
use crate::columns::Names;
use crate::file::{GROUP, ParquetFile};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use wirelap_events::{Delivery, SampleStatus, Saturate, TopicId};
use wirelap_process::rights;
use wirelap_report::SampleOrigin;

/// Deliveries that are given to the writing thread at once.
const BATCH: usize = 512;

/// Steps that may wait for the writing thread. When there are more, the tracing thread waits, too; events that the ring buffer has
/// no room for meanwhile are counted as lost.
const QUEUE: usize = 32;

/// The next task of the writing thread.
enum WriterTask {
    /// Rows of another origin follow; its index is one higher than that of the previous.
    Origin(SampleOrigin),
    /// Topics are numbered anew.
    ForgetTopics,
    /// The name of a topic.
    Topic(TopicId, String),
    /// Rows to write.
    Rows(RowBatch),
}

/// The result of writing the deliveries that were taken.
#[derive(Debug)]
pub struct WrittenTable {
    /// The file, which is complete and can be read if `rows` is not 0 or there was no error. `None` if the thread has failed.
    pub file: Option<File>,
    /// The rows in the file.
    pub rows: u64,
    /// The deliveries that were taken. They are as many as the rows, unless there was an error.
    pub taken: u64,
    /// Why the file does not have all rows.
    pub error: Option<io::Error>,
}

/// Takes deliveries, and writes them to a file on a thread of its own.
#[derive(Debug)]
pub struct Sampler {
    steps: Option<SyncSender<WriterTask>>,
    thread: Option<JoinHandle<(File, u64, Option<io::Error>)>>,
    batch: RowBatch,
    /// The number of origins so far.
    origins: usize,
    /// The topics whose names are known.
    topics: HashSet<TopicId>,
    taken: u64,
}

impl Sampler {
    /// Starts the thread that writes to an empty file.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(file: File) -> io::Result<Sampler> {
        let parquet = ParquetFile::new(file, GROUP)?;
        let (steps, receiver) = sync_channel(QUEUE);
        let thread = rights::spawn("parquet", move || write(parquet, &receiver))?;
        Ok(Sampler {
            steps: Some(steps),
            thread: Some(thread),
            batch: RowBatch::with_capacity(BATCH),
            origins: 0,
            topics: HashSet::new(),
            taken: 0,
        })
    }

    /// From now on, topics are numbered anew: another session begins.
    pub fn forget_topics(&mut self) {
        self.send_batch();
        self.topics.clear();
        self.send(WriterTask::ForgetTopics);
    }

    /// Adds an origin of deliveries, and returns its index.
    pub fn add_origin(&mut self, origin: SampleOrigin) -> usize {
        let index = self.origins;
        self.send(WriterTask::Origin(origin));
        self.origins = index.saturating_add(1);
        index
    }

    /// True if the name of this topic is not known yet.
    pub fn needs_topic(&self, topic: TopicId) -> bool {
        !self.topics.contains(&topic)
    }

    /// Takes the name of a topic.
    pub fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.topics.insert(topic) {
            self.send(WriterTask::Topic(topic, String::from_utf8_lossy(name).into_owned()));
        }
    }

    /// Takes a delivery of an origin.
    pub fn delivery(&mut self, origin: usize, delivery: &Delivery, status: SampleStatus) {
        self.taken.grow(1);
        self.batch.add(origin, delivery, status);
        if self.batch.rows.len() >= BATCH {
            self.send_batch();
        }
    }

    /// Writes what is left and completes the file.
    pub fn finish(&mut self) -> WrittenTable {
        self.send_batch();
        // The thread ends when it has taken all steps.
        self.steps = None;
        let taken = self.taken;
        let ended = self.thread.take().map(JoinHandle::join);
        let Some(Ok((file, rows, error))) = ended else {
            let why = "the thread that writes it has failed, which is a defect of wirelap";
            return WrittenTable { file: None, rows: 0, taken, error: Some(io::Error::other(why)) };
        };
        WrittenTable { file: Some(file), rows, taken, error }
    }

    fn send_batch(&mut self) {
        if !self.batch.rows.is_empty() {
            let batch = std::mem::replace(&mut self.batch, RowBatch::with_capacity(BATCH));
            self.send(WriterTask::Rows(batch));
        }
    }

    fn send(&self, step: WriterTask) {
        if let Some(steps) = &self.steps {
            // If the thread has panicked, the end tells of it.
            let _ = steps.send(step);
        }
    }
}

/// Writes until there are no further steps. After an error, the rest is taken and dropped, so that the trace goes on.
fn write(
    mut parquet: ParquetFile<File>,
    steps: &Receiver<WriterTask>,
) -> (File, u64, Option<io::Error>) {
    let mut names = Names::default();
    let mut error = None;
    for step in steps {
        match step {
            WriterTask::Origin(origin) => names.origins.push(origin),
            WriterTask::ForgetTopics => names.topics.clear(),
            WriterTask::Topic(topic, name) => drop(names.topics.insert(topic, name)),
            WriterTask::Rows(batch) if error.is_none() => error = parquet.add(&batch, &names).err(),
            WriterTask::Rows(_) => {}
        }
    }
    parquet.finish(error)
}
