//! Writes a copy of a recording or capture, in which the packets tell what became of their messages.

use std::path::{Path, PathBuf};
use wirelap_correlate::Correlator;
use wirelap_events::{Delivery, Event, IfIndex, Nanos, NetNs};
use wirelap_process::Failure;
use wirelap_process::outputs::{self, Outputs};
use wirelap_recording::read::Block;
use wirelap_recording::{
    Encoder, EncoderSettings, Entry, FileRecorder, MessageSink, Rotation, SectionHeader, Verbatim,
    WriteFailed, Written,
};
use wirelap_session::annotate::{Annotator, OFFLINE};
use wirelap_session::notes;

const MIXED: &str = "--annotate cannot write recordings of wirelap and captures of other programs into one file: annotate each file alone";

/// A copy of a recording or capture, in which the packets tell what became of their messages.
#[derive(Debug)]
pub struct AnnotatedCopy {
    path: PathBuf,
    outputs: Outputs,
    target: Option<CopyWriter>,
    annotator: Annotator,
}

/// Writer of the copy.
#[derive(Debug)]
enum CopyWriter {
    /// A recording of wirelap is written again from its events.
    Events(Box<FileRecorder>),
    /// A capture of another program is copied block by block.
    Blocks(Box<Verbatim>),
}

impl CopyWriter {
    fn messages(&mut self) -> &mut dyn MessageSink {
        match self {
            CopyWriter::Events(recorder) => &mut **recorder,
            CopyWriter::Blocks(verbatim) => &mut **verbatim,
        }
    }

    fn close(self) -> Result<Written, WriteFailed> {
        match self {
            CopyWriter::Events(recorder) => recorder.close(),
            CopyWriter::Blocks(verbatim) => verbatim.close(),
        }
    }
}

impl AnnotatedCopy {
    /// A copy to this file, which is created when the first file is read.
    pub fn new(path: &Path, outputs: &Outputs) -> AnnotatedCopy {
        let outputs = outputs.clone();
        AnnotatedCopy {
            path: path.to_owned(),
            outputs,
            target: None,
            annotator: Annotator::default(),
        }
    }

    /// Begins the next file: a recording with this section, or (without a section) a capture of another program.
    ///
    /// # Errors
    /// The copy cannot be created, or the file is of the other kind than those before.
    pub fn begin(&mut self, section: Option<&SectionHeader>) -> Result<(), Failure> {
        match (&self.target, section) {
            (None, _) => {}
            (Some(CopyWriter::Events(_)), Some(_)) | (Some(CopyWriter::Blocks(_)), None) => {
                return Ok(());
            }
            (Some(_), _) => return Err(Failure::Usage(MIXED.into())),
        }
        let target = match section {
            Some(section) => self.recorder(section),
            None => Verbatim::create_in(Box::new(self.outputs.clone()), &self.path, OFFLINE)
                .map(|copy| CopyWriter::Blocks(Box::new(copy))),
        };
        let failed = |failed: WriteFailed| outputs::failure(&failed.path, &failed.error);
        self.target = Some(target.map_err(failed)?);
        self.annotator.packets_only = section.is_none();
        Ok(())
    }

    /// The recording is of packets alone.
    pub fn packets_only(&mut self) {
        self.annotator.packets_only = true;
    }

    fn recorder(&self, section: &SectionHeader) -> Result<CopyWriter, WriteFailed> {
        let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
        let encoder = Encoder::new(section.clone(), settings, Box::new(|_, _| None));
        let store = Box::new(self.outputs.clone());
        let mut recorder =
            FileRecorder::create_in(store, &self.path, encoder, Rotation::default())?;
        recorder.hold(OFFLINE);
        Ok(CopyWriter::Events(Box::new(recorder)))
    }

    /// Gives the devices of a recording their names.
    pub fn name(&mut self, named: impl Iterator<Item = (NetNs, IfIndex, String)>) {
        for (netns, device, name) in named {
            if let Some(CopyWriter::Events(recorder)) = &mut self.target {
                recorder.name_device(netns, device, &name);
            }
        }
    }

    /// Copies a block of a capture unchanged. The entries of the block are given after it.
    pub fn block(&mut self, block: &Block<'_>) {
        if let Some(CopyWriter::Blocks(verbatim)) = &mut self.target {
            verbatim.block(block);
        }
    }

    /// Copies an entry of a recording without giving it to the correlator.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        if let Some(CopyWriter::Events(recorder)) = &mut self.target {
            recorder.entry(entry);
        }
    }

    /// Copies an event, and gives it to the correlator.
    pub fn event(&mut self, event: &Event<'_>, correlator: &mut Correlator) {
        self.entry(&Entry::Event(*event));
        let Some(target) = &mut self.target else { return };
        self.annotator.event(event, correlator, &mut discard, target.messages());
    }

    /// Copies a tick, and gives it to the correlator.
    pub fn tick(&mut self, at: Nanos, correlator: &mut Correlator) {
        self.entry(&Entry::Tick(at));
        let Some(target) = &mut self.target else { return };
        self.annotator.tick(Some(at), correlator, &mut discard, target.messages());
    }

    /// Lets the correlator complete all deliveries, and completes the copy. Returns a note for the report if some packets could not
    /// be annotated.
    ///
    /// # Errors
    /// The copy could not be written completely.
    pub fn end(mut self, correlator: &mut Correlator) -> Result<Option<String>, Failure> {
        let Some(mut target) = self.target else { return Ok(None) };
        self.annotator.tick(None, correlator, &mut discard, target.messages());
        let note = match &target {
            CopyWriter::Blocks(verbatim) if verbatim.bare() > 0 => Some(format!(
                "{}: {} packets are in simple packet blocks, which cannot have comments on messages.",
                self.path.display(),
                verbatim.bare()
            )),
            _ => None,
        };
        target.close().map_err(|failed| notes::unwritten(&failed))?;
        Ok(note)
    }
}

/// A sink that discards deliveries: the snapshot counts them already.
fn discard(_: &Delivery) {}
