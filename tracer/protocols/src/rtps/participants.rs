//! Participants at the ends of a conversation.
//!
//! Each message names the participant that sends it. `INFO_DST` names the one that it is for; that is how the reader of a
//! conversation in one direction is known, because participants send from other ports than those on which they receive.

use super::entity::{GuidPrefix, participant_name};
use crate::{FrameSink, Side};
use wirelap_events::Saturate;

/// Number of messages in a row that show that a participant has its port alone now, where another one was before.
const IN_A_ROW: u8 = 8;

/// The participants at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AtEnd {
    #[default]
    Unknown,
    One(GuidPrefix),
    /// Several share the port, so that it does not show which one reads a message, or one has taken over another's.
    Several {
        last: GuidPrefix,
        in_a_row: u8,
    },
}

/// The participants at both ends.
#[derive(Debug, Default)]
pub(super) struct Participants([AtEnd; 2]);

impl Participants {
    /// A message is of this participant, or for it. Reports the participant's name if it was not known.
    pub fn at(&mut self, side: Side, prefix: GuidPrefix, out: &mut dyn FrameSink) {
        let end = &mut self.0[side as usize];
        match end {
            AtEnd::One(known) if *known == prefix => {}
            AtEnd::One(_) => {
                *end = AtEnd::Several { last: prefix, in_a_row: 1 };
                out.client(side, b"");
            }
            AtEnd::Several { last, in_a_row } if *last == prefix && *in_a_row < IN_A_ROW => {
                in_a_row.grow(1);
            }
            AtEnd::Several { last, in_a_row } if *last != prefix => {
                (*last, *in_a_row) = (prefix, 1);
            }
            AtEnd::Unknown | AtEnd::Several { .. } => {
                *end = AtEnd::One(prefix);
                out.client(side, participant_name(prefix).as_bytes());
            }
        }
    }

    /// The participant that is alone at an end, as far as is known.
    pub fn alone_at(&self, side: Side) -> Option<GuidPrefix> {
        match self.0[side as usize] {
            AtEnd::One(prefix) => Some(prefix),
            AtEnd::Unknown | AtEnd::Several { .. } => None,
        }
    }

    /// A message is for this participant; zeros are for all (DDSI-RTPS 2.5 §9.4.5.9).
    pub fn addressed(&mut self, side: Side, prefix: Option<GuidPrefix>, out: &mut dyn FrameSink) {
        if let Some(prefix) = prefix.filter(|prefix| *prefix != GuidPrefix::default()) {
            self.at(side, prefix, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    #[derive(Default)]
    struct Names(Vec<String>);

    impl FrameSink for Names {
        fn frame(&mut self, _frame: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            let FrameNote::Client { side: Side::B, name } = note else { panic!("{note:?}") };
            self.0.push(String::from_utf8(name.to_vec()).unwrap());
        }
    }

    fn names(of: &[u8]) -> Vec<String> {
        let (mut participants, mut names) = (Participants::default(), Names::default());
        for &one in of {
            participants.addressed(Side::B, Some([one; 12]), &mut names);
        }
        names.0
    }

    const ONE: &str = "01010101:01010101:01010101";
    const TWO: &str = "02020202:02020202:02020202";

    #[test]
    fn a_participant_is_named_once_and_all_are_nobody() {
        assert_eq!(names(&[1, 1, 0, 1]), [ONE]);
        assert!(names(&[0, 0]).is_empty());
    }

    #[test]
    fn who_shares_a_port_is_not_known_and_who_takes_it_over_is() {
        assert_eq!(names(&[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]), [ONE, ""]);
        assert_eq!(names(&[&[1, 1][..], &[2; 20]].concat()), [ONE, "", TWO]);
        assert_eq!(names(&[&[1, 1][..], &[2; 8]].concat()), [ONE, ""]);
    }
}
