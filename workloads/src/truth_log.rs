//! Truth records, kept in memory during the run and written at its end; of a run that goes on after that, also at the second end.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use wirelap_contract::{Spec, TruthRecord, TruthWriter, truth_line};
use wirelap_harness::control;

const CHUNK: usize = 1 << 16;
/// Most chunks that are made ready before the run: 16 Mi records, 512 MiB.
const READY_CHUNKS: u64 = 256;

/// The records, or nothing when no truth file was asked for.
#[derive(Default)]
pub struct TruthLog {
    file: Option<TruthOutput>,
    /// Records were written before.
    has_begun: bool,
    full: Vec<Vec<TruthRecord>>,
    current: Vec<TruthRecord>,
    spare: Vec<Vec<TruthRecord>>,
}

impl TruthLog {
    /// Creates the file at once, so that a wrong path is found before the run, and memory for the messages
    /// that are expected. A run of unknown length gets more, 65,536 records at a time.
    pub fn create(spec: &Spec) -> Result<TruthLog> {
        let Some(path) = &spec.truth else {
            return Ok(TruthLog::default());
        };
        let chunks = expected_records(spec).div_ceil(CHUNK as u64).clamp(1, READY_CHUNKS);
        Ok(TruthLog {
            file: Some(TruthOutput::create(path)?),
            has_begun: false,
            full: Vec::new(),
            current: Vec::with_capacity(CHUNK),
            spare: (1..chunks).map(|_| Vec::with_capacity(CHUNK)).collect(),
        })
    }

    /// Adds a record.
    pub fn push(&mut self, truth: TruthRecord) {
        if self.file.is_none() {
            return;
        }
        if self.current.len() == CHUNK {
            let next = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
            self.full.push(std::mem::replace(&mut self.current, next));
        }
        self.current.push(truth);
    }

    /// Writes the records that are not in the file yet.
    pub fn write(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let out = BufWriter::with_capacity(truth_line::MAX_BYTES, file);
        let writer =
            if self.has_begun { Ok(TruthWriter::go_on(out)) } else { TruthWriter::new(out) };
        let records = self.full.iter().chain(std::iter::once(&self.current)).flatten();
        let written = writer.and_then(|mut writer| {
            records.into_iter().try_for_each(|truth| writer.write(truth))?;
            writer.finish().map(|_| ())
        });
        written.context("cannot write the truth file")?;
        self.has_begun = true;
        self.full.clear();
        self.current.clear();
        Ok(())
    }
}

/// Destination of the records.
enum TruthOutput {
    File(File),
    /// Lines on stdout.
    Lines,
}

impl TruthOutput {
    fn create(path: &Path) -> Result<TruthOutput> {
        if path == "-" {
            return Ok(TruthOutput::Lines);
        }
        let file = File::create(path).with_context(|| format!("--truth {}", path.display()))?;
        Ok(TruthOutput::File(file))
    }
}

impl Write for TruthOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            TruthOutput::File(file) => file.write(bytes),
            TruthOutput::Lines => {
                let bytes = &bytes[..bytes.len().min(truth_line::MAX_BYTES)];
                control::say(&truth_line::to_line(bytes));
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            TruthOutput::File(file) => file.flush(),
            TruthOutput::Lines => Ok(()),
        }
    }
}

/// `ping` and `pong` make two or three records a message.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn expected_records(spec: &Spec) -> u64 {
    use wirelap_contract::Role;
    let by_time = match (spec.rate, spec.seconds) {
        (Some(rate), Some(seconds)) => Some((rate * seconds) as u64),
        _ => None,
    };
    let messages = spec.messages.or(by_time).unwrap_or(1 << 20) + spec.warmup;
    match spec.role {
        Role::Broker | Role::Connect | Role::Pub | Role::Sub => messages,
        Role::Pong => messages * 2,
        Role::Ping => messages * 3,
    }
}
