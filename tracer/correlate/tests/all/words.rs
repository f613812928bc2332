//! What is said of a verdict, in the report's words.

use wirelap_correlate::Verdict;

/// What it stands on, one clause a number.
pub fn clauses(verdict: &Verdict) -> Vec<String> {
    verdict.evidence.iter().map(wirelap_report::words::clause).collect()
}

/// The same in one line.
pub fn words(verdict: &Verdict) -> String {
    clauses(verdict).join("; ")
}
