//! Words of verdicts: each kind has a file of its name, by the registry of `correlate`.

use std::borrow::Cow;
use wirelap_correlate::{Circumstance, Clause, Verdict, VerdictKind, Why};
use wirelap_events::Segment;
use wirelap_protocols::{BrokerRemedies, Remedies};

/// The words of a kind of verdict. Remedies are one sentence without a full stop.
pub struct VerdictWords {
    /// As a heading.
    pub title: &'static str,
    /// In at most fifteen columns.
    pub short: &'static str,
    /// The meaning, in the documentation's table.
    pub means: &'static str,
    /// The things that it stands on, in that table.
    pub evidence: &'static str,
    /// The things that help, in that table.
    pub helps: &'static str,
    /// The heading of a verdict about which more is known; `None` where the others hold.
    pub title_of: fn(&Verdict) -> Option<&'static str>,
    /// Heading and short words of time in a segment whose name says more.
    pub in_segment: fn(Segment) -> Option<(&'static str, &'static str)>,
    /// A clause that belongs to this kind alone; `None` for any other.
    pub clause: fn(&Clause) -> Option<String>,
    /// The remedy for a verdict about which more is known; `None` where the others hold.
    pub of_verdict: fn(&Verdict, &Why) -> Option<String>,
    /// The remedy of a middleware or a broker; `None` where it has none of its own.
    pub own_remedy: fn(&Remedies, Option<&BrokerRemedies>) -> Option<&'static str>,
    /// The remedy, whatever the middleware.
    pub remedy: fn(Circumstance) -> &'static str,
}

impl VerdictWords {
    /// A kind that needs no words but those of its own.
    const USUAL: VerdictWords = VerdictWords {
        title: "",
        short: "",
        means: "",
        evidence: "",
        helps: "",
        title_of: |_| None,
        in_segment: |_| None,
        clause: |_| None,
        of_verdict: |_, _| None,
        own_remedy: |_, _| None,
        remedy: |_| "",
    };

    /// The words of a kind.
    pub fn of(kind: VerdictKind) -> &'static VerdictWords {
        words(kind)
    }
}

macro_rules! words {
    ($($kind:ident = $name:ident, $meaning:literal;)*) => {
        $(pub(super) mod $name;)*

        fn words(kind: VerdictKind) -> &'static VerdictWords {
            match kind {
                $(VerdictKind::$kind => &$name::WORDS,)*
            }
        }
    };
}

wirelap_correlate::for_each_verdict!(words);

/// A kind in words, as a heading.
pub fn title(kind: VerdictKind) -> &'static str {
    words(kind).title
}

/// A kind in words, as a heading: of time in a segment whose name says more.
pub fn title_in(kind: VerdictKind, segment: Option<Segment>) -> &'static str {
    in_segment(kind, segment).map_or(words(kind).title, |(title, _)| title)
}

/// The heading of a verdict. What is said of brokers is said of the proxy that it is about.
pub fn heading(verdict: &Verdict) -> Cow<'static, str> {
    let known = (words(verdict.kind).title_of)(verdict);
    of_proxy(known.unwrap_or_else(|| title_in(verdict.kind, verdict.segment)), verdict.is_at_proxy)
}

/// Words about a broker, said of a proxy if it is one.
pub(super) fn of_proxy(words: &'static str, is_at_proxy: bool) -> Cow<'static, str> {
    if is_at_proxy { words.replace("broker", "proxy").into() } else { words.into() }
}

/// A kind in at most fifteen columns.
pub fn short(kind: VerdictKind) -> &'static str {
    words(kind).short
}

/// A kind in at most fifteen columns: time in a segment whose name says more is named after that.
pub fn short_in(kind: VerdictKind, segment: Option<Segment>) -> &'static str {
    in_segment(kind, segment).map_or(words(kind).short, |(_, short)| short)
}

fn in_segment(kind: VerdictKind, segment: Option<Segment>) -> Option<(&'static str, &'static str)> {
    (words(kind).in_segment)(segment?)
}

/// A clause that belongs to one kind of verdict; empty for any other.
pub(super) fn clause(clause: &Clause) -> String {
    let words = VerdictKind::ALL.into_iter().find_map(|kind| (words(kind).clause)(clause));
    words.unwrap_or_default()
}

#[cfg(test)]
mod tests;
