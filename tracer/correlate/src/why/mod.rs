//! Why a row's messages took as long as they did.

mod explanation;

pub use explanation::{
    Cause, HolderShare, Severity, Tail, TailRow, TypicalRow, Verdict, VerdictKind, Why,
    WorstMessage,
};
