//! Report of a message's life by the packets that carried it: a sentence that scripts can read, and the same in an
//!
//! | file | what |
//! |---|---|
//! | `leg` | [`MessageLeg`]: what became of a message on one leg; [`MessageSink`] takes it |
//! | `in_packet` | a leg in one of its packets |
//! | `sentence` | the comment |
//! | `option` | the option |

mod in_packet;
mod leg;
pub(crate) mod option;
pub(crate) mod sentence;

pub(crate) use in_packet::LegInPacket;
pub use leg::{LegDelay, LegEnd, MessageLeg, MessageRow, MessageSink, MessageStatus};
