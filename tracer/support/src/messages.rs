//! Messages as one decoder tells them, and the same of another.

use std::collections::BTreeMap;

/// One message, as both decoders see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Name of the message.
    pub name: String,
    /// Content for the application; `None` if it carries none.
    pub carried: Option<Carried>,
}

/// Content of a message for the application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Topic or key expression.
    pub topic: String,
    /// In bytes.
    pub payload_len: u64,
}

/// The messages of each direction, by source and destination port.
pub type Messages = BTreeMap<(u16, u16), Vec<Message>>;

/// Checks that two decoders say the same, and says where they do not.
pub fn compare(ours: &Messages, theirs: &Messages) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (ports, ours) in ours {
        let theirs = &theirs[ports];
        for (index, (our, their)) in ours.iter().zip(theirs).enumerate() {
            assert_eq!(our, their, "message {index} of {ports:?}: ours, then the dissector's");
        }
        assert_eq!(ours.len(), theirs.len(), "messages of {ports:?}");
    }
}
