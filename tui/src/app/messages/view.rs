//! The state of the view of single messages.

use strum::VariantArray;
use wirelap_events::all_variants;
use wirelap_events::{FlowKey, MessageId, TaskId};
use wirelap_history::KeptMessage;

/// The list of the selected row's messages that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, VariantArray)]
pub enum List {
    /// Delivered messages, the slowest first.
    #[default]
    Slowest,
    /// A sample of the delivered messages, the latest first.
    Latest,
    /// Messages that were not seen to be delivered, the latest first.
    Undelivered,
    /// Messages that are in no latency, the latest first.
    Others,
}

impl List {
    /// All lists, in their order.
    pub const ALL: [List; List::VARIANTS.len()] = all_variants();

    /// The name in the title.
    pub const fn name(self) -> &'static str {
        match self {
            List::Slowest => "slowest",
            List::Latest => "latest (a sample)",
            List::Undelivered => "undelivered",
            List::Others => "others",
        }
    }

    /// The sentence that stands in place of an empty list.
    pub const fn nothing(self) -> &'static str {
        match self {
            List::Slowest => {
                "No message of this row has been followed from its send to its read yet. n shows the other lists."
            }
            List::Latest => {
                "No message of this row has been delivered yet. n shows the other lists."
            }
            List::Undelivered => {
                "No message of this row is known to be undelivered: a message is given up some seconds after it was sent. n shows the \
                 other lists."
            }
            List::Others => {
                "No message of this row belongs to a warm-up or was delivered without being followed from end to end. n shows the other \
                 lists."
            }
        }
    }

    pub(super) fn next(self) -> List {
        let at = List::ALL.iter().position(|list| *list == self).unwrap_or_default();
        List::ALL[at.saturating_add(1) % List::ALL.len()]
    }
}

/// The identity of a delivery: a message has one for each of its readers.
pub(super) type DeliveryIdentity = (MessageId, Option<(FlowKey, Option<TaskId>)>);

pub(super) fn identity(message: &KeptMessage) -> DeliveryIdentity {
    let last = message.delivery.legs.last();
    (message.delivery.message, last.map(|leg| (leg.flow, leg.reader)))
}

/// The state of the view of single messages.
#[derive(Clone, Debug, Default)]
pub struct MessagesView {
    pub(super) list: List,
    /// The text that the messages are filtered by.
    pub(in crate::app) filter: String,
    pub(super) selected: Option<DeliveryIdentity>,
    /// The position of the selected message when it was selected: its neighbour is selected if it is gone.
    pub(super) position: usize,
    pub(super) open: Option<KeptMessage>,
    pub(super) leg: usize,
    /// True if the slowest message of all rows is to be selected once the updates of a replay have come.
    pub(in crate::app) seeks_slowest: bool,
}
