//! Option `--otlp` in a program that was built without OpenTelemetry.

use super::OtlpArgs;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use wirelap_process::Failure;

/// A sink, with nothing beside it.
pub type ExportedSink<S> = S;

/// An export, which this program cannot make.
#[derive(Debug)]
pub struct WantedExport;

/// No export.
#[derive(Debug)]
pub struct Otlp;

impl OtlpArgs {
    /// Checks that no export is wanted.
    ///
    /// # Errors
    /// One is wanted.
    pub fn open(&self) -> Result<WantedExport, Failure> {
        match &self.otlp {
            None => Ok(WantedExport),
            Some(_) => Err(Failure::Usage(
                "this wirelap was built without OpenTelemetry: build it with `cargo build -p wirelap --features otlp`, or leave \
                 --otlp out"
                    .into(),
            )),
        }
    }
}

impl WantedExport {
    /// The sink alone.
    ///
    /// # Errors
    /// None.
    pub fn beside<S>(self, first: S) -> Result<(Otlp, ExportedSink<S>), Failure> {
        Ok((Otlp, first))
    }
}

impl Otlp {
    /// Nothing is counted.
    pub fn counts(&self) -> Option<[Arc<AtomicU64>; 2]> {
        None
    }

    /// Nothing is left.
    pub fn end(self) {}
}
