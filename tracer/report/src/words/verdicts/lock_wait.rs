//! Words of `lock_wait`.

use super::super::phrases::whom;
use super::VerdictWords;
use wirelap_correlate::{Clause, Verdict};
use wirelap_events::{Holder, Nanos};

pub const WORDS: VerdictWords = VerdictWords {
    title: "waiting for another thread to let go",
    short: "lock wait",
    means: "a thread that handled a message slept until another thread released a lock, or another process woke it",
    evidence: "the thread that woke it, and how long that one ran meanwhile",
    helps: "hold the lock for a shorter time; in Python, another process",
    of_verdict: |verdict, _| {
        is_of_python(verdict).then(|| {
            format!("{REMEDY} (in Python, threads share one interpreter lock: multiprocessing)")
        })
    },
    remedy: |_| REMEDY,
    clause: |clause| {
        Some(match clause {
            Clause::LetGo { waited, holder, is_own } => let_go(*waited, holder, *is_own),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};

const REMEDY: &str = "let the thread that is waited for hold the lock for a shorter time, or run it in a process of its own";

/// True if a thread of a Python interpreter waits for another one, perhaps for the lock that all of them share.
fn is_of_python(verdict: &Verdict) -> bool {
    verdict.process.is_some_and(|(_, comm)| comm.as_str().starts_with("python"))
}

/// The longest wait for another thread.
fn let_go(waited: Nanos, holder: &Holder, is_own: bool) -> String {
    let ran = match holder.held {
        Nanos(0) => String::new(),
        held => format!(", which had a CPU for {held} of that"),
    };
    format!("the longest time it waited {waited} for {} to let go{ran}", whom(holder, is_own))
}
