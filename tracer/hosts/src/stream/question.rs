//! The lines that an agent reads.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use wirelap_events::{Nanos, Pid};

/// A line that an agent reads from its stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Answer at once with this number and the time.
    Ping(u64),
    /// In which container does this process run, what is it called, and from now on: what does it use?
    Place(Pid),
    /// What are the threads of this process doing?
    States(Pid),
    /// Send no events from now on, because another agent of this kernel does; or send them again.
    Rest(bool),
    /// Tell again which sockets are open, because somebody listens who did not before, or has missed something.
    Again,
    /// Leave the connection between these addresses out: it carries what agents send.
    Carrier(SocketAddr, SocketAddr),
    /// From this time of your clock on, send everything, or only what is known of sockets: a window begins or ends.
    Window {
        /// The time; 0 for now.
        at: Nanos,
        /// A window begins.
        open: bool,
    },
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Ping(number) => write!(f, "ping {number}"),
            Question::Place(pid) => write!(f, "place {}", pid.0),
            Question::States(pid) => write!(f, "states {}", pid.0),
            Question::Rest(rests) => write!(f, "rest {rests}"),
            Question::Again => f.write_str("again"),
            Question::Carrier(one, other) => write!(f, "carrier {one} {other}"),
            Question::Window { at, open: true } => write!(f, "open {}", at.0),
            Question::Window { at, open: false } => write!(f, "close {}", at.0),
        }
    }
}

impl FromStr for Question {
    /// A later version asks for what this one does not know.
    type Err = ();

    fn from_str(line: &str) -> Result<Question, ()> {
        let line = line.trim_end();
        if line == "again" {
            return Ok(Question::Again);
        }
        let (what, number) = line.split_once(' ').ok_or(())?;
        let pid = || number.parse().map(Pid).map_err(drop);
        match what {
            "ping" => number.parse().map(Question::Ping).map_err(drop),
            "place" => pid().map(Question::Place),
            "states" => pid().map(Question::States),
            "open" | "close" => {
                let at = number.parse().map(Nanos).map_err(drop)?;
                Ok(Question::Window { at, open: what == "open" })
            }
            "rest" => number.parse().map(Question::Rest).map_err(drop),
            "carrier" => {
                let (one, other) = number.split_once(' ').ok_or(())?;
                let both = one.parse().ok().zip(other.parse().ok());
                both.map(|(one, other)| Question::Carrier(one, other)).ok_or(())
            }
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let address = "[::1]:7".parse().unwrap();
        let window = |open| Question::Window { at: Nanos(u64::MAX), open };
        let all = [
            Question::Ping(7),
            Question::Place(Pid(8)),
            Question::States(Pid(9)),
            Question::Rest(true),
            Question::Again,
            Question::Carrier(address, ([10, 0, 0, 1], 8).into()),
            window(true),
            window(false),
        ];
        for question in all {
            assert_eq!(question.to_string().parse(), Ok(question));
        }
        for other in ["", "ping", "ping x", "place -1", "rest x", "carrier 1", "open -1", "later 5"]
        {
            assert_eq!(other.parse::<Question>(), Err(()), "{other}");
        }
    }
}
