//! Words of `upkeep`.

use super::VerdictWords;
use wirelap_correlate::Clause;

pub const WORDS: VerdictWords = VerdictWords {
    title: "keep-alive or discovery in the way",
    short: "keep-alive",
    means: "keep-alives or discovery delay messages",
    evidence: "they are near slow messages much more often than near others, in at least three periods, and more often than by chance",
    helps: "longer leases, less discovery",
    remedy: |_| "raise the keep-alive interval, and set TCP_NODELAY so that messages do not wait behind it",
    own_remedy: |own, _| own.upkeep,
    clause: |clause| {
        Some(match clause {
            Clause::UpkeepBeside { slow, usual } => format!(
                "a keep-alive or discovery frame was beside {:.0} % of the slowest messages, and beside {:.1} % of all",
                slow * 100.0,
                usual * 100.0
            ),
            _ => return None,
        })
    },
    ..VerdictWords::USUAL
};
