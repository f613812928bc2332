//! The table of messages of a run, and of files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_correlate::{DeliverySink, Snapshot};
use wirelap_events::{Delivery, Event, Nanos, SampleStatus, TopicId};
use wirelap_experiment::{SampleSink, SharedSamples};
use wirelap_parquet::{RowTable, Sampler, TableFiles, WhenBehind, WrittenTable};
use wirelap_process::outputs::{self, unwritable};
use wirelap_process::{Failure, Outputs, remedy};
use wirelap_replay::Follower;
use wirelap_report::SampleOrigin;

/// The table of messages, if one is wanted.
#[derive(Debug)]
pub struct MessageTable {
    wanted: Option<WantedTable>,
}

#[derive(Debug)]
struct WantedTable {
    path: PathBuf,
    outputs: Outputs,
    /// The empty file, until the table is started.
    file: Option<File>,
    samples: Option<Arc<Mutex<TrialSamples>>>,
}

impl MessageTable {
    /// Creates the file at once, so that an error does not come after a long run only.
    ///
    /// # Errors
    /// The file cannot be written, or it exists and must not be replaced: it never is if the run `is_resumed`, because it has
    /// the deliveries of the run's beginning.
    pub fn open(
        path: Option<&Path>,
        is_resumed: bool,
        outputs: &Outputs,
    ) -> Result<MessageTable, Failure> {
        let Some(path) = path else { return Ok(MessageTable { wanted: None }) };
        if path == Path::new("-") {
            return Err(Failure::Usage("--parquet cannot write to stdout: name a file".into()));
        }
        if is_resumed && path.exists() {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} exists and cannot be added to: name another file for the trials that are left"
            )));
        }
        outputs.allow(path, false)?;
        let file = outputs.begin(path).map_err(|error| outputs::failure(path, &error))?;
        let wanted = WantedTable {
            path: path.to_owned(),
            outputs: outputs.clone(),
            file: Some(file),
            samples: None,
        };
        Ok(MessageTable { wanted: Some(wanted) })
    }

    /// Starts to write the messages of a run. Called after rights were given up, because it starts a thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(&mut self) -> Result<Option<SharedSamples>, Failure> {
        let Some((wanted, sampler)) = self.sampler()? else { return Ok(None) };
        let samples = Arc::new(Mutex::new(TrialSamples { sampler, origin: 0 }));
        wanted.samples = Some(Arc::clone(&samples));
        Ok(Some(SharedSamples::new(samples)))
    }

    /// Starts to write the messages of files that are read, as [`MessageTable::start`]. [`MessageTable::judge`] ends it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn follower(&mut self) -> Result<Option<TableFollower>, Failure> {
        let started = self.sampler()?;
        Ok(started.map(|(_, sampler)| TableFollower(RowTable::new(sampler))))
    }

    fn sampler(&mut self) -> Result<Option<(&mut WantedTable, Sampler)>, Failure> {
        let Some(wanted) = &mut self.wanted else { return Ok(None) };
        let Some(file) = wanted.file.take() else { return Ok(None) };
        let file = OneFile {
            path: wanted.path.clone(),
            outputs: wanted.outputs.clone(),
            file: Some(file),
        };
        let sampler = Sampler::start(file, WhenBehind::Wait).map_err(|error| no_thread(&error))?;
        Ok(Some((wanted, sampler)))
    }

    /// Completes the file of a run.
    ///
    /// # Errors
    /// The file does not have all messages; the failure says how many it has.
    pub fn finish(mut self) -> Result<(), Failure> {
        let samples = self.wanted.as_mut().and_then(|wanted| wanted.samples.take());
        let Some(samples) = samples else { return Ok(()) };
        let written = samples.lock().unwrap_or_else(PoisonError::into_inner).sampler.finish();
        self.judge(written)
    }

    /// Tells what became of the file.
    ///
    /// # Errors
    /// As of [`MessageTable::finish`].
    pub fn judge(self, written: WrittenTable) -> Result<(), Failure> {
        let Some(WantedTable { path, .. }) = self.wanted else { return Ok(()) };
        let WrittenTable { rows, taken, error, .. } = written;
        let Some(error) = error else { return Ok(()) };
        let why = unwritable(&path, &error);
        Err(Failure::Measured(if rows > 0 {
            format!("{why}; the file has the first {rows} of {taken} messages")
        } else {
            why
        }))
    }
}

/// The failure of a command whose thread cannot be started.
pub fn no_thread(error: &io::Error) -> Failure {
    Failure::Machine(format!("cannot start a thread: {}", remedy::with(error)))
}

/// The only file of a table.
struct OneFile {
    path: PathBuf,
    outputs: Outputs,
    file: Option<File>,
}

impl TableFiles for OneFile {
    fn begin(&mut self) -> io::Result<File> {
        self.file.take().ok_or_else(|| io::Error::other("there is no other file"))
    }

    fn keep(&mut self, file: File) -> io::Result<()> {
        self.outputs.keep(&self.path, &file)
    }

    fn keeps_empty(&self) -> bool {
        true
    }
}

/// Writes the deliveries that are found in files.
#[derive(Debug)]
pub struct TableFollower(RowTable);

impl TableFollower {
    /// Completes the file.
    pub fn finish(mut self) -> WrittenTable {
        self.0.finish()
    }
}

impl Follower for TableFollower {
    const DELIVERIES: bool = true;

    fn begin(&mut self, wall: Option<i64>) {
        self.0.set_wall_offset(wall.unwrap_or_default());
    }

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn delivery(&mut self, delivery: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        self.0.delivery(delivery);
        Ok(())
    }

    fn sink(&mut self) -> Option<&mut dyn DeliverySink> {
        Some(&mut self.0)
    }

    fn wants_snapshot(&mut self, at: Nanos) -> bool {
        self.0.needs_snapshot(at)
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        self.0.name_rows(&snapshot.groups);
    }
}

/// Writes the deliveries of trials, one after the other.
#[derive(Debug)]
struct TrialSamples {
    sampler: Sampler,
    /// The index of the trial's origin.
    origin: usize,
}

impl SampleSink for TrialSamples {
    fn begin(&mut self, origin: &SampleOrigin) {
        self.sampler.forget_topics();
        self.origin = self.sampler.add_origin(origin.clone());
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.sampler.needs_topic(topic)
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        self.sampler.topic(topic, name);
    }

    fn delivery(&mut self, delivery: &Delivery, status: SampleStatus) {
        self.sampler.delivery(self.origin, delivery, status);
    }
}
