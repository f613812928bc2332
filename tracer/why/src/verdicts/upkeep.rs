//! Keep-alives or discovery get in the way.
//!
//! They are found beside slow messages much more than beside others, again and again, and more than as long a time has of them anyway.

use crate::case::RowCase;
use crate::clause::Clause;
use crate::definition::Definition;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use crate::weigh::ratio;
use wirelap_events::Nanos;
use wirelap_limits::rules::{
    LEAST_UPKEEP_EXCESS, MIN_MESSAGES_FOR_VERDICT, MIN_UPKEEPS, MOSTLY_BESIDE_UPKEEP, RARE_UPKEEP,
    UPKEEP_BEYOND_CHANCE, UPKEEP_BEYOND_USUAL, UPKEEP_MESSAGES,
};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row)), ..Definition::USUAL };

fn find(row: &RowCase<'_>) -> Option<Verdict> {
    let measured = &row.measured;
    let tail = measured.tail.as_ref()?;
    let all = row.gathered.breakdown.all();
    let slow = ratio(tail.beside_upkeep, tail.messages);
    let usual = ratio(all.beside_upkeep, all.messages);
    let by_chance = ratio(tail.upkeep_before, tail.messages);
    let is_more = usual <= RARE_UPKEEP
        && slow >= UPKEEP_BEYOND_USUAL * usual
        && slow >= UPKEEP_BEYOND_CHANCE * by_chance;
    let is_long = measured.excess >= LEAST_UPKEEP_EXCESS;
    let is_enough = tail.upkeeps() >= MIN_UPKEEPS
        && measured.messages() >= UPKEEP_MESSAGES * MIN_MESSAGES_FOR_VERDICT;
    (slow >= MOSTLY_BESIDE_UPKEEP && is_more && is_long && is_enough).then(|| Verdict {
        tail: Nanos::from_f64(measured.excess * slow),
        tail_share: slow,
        ..Verdict::of_row(
            VerdictKind::Upkeep,
            Severity::Problem,
            vec![Clause::UpkeepBeside { slow, usual }],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{Made, explained};
    use crate::sums::Upkeep;

    /// 1000 messages, every tenth of which the reader is busy for longer, with keep-alives beside some.
    fn with_upkeep(at_ms: impl Fn(u64) -> u64, upkeep: impl Fn(u64) -> Upkeep) -> bool {
        let why = explained((0..1_000).map(|n| Made {
            at_ms: at_ms(n),
            busy_us: u64::from(n % 50 == 7) * 20_000,
            upkeep: upkeep(n),
            ..Made::default()
        }));
        why.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Upkeep)
    }

    #[test]
    fn a_keep_alive_that_is_beside_slow_messages_only_once_is_there_by_chance() {
        let beside = |n: u64| Upkeep { beside: n % 50 == 7, before: false };
        assert!(with_upkeep(|n| n * 100, beside));
        // All that are slow wait at the same time.
        assert!(!with_upkeep(|n| n / 50, beside));
        // Slow messages take so long that there is one in any such time.
        let always = |n: u64| Upkeep { beside: n % 50 == 7, before: n % 50 == 7 };
        assert!(!with_upkeep(|n| n * 100, always));
    }
}
