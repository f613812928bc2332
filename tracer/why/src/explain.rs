//! From what is known to what is said.

use super::evidence::Evidence;
use super::explanation::Why;
use super::verdicts::start_up;
use super::{rules, tails};
use wirelap_events::TraceDetail;

impl Evidence {
    /// Makes the explanation of a row from its evidence: verdicts, tails, worst messages.
    pub fn explain(&self) -> Why {
        let weighed = self.weighed();
        let mut verdicts = rules::verdicts(self, &weighed);
        verdicts.extend(start_up::verdict(self, &weighed));
        Why {
            protocol: self.setting.protocol,
            implementation: self.setting.implementation,
            broker: self.setting.broker.clone(),
            detail: TraceDetail::Full,
            messages: self
                .steady
                .breakdown
                .messages()
                .saturating_add(self.start_up.breakdown.messages()),
            verdicts,
            typical: tails::typical(&weighed.breakdown),
            tails: tails::tails(&weighed.breakdown),
            open: Vec::new(),
            worst: self.worst(),
            holders: self.holders(),
        }
    }
}
