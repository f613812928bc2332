//! A recording or capture that is written again, with what became of its messages.

use std::path::{Path, PathBuf};
use wirelap_correlate::Correlator;
use wirelap_events::{Delivery, Event, IfIndex, Nanos, NetNs};
use wirelap_process::Failure;
use wirelap_process::outputs::{self, Outputs};
use wirelap_recording::read::Block;
use wirelap_recording::{
    Encoder, Entry, MessageSink, Recorder, Rotation, Section, Settings, Verbatim, WriteFailed,
    Written,
};
use wirelap_session::annotate::{Annotator, OFFLINE};
use wirelap_session::notes;

const MIXED: &str = "--annotate cannot write recordings of wirelap's and captures of others into one file: annotate each alone";

/// A recording or capture that is written again, with what became of its messages.
#[derive(Debug)]
pub struct AnnotatedCopy {
    path: PathBuf,
    outputs: Outputs,
    target: Option<Target>,
    annotator: Annotator,
}

/// How it is written.
#[derive(Debug)]
enum Target {
    /// A recording of wirelap's: from its events.
    Anew(Box<Recorder>),
    /// A capture of others: block by block.
    Verbatim(Box<Verbatim>),
}

impl Target {
    fn messages(&mut self) -> &mut dyn MessageSink {
        match self {
            Target::Anew(recorder) => &mut **recorder,
            Target::Verbatim(verbatim) => &mut **verbatim,
        }
    }

    fn close(self) -> Result<Written, WriteFailed> {
        match self {
            Target::Anew(recorder) => recorder.close(),
            Target::Verbatim(verbatim) => verbatim.close(),
        }
    }
}

impl AnnotatedCopy {
    /// To this file, once something is read.
    pub fn to(path: &Path, outputs: &Outputs) -> AnnotatedCopy {
        let outputs = outputs.clone();
        AnnotatedCopy {
            path: path.to_owned(),
            outputs,
            target: None,
            annotator: Annotator::default(),
        }
    }

    /// A file begins to be read: a recording with this section, or a capture of others.
    ///
    /// # Errors
    /// The copy cannot be created, or the file is not of the kind of those before.
    pub fn begin(&mut self, section: Option<&Section>) -> Result<(), Failure> {
        match (&self.target, section) {
            (None, _) => {}
            (Some(Target::Anew(_)), Some(_)) | (Some(Target::Verbatim(_)), None) => return Ok(()),
            (Some(_), _) => return Err(Failure::Usage(MIXED.into())),
        }
        let target = match section {
            Some(section) => self.recorder(section),
            None => Verbatim::create_in(Box::new(self.outputs.clone()), &self.path, OFFLINE)
                .map(|copy| Target::Verbatim(Box::new(copy))),
        };
        let failed = |failed: WriteFailed| outputs::failure(&failed.path, &failed.error);
        self.target = Some(target.map_err(failed)?);
        self.annotator.packets_only = section.is_none();
        Ok(())
    }

    fn recorder(&self, section: &Section) -> Result<Target, WriteFailed> {
        let settings = Settings { payload: true, ..Settings::default() };
        let encoder = Encoder::new(section.clone(), settings, Box::new(|_, _| None));
        let store = Box::new(self.outputs.clone());
        let mut recorder = Recorder::create_in(store, &self.path, encoder, Rotation::default())?;
        recorder.hold(OFFLINE);
        Ok(Target::Anew(Box::new(recorder)))
    }

    /// Devices have names.
    pub fn name(&mut self, named: impl Iterator<Item = (NetNs, IfIndex, String)>) {
        for (netns, device, name) in named {
            if let Some(Target::Anew(recorder)) = &mut self.target {
                recorder.name_device(netns, device, &name);
            }
        }
    }

    /// Takes a block as it stands in the file; what it says comes behind it.
    pub fn block(&mut self, block: &Block<'_>) {
        if let Some(Target::Verbatim(verbatim)) = &mut self.target {
            verbatim.block(block);
        }
    }

    /// Takes what is neither an event nor a tick.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        if let Some(Target::Anew(recorder)) = &mut self.target {
            recorder.entry(entry);
        }
    }

    /// Takes an event, and gives it to the correlator.
    pub fn event(&mut self, event: &Event<'_>, correlator: &mut Correlator) {
        self.entry(&Entry::Event(*event));
        let Some(target) = &mut self.target else { return };
        self.annotator.event(event, correlator, &mut discard, target.messages());
    }

    /// Takes a tick, and gives it to the correlator.
    pub fn tick(&mut self, at: Nanos, correlator: &mut Correlator) {
        self.entry(&Entry::Tick(at));
        let Some(target) = &mut self.target else { return };
        self.annotator.tick(Some(at), correlator, &mut discard, target.messages());
    }

    /// Lets the correlator complete everything, and writes the rest. Returns what a reader of the report should know.
    ///
    /// # Errors
    /// Not everything could be written.
    pub fn end(mut self, correlator: &mut Correlator) -> Result<Option<String>, Failure> {
        let Some(mut target) = self.target else { return Ok(None) };
        self.annotator.tick(None, correlator, &mut discard, target.messages());
        let note = match &target {
            Target::Verbatim(verbatim) if verbatim.bare() > 0 => Some(format!(
                "{}: {} packets stand in simple packet blocks, which have no place to tell of messages.",
                self.path.display(),
                verbatim.bare()
            )),
            _ => None,
        };
        target.close().map_err(|failed| notes::unwritten(&failed))?;
        Ok(note)
    }
}

/// Deliveries are in the snapshot already.
fn discard(_: &Delivery) {}
