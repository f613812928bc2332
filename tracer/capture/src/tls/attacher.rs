//! The probes, and the files that they are attached to.

use super::access::{self, TlsAccess};
use super::files::{CodeFile, FileId, ProcessCode};
use super::functions::{PROGRAMS, TlsFunction};
use super::symbols::{self, FoundFunction};
use crate::error::with_causes;
use crate::links::ProgramLink;
use aya::Ebpf;
use aya::maps::{Array, MapData};
use aya::programs::uprobe::UProbeScope;
use aya::programs::{ProgramError, UProbe};
use std::collections::BTreeMap;
use std::path::Path;

/// Files that are remembered. What is found beyond is not attached to.
const FILES: usize = 4096;

/// Result of the attempt to attach to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AttachOutcome {
    /// The file has none of the functions.
    Nothing,
    /// The probes are attached.
    Attached,
    /// The kernel refuses the probes.
    Refused(String),
}

/// A loaded program apart from its object, so that it can go to another thread.
#[allow(unsafe_code)]
fn apart(loaded: &UProbe, name: &'static str) -> Result<UProbe, ProgramError> {
    // SAFETY: the program in the kernel is the one that was loaded as a uprobe, and its kind is not changed.
    unsafe { UProbe::from_program_info(loaded.info()?, name.into(), loaded.kind()) }
}

/// Attaches the programs to files, each once. Dropping it detaches them.
pub struct Attacher {
    programs: BTreeMap<&'static str, UProbe>,
    links: Vec<ProgramLink>,
    files: BTreeMap<FileId, AttachOutcome>,
    /// 1 in its only place: a program with rustls is probed, and what threads send is looked at.
    rustls_probed: Option<Array<MapData, u32>>,
}

impl Attacher {
    /// Loads the programs.
    ///
    /// # Errors
    /// The kernel refuses one.
    pub fn load(ebpf: &mut Ebpf) -> Result<Attacher, ProgramError> {
        let mut programs = BTreeMap::new();
        for name in PROGRAMS {
            let loaded: &mut UProbe =
                ebpf.program_mut(name).ok_or(ProgramError::NotLoaded)?.try_into()?;
            loaded.load()?;
            programs.insert(name, apart(loaded, name)?);
        }
        let rustls_probed = ebpf.take_map("rustls_probed").and_then(|map| map.try_into().ok());
        Ok(Attacher { programs, links: Vec::new(), files: BTreeMap::new(), rustls_probed })
    }

    /// Returns the number of attached probes.
    pub fn probes(&self) -> usize {
        self.links.len()
    }

    /// Attaches to a file, unless that was tried before. Returns the reason why not if that is news.
    pub fn attach(&mut self, file: &CodeFile) -> Option<String> {
        if self.files.contains_key(&file.id) || self.files.len() >= FILES {
            return None;
        }
        let found = symbols::find(&file.path);
        let attached = found.iter().try_for_each(|found| self.attach_function(&file.path, found));
        let outcome = match attached {
            Ok(()) if found.is_empty() => AttachOutcome::Nothing,
            Ok(()) => AttachOutcome::Attached,
            Err(error) => AttachOutcome::Refused(with_causes(&error)),
        };
        let news = match &outcome {
            AttachOutcome::Refused(reason) => Some(format!("{}: {reason}", file.name)),
            AttachOutcome::Nothing | AttachOutcome::Attached => None,
        };
        self.files.insert(file.id, outcome);
        news
    }

    fn attach_function(&mut self, path: &Path, found: &FoundFunction) -> Result<(), ProgramError> {
        let FoundFunction { function, entry, returns } = found;
        if function.is_of_rustls()
            && let Some(probed) = &mut self.rustls_probed
        {
            probed.set(0, 1, 0).map_err(ProgramError::from)?;
        }
        if let Some(program) = TlsFunction::at_return(*function) {
            returns.iter().try_for_each(|&offset| self.attach_at(program, path, offset))?;
        }
        self.attach_at(function.at_entry(), path, *entry)
    }

    fn attach_at(&mut self, name: &str, path: &Path, offset: u64) -> Result<(), ProgramError> {
        let program = self.programs.get_mut(name).ok_or(ProgramError::NotLoaded)?;
        let link = program.attach(offset, path, UProbeScope::AllProcesses)?;
        self.links.push(Box::new(program.take_link(link)?));
        Ok(())
    }

    /// Attaches to the files of a process. Returns whether its text can be read.
    pub fn process(&mut self, code: &ProcessCode) -> TlsAccess {
        for file in code.files() {
            if let Some(reason) = self.attach(file) {
                tracing::debug!(reason, "refused");
            }
        }
        let outcome = |file: &CodeFile| self.files.get(&file.id);
        if let Some(file) =
            code.files().find(|file| outcome(file) == Some(&AttachOutcome::Attached))
        {
            return TlsAccess::Attached(file.name.clone());
        }
        let refused = code.files().find_map(|file| match outcome(file)? {
            AttachOutcome::Refused(reason) => {
                Some(TlsAccess::Refused { file: file.name.clone(), reason: reason.clone() })
            }
            AttachOutcome::Nothing | AttachOutcome::Attached => None,
        });
        refused.unwrap_or_else(|| access::why_not(code))
    }
}
