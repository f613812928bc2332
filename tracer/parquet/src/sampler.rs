//! Takes deliveries where they are made, and gives them to a thread that writes.

use crate::batch::RowBatch;
use crate::writer::{TableFiles, TableWriter, WriterTask, WrittenTable};
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use wirelap_events::{Delivery, SampleStatus, Saturate, TopicId};
use wirelap_process::rights;
use wirelap_report::SampleOrigin;

/// Deliveries that are given to the writing thread at once.
const BATCH: usize = 512;

/// Handovers that may wait for the writing thread.
const QUEUE: usize = 32;

/// Batches that wait until their origins have names. If more came, they are written without.
const UNNAMED: usize = 16;

/// The most topics that are named; rows of others have none.
const TOPICS: usize = 65_536;

/// The treatment of deliveries that come faster than they can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBehind {
    /// The thread that traces waits; events that the ring buffer has no room for meanwhile are counted as lost.
    Wait,
    /// Deliveries are dropped and counted, and the trace goes on.
    Drop,
}

/// Takes deliveries, and writes them to files on a thread of its own.
#[derive(Debug)]
pub struct Sampler {
    tasks: Option<SyncSender<Vec<WriterTask>>>,
    thread: Option<JoinHandle<WrittenTable>>,
    when_behind: WhenBehind,
    /// The tasks of the next handover.
    next: Vec<WriterTask>,
    batch: RowBatch,
    /// Batches with rows whose origins have no names yet.
    unnamed: Vec<RowBatch>,
    /// The number of origins so far.
    origins: usize,
    /// The origins that have no names yet.
    nameless: BTreeSet<usize>,
    /// The topics whose names are known.
    topics: HashSet<TopicId>,
    taken: u64,
    dropped: u64,
}

impl Sampler {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(files: impl TableFiles, when_behind: WhenBehind) -> io::Result<Sampler> {
        let writer = TableWriter::new(files);
        let (tasks, receiver) = sync_channel(QUEUE);
        let thread = rights::spawn("parquet", move || writer.write(&receiver))?;
        Ok(Sampler {
            tasks: Some(tasks),
            thread: Some(thread),
            when_behind,
            next: Vec::new(),
            batch: RowBatch::with_capacity(BATCH),
            unnamed: Vec::new(),
            origins: 0,
            nameless: BTreeSet::new(),
            topics: HashSet::new(),
            taken: 0,
            dropped: 0,
        })
    }

    /// From now on, topics are numbered anew: another session begins.
    pub fn forget_topics(&mut self) {
        self.hand_over_batch();
        self.topics.clear();
        self.next.push(WriterTask::ForgetTopics);
    }

    /// Adds an origin of deliveries, and returns its index.
    pub fn add_origin(&mut self, origin: SampleOrigin) -> usize {
        let index = self.add_nameless();
        self.name(index, origin);
        index
    }

    /// Adds an origin whose names will be known soon: its rows wait for [`Sampler::name`].
    pub fn add_nameless(&mut self) -> usize {
        let index = self.origins;
        self.origins = index.saturating_add(1);
        self.nameless.insert(index);
        index
    }

    /// Takes the names of an origin. Rows that were written before have the names from before.
    pub fn name(&mut self, index: usize, origin: SampleOrigin) {
        self.next.push(WriterTask::Origin(index, origin));
        self.nameless.remove(&index);
        if !self.needs_names() {
            self.add_unnamed();
        }
    }

    /// True if rows wait for the names of their origins.
    pub fn needs_names(&self) -> bool {
        !self.nameless.is_empty()
    }

    /// True if further rows are written without the names of their origins.
    pub fn is_full(&self) -> bool {
        self.unnamed.len() >= UNNAMED
    }

    /// True if the name of this topic is not known yet.
    pub fn needs_topic(&self, topic: TopicId) -> bool {
        self.topics.len() < TOPICS && !self.topics.contains(&topic)
    }

    /// Takes the name of a topic.
    pub fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.topics.insert(topic) {
            self.next.push(WriterTask::Topic(topic, String::from_utf8_lossy(name).into_owned()));
        }
    }

    /// Takes a delivery of an origin.
    pub fn delivery(&mut self, origin: usize, delivery: &Delivery, status: SampleStatus) {
        self.taken.grow(1);
        self.batch.add(origin, delivery, status);
        if self.batch.rows.len() >= BATCH {
            self.hand_over_batch();
        }
    }

    /// Completes the present file: what follows belongs to another one.
    pub fn end_file(&mut self) {
        self.hand_over_batch();
        self.add_unnamed();
        self.next.push(WriterTask::EndFile);
        self.hand_over();
    }

    /// Writes what is left and completes the file.
    pub fn finish(&mut self) -> WrittenTable {
        self.when_behind = WhenBehind::Wait;
        self.end_file();
        // The thread ends when it has taken all tasks.
        self.tasks = None;
        let (taken, dropped) = (self.taken, self.dropped);
        let ended = self.thread.take().and_then(|thread| thread.join().ok());
        let written = ended.unwrap_or_else(|| {
            let why = "the thread that writes it has failed, which is a defect of wirelap";
            WrittenTable { error: Some(io::Error::other(why)), ..WrittenTable::default() }
        });
        WrittenTable { taken, dropped, ..written }
    }

    fn hand_over_batch(&mut self) {
        if self.batch.rows.is_empty() {
            return;
        }
        let batch = std::mem::replace(&mut self.batch, RowBatch::with_capacity(BATCH));
        if self.needs_names() && !self.is_full() {
            return self.unnamed.push(batch);
        }
        self.add_unnamed();
        self.next.push(WriterTask::Rows(batch));
        self.hand_over();
    }

    fn add_unnamed(&mut self) {
        self.next.extend(self.unnamed.drain(..).map(WriterTask::Rows));
    }

    /// Hands over all tasks. If the thread has panicked, the end tells of it.
    fn hand_over(&mut self) {
        let Some(tasks) = &self.tasks else { return };
        let next = std::mem::take(&mut self.next);
        if self.when_behind == WhenBehind::Wait {
            let _ = tasks.send(next);
            return;
        }
        let Err(TrySendError::Full(mut kept)) = tasks.try_send(next) else { return };
        // Names are needed for rows that come later.
        kept.retain(|task| {
            let WriterTask::Rows(batch) = task else { return true };
            self.dropped.grow(batch.rows.len() as u64);
            false
        });
        self.next = kept;
    }
}
