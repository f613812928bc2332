//! What the user is told when something cannot be done, and the exit status that says so to scripts.

use std::fmt;
use std::process::ExitCode;

/// One sentence, with what to do about it where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The thing that was measured failed: exit status 1.
    Measured(String),
    /// The command line asks for something that does not exist: exit status 2.
    Usage(String),
    /// This machine cannot do it: exit status 3.
    Machine(String),
}

impl Failure {
    /// Several as one: the first tells the exit status, all are said. `None` without any.
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
