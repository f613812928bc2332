//! Where workloads come from: a steward that has their program and a folder of their own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use wirelap_process::Failure;
use wirelap_process::remedy;
use wirelap_process::steward::{Started, Steward};

/// The workloads' program, as it is started by a steward.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The program, for messages.
    pub program: String,
    /// Who starts it.
    pub steward: Arc<Steward>,
}

impl Installation {
    /// Finds the program and makes a folder for it. `programs` are variables that tell where programs of others are.
    ///
    /// # Errors
    /// The program is nowhere, or the temporary folder cannot be made.
    pub fn open(
        steward: Arc<Steward>,
        programs: &[(&str, PathBuf)],
    ) -> Result<Installation, Failure> {
        let variables = programs.iter().map(|(name, path)| (name.into(), path.into()));
        let program = steward
            .prepare(variables.collect())
            .map_err(|error| Failure::Machine(remedy::with(&error)))?;
        Ok(Installation { program, steward })
    }

    /// Starts the program, with a file for its records if asked for.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn start(&self, args: Vec<OsString>, truth: bool) -> io::Result<Started> {
        self.steward.start_workload(args, truth)
    }

    /// What the program prints when it is called with one word.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn ask(&self, word: &str) -> io::Result<Vec<u8>> {
        let Started { pid, files } = self.start(vec![word.into()], false)?;
        let mut said = Vec::new();
        let mut files = files.into_iter().map(File::from);
        // Its input ends at once.
        drop(files.next());
        let read = files.next().map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut said));
        self.steward.reap_workload(pid);
        read.map(|_| said)
    }
}

/// Why the workloads' program, called `title`, could not be started.
pub fn not_started(title: &str, program: &str, error: &io::Error) -> Failure {
    Failure::Machine(format!("cannot start {title}: {program}: {}", remedy::with(error)))
}
