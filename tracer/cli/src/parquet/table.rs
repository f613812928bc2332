//! The table of messages of a run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_events::{Delivery, SampleStatus, TopicId};
use wirelap_experiment::{SampleSink, SharedSamples};
use wirelap_parquet::{Sampler, WrittenTable};
use wirelap_process::outputs::{self, unwritable};
use wirelap_process::{Failure, Outputs, remedy};
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

    /// Starts to write. Called after rights were given up, because it starts a thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(&mut self) -> Result<Option<SharedSamples>, Failure> {
        let Some((wanted, file)) =
            self.wanted.as_mut().and_then(|wanted| wanted.file.take().map(|file| (wanted, file)))
        else {
            return Ok(None);
        };
        let sampler = Sampler::start(file).map_err(|error| {
            Failure::Machine(format!("cannot start a thread: {}", remedy::with(&error)))
        })?;
        let samples = Arc::new(Mutex::new(TrialSamples { sampler, origin: 0 }));
        wanted.samples = Some(Arc::clone(&samples));
        Ok(Some(SharedSamples::new(samples)))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// The file does not have all messages; the failure says how many it has.
    pub fn finish(self) -> Result<(), Failure> {
        let Some(WantedTable { path, outputs, samples: Some(samples), .. }) = self.wanted else {
            return Ok(());
        };
        let written = samples.lock().unwrap_or_else(PoisonError::into_inner).sampler.finish();
        let WrittenTable { file, rows, taken, error } = written;
        // A file without any row is kept only if it is complete.
        let kept = match file {
            Some(file) if rows > 0 || error.is_none() => outputs.keep(&path, &file),
            _ => Ok(()),
        };
        let is_kept = kept.is_ok() && rows > 0;
        let Some(error) = error.or(kept.err()) else { return Ok(()) };
        let why = unwritable(&path, &error);
        Err(Failure::Measured(if is_kept {
            format!("{why}; the file has the first {rows} of {taken} messages")
        } else {
            why
        }))
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
