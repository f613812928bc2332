//! The installation of the workloads' program, which the steward has prepared and starts.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use wirelap_process::Failure;
use wirelap_process::remedy;
use wirelap_process::steward::{StartedProcess, Steward};

/// The workloads' program, which the steward starts.
#[derive(Clone, Debug)]
pub struct WorkloadInstallation {
    /// The path of the program, as messages name it.
    pub program: String,
    /// The steward that starts the program.
    pub steward: Arc<Steward>,
}

impl WorkloadInstallation {
    /// Makes the steward find the program and create a folder for it. `programs` are environment variables that tell the
    /// workloads where the programs of other projects are.
    ///
    /// # Errors
    /// The program is not found, or the temporary folder cannot be created.
    pub fn open(
        steward: Arc<Steward>,
        programs: &[(&str, PathBuf)],
    ) -> Result<WorkloadInstallation, Failure> {
        let variables = programs.iter().map(|(name, path)| (name.into(), path.into()));
        let program = steward
            .prepare(variables.collect())
            .map_err(|error| Failure::Machine(remedy::with(&error)))?;
        Ok(WorkloadInstallation { program, steward })
    }

    /// Starts the program; with a truth file if `truth` is set.
    ///
    /// # Errors
    /// The program cannot be executed.
    pub fn start(&self, args: Vec<OsString>, truth: bool) -> io::Result<StartedProcess> {
        self.steward.start_workload(args, truth)
    }

    /// Returns the output of the program on stdout when it is called with one argument.
    ///
    /// # Errors
    /// The program cannot be executed, or its output cannot be read.
    pub fn output_of(&self, word: &str) -> io::Result<Vec<u8>> {
        let StartedProcess { pid, files } = self.start(vec![word.into()], false)?;
        let mut output = Vec::new();
        let mut files = files.into_iter().map(File::from);
        // The first file is its stdin, which is closed at once.
        drop(files.next());
        let read = files.next().map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output));
        self.steward.reap_workload(pid);
        read.map(|_| output)
    }
}

/// Why the workloads' program, called `title`, could not be started.
pub fn not_started(title: &str, program: &str, error: &io::Error) -> Failure {
    Failure::Machine(format!("cannot start {title}: {program}: {}", remedy::with(error)))
}
