//! The text of TLS, from its sender or its reader.

use super::super::accounts::Accounts;
use super::Conversations;
use wirelap_events::{Nanos, PlainText, Saturate, TextPlace};
use wirelap_flow::{Direction, ReadPlace};

impl Conversations {
    /// The text of a TLS record is known. Returns the direction in which messages may have been found by that.
    pub fn plain(
        &mut self,
        at: Nanos,
        plain: &PlainText<'_>,
        accounts: &mut Accounts,
    ) -> Option<Direction> {
        let sent = self.tx_way(plain.socket, &mut accounts.totals)?;
        match plain.place {
            TextPlace::Sent { start, record_len } => {
                let conversation = self.flows.get_mut(sent)?;
                match conversation.flow_mut(sent.side).unwrap.offset(start) {
                    Some(start) => conversation.text_sent(sent.side, start, record_len, plain),
                    None => accounts.totals.anomalies.grow(1),
                }
                None
            }
            TextPlace::Read { end, taken, ahead } => {
                let direction = sent.back();
                let conversation = self.flows.get_mut(direction)?;
                let end = conversation.flow_mut(direction.side).counter(end)?;
                let place = ReadPlace { end, taken, ahead };
                conversation.text_read(direction.side, &place, plain, &mut self.found);
                self.note_control_frames(at, direction);
                self.activate(direction);
                Some(direction)
            }
        }
    }
}
