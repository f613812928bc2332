//! The message that ends a command which failed, and the exit status by which scripts tell failures apart.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed: one sentence, with the remedy where it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The measurement itself failed: exit status 1.
    Measured(String),
    /// The command line asks for something that is not possible or does not exist: exit status 2.
    Usage(String),
    /// This machine lacks a right, a kernel feature or a resource: exit status 3.
    Machine(String),
}

impl Failure {
    /// Joins several failures: the first decides the exit status, and the message names all. `None` if there is none.
    pub fn all(failures: impl IntoIterator<Item = Failure>) -> Option<Failure> {
        failures.into_iter().reduce(|first, next| {
            let text = format!("{first}; {next}");
            match first {
                Failure::Measured(_) => Failure::Measured(text),
                Failure::Usage(_) => Failure::Usage(text),
                Failure::Machine(_) => Failure::Machine(text),
            }
        })
    }

    /// The status that wirelap exits with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    fn status(&self) -> u8 {
        match self {
            Failure::Measured(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Machine(_) => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Measured(text) | Failure::Usage(text) | Failure::Machine(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_can_tell_failures_apart() {
        let failures = [Failure::Measured, Failure::Usage, Failure::Machine];
        let statuses = failures.map(|failure| failure("x".into()).status());
        assert_eq!(statuses, [1, 2, 3]);
    }
}
