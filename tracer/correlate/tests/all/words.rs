//! Verdicts in the report's words.

use wirelap_correlate::Verdict;

/// The clauses that the verdict stands on, one a number.
pub fn clauses(verdict: &Verdict) -> Vec<String> {
    verdict.evidence.iter().map(wirelap_report::words::clause).collect()
}

/// The same in one line.
pub fn words(verdict: &Verdict) -> String {
    clauses(verdict).join("; ")
}
