//! Why an agent ended, as a sentence with what helps.

use crate::stream::StreamError;

/// Everything that is known of the end of an agent.
#[derive(Debug)]
pub struct Ending {
    /// Why its stream could not be read on.
    pub error: StreamError,
    /// The reason that it has given itself.
    pub goodbye: Option<String>,
    /// The last line of its stderr.
    pub said: String,
    /// Exit status of the command; 128 and the signal's number if one ended it.
    pub status: Option<i32>,
}

/// Parts of last lines, each with what helps then.
const REMEDIES: [(&str, &str); 13] = [
    (
        "password is required",
        "allow `sudo -n wirelap` to this user in sudoers(5), or log in as root",
    ),
    ("sudo: not found", "install sudo there, or log in as root"),
    ("sudo: command not found", "install sudo there, or log in as root"),
    ("wirelap: not found", "install wirelap there, or use --push"),
    ("wirelap: command not found", "install wirelap there, or use --push"),
    ("wirelap: No such file", "install wirelap there, or use --push"),
    ("executable file not found", "install wirelap there, or use --push"),
    (
        "unrecognized subcommand",
        "the wirelap there is an older one: install the same version, or use --push",
    ),
    (
        "Permission denied (",
        "let `ssh` log in there without a question: ssh-copy-id, or an agent with the key",
    ),
    ("Host key verification failed", "log in once with `ssh`, to see and accept the host's key"),
    ("Could not resolve hostname", "check the name"),
    ("Connection refused", "is sshd running there?"),
    ("attaching probes needs", "on that host"),
];

/// Status of ssh when it could not connect (`ssh(1)`, EXIT STATUS).
const NOT_CONNECTED: i32 = 255;

/// Parts of what ssh says of a host that is there and does not let the user in.
const REFUSED: [&str; 3] =
    ["Permission denied", "Host key verification failed", "Could not resolve"];

impl Ending {
    /// True if the reason may go by itself: the host could not be reached.
    pub fn mends_itself(&self) -> bool {
        let is_refused = REFUSED.iter().any(|part| self.said.contains(part));
        self.status == Some(NOT_CONNECTED) && !is_refused
    }

    /// The sentence for the user.
    pub fn sentence(self) -> String {
        let is_end = matches!(self.error, StreamError::Ended(_));
        let text = match (self.goodbye, is_end, self.said.as_str()) {
            (Some(goodbye), ..) => goodbye,
            (None, false, _) => return self.error.to_string(),
            (None, true, "") => match self.status {
                Some(0) | None => self.error.to_string(),
                Some(NOT_CONNECTED) => "the connection ended".into(),
                Some(status @ 129..=192) => {
                    format!("signal {} ended it", status.saturating_sub(128))
                }
                Some(status) => format!("it ended with status {status}"),
            },
            (None, true, said) => said.to_owned(),
        };
        let text = text.strip_prefix("wirelap-fleet: ").unwrap_or(&text);
        let text = text.strip_prefix("wirelap: ").map_or(text, |rest| {
            // A shell's own error begins with the name of what it did not find.
            if rest.contains("not found") || rest.contains("No such file") { text } else { rest }
        });
        let text = text.trim_end_matches('.');
        match REMEDIES.iter().find(|(part, _)| text.contains(part)) {
            Some((_, remedy)) => format!("{text}: {remedy}"),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    fn sentence(goodbye: Option<&str>, said: &str, status: i32) -> String {
        Ending {
            error: StreamError::Ended(ErrorKind::UnexpectedEof.into()),
            goodbye: goodbye.map(str::to_owned),
            said: said.into(),
            status: Some(status),
        }
        .sentence()
    }

    #[test]
    fn what_a_command_says_last_gets_its_remedy() {
        let text = sentence(None, "sudo: a password is required", 1);
        assert!(text.contains("sudoers(5)"), "{text}");
        let text = sentence(None, "sh: 1: wirelap: not found", 127);
        assert!(text.contains("not found: install wirelap there"), "{text}");
        let text = sentence(None, "pi@broker: Permission denied (publickey,password).", 255);
        assert!(text.contains("ssh-copy-id"), "{text}");
        assert_eq!(sentence(None, "wirelap: no disk", 3), "no disk");
        assert_eq!(sentence(None, "wirelap-fleet: no router", 255), "no router");
        assert_eq!(sentence(Some("the kernel ended it"), "noise", 1), "the kernel ended it");
        assert_eq!(sentence(None, "", 137), "signal 9 ended it");
        assert_eq!(sentence(None, "", 0), "the connection ended");
    }

    #[test]
    fn a_foreign_stream_is_the_reason_itself() {
        let error = StreamError::Foreign("hello".into());
        let ending = Ending { error, goodbye: None, said: "x".into(), status: Some(0) };
        assert!(ending.sentence().contains("says “hello”"));
    }
}
