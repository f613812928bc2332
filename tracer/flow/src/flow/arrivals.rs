//! Times at which bytes that are no messages of their own were sent, and were there: what an end of a conversation
//! answers, and its answer.

use super::direction::Flow;
use super::requests::{first_left, waits_for_acknowledgement};
use crate::marks::Marks;
use wirelap_events::{ByteRange, Nanos, Offset, Receipt, TaskId};

impl Flow {
    /// Time at which all bytes before `end` were there for their reader; `None` if that was not
    /// seen.
    pub fn arrived(&self, end: Offset) -> Option<Nanos> {
        let byte = ByteRange::last_before(end);
        if let Marks::Tcp(marks) = &self.marks {
            if let Some(ready) = marks.ready_at(byte) {
                return Some(ready);
            }
            // The whole path takes much more time to find.
            if !marks.has_losses() {
                return marks.came_at(byte).or_else(|| marks.had_read(end));
            }
        }
        let path = self.marks.path(byte, 0);
        let was_behind = path.circumstances.loss.behind;
        // Of what came long ago, only when it was read is remembered.
        let had_read = || match &self.marks {
            Marks::Tcp(marks) => marks.had_read(end),
            Marks::Udp(_) => None,
        };
        path.ready.or(path.rx.filter(|_| !was_behind)).or(path.read).or_else(had_read)
    }

    /// Notes which of its acknowledgements have arrived, before its marks are forgotten. Returns where the marks begin that tell it of the
    /// next one, where its reader is seen.
    pub fn settle_acknowledgements(&mut self) -> Option<Offset> {
        self.control().permits.as_ref()?;
        let mut permits = self.control_mut().permits.take()?;
        let awaited = permits.settle(|end| self.arrived(end));
        self.control_mut().permits = Some(permits);
        let Marks::Tcp(marks) = &self.marks else { return None };
        awaited.filter(|_| marks.has_reads()).map(|end| ByteRange::last_before(end).start)
    }

    /// Time at which the byte before `end` was sent by its sender, whose side is seen.
    pub fn sent_at(&self, end: Offset) -> Option<Nanos> {
        let byte = ByteRange::last_before(end);
        if let Marks::Tcp(marks) = &self.marks {
            if let Some(sent) = marks.written_at(byte) {
                return Some(sent);
            }
            if !marks.has_losses() {
                return marks.first_left(byte.last());
            }
        }
        let path = self.marks.path(byte, 0);
        path.send.or(first_left(&path))
    }

    /// The thread that wrote the byte before `end`, if its sender is seen.
    pub fn writer_of(&self, end: Offset) -> Option<TaskId> {
        let Marks::Tcp(marks) = &self.marks else { return None };
        marks.written_by(ByteRange::last_before(end)).map(|(_, task)| task)
    }

    /// Times of a confirmation that ends before `end`, whose receiver answered it by `answered`; `None`
    /// if it was not seen.
    pub fn receipt(&self, end: Offset, answered: Nanos) -> Option<Receipt> {
        let Marks::Tcp(marks) = &self.marks else { return None };
        let byte = ByteRange::last_before(end);
        let path = self.marks.path(byte, 0);
        let sent = path.send.or(first_left(&path)).or(path.rx)?;
        let arrived = self.arrived(end).map(|at| at.clamp(sent, answered.max(sent)));
        let seen = &path.circumstances;
        Some(Receipt {
            sent,
            left: first_left(&path).unwrap_or(sent).max(sent),
            arrived,
            lost: marks.missing_before(byte, sent, arrived.unwrap_or(answered)),
            recovery: seen.loss.recovery,
            nagle: waits_for_acknowledgement(&path),
            is_window_full: seen
                .socket
                .tx
                .is_some_and(|tx| tx.in_flight.saturating_add(seen.socket.send_len) > tx.window),
        })
    }
}
