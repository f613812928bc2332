//! TLS connections whose keys are known: their records are opened, and the text is read in their place (`tls`).
//!
//! Whose keys they are, the client's hello tells. As long as nothing was opened, a connection can still turn out not to be
//! readable; then its bytes are looked at as those of any other one.

use super::conversation::Conversation;
use super::decryption::Decryption;
use super::output::DecoderOutput;
use super::reassembly::Piece;
use wirelap_events::Offset;
use wirelap_protocols::Side;
use wirelap_protocols::foreign::ForeignName;
use wirelap_tls::{OpenedContent, OpenedRecords, TlsEvent, client_random};

impl Conversation {
    /// True if the conversation is read with keys: from now on, if a client's hello is here whose keys are known.
    pub(super) fn is_decrypted(&mut self, side: Side, piece: &Piece<'_>) -> bool {
        if self.tls.decryption.is_some() {
            return true;
        }
        let Piece::Bytes { bytes, .. } = *piece else { return false };
        let Some(random) = client_random(bytes).filter(|_| !self.stays_encrypted()) else {
            return false;
        };
        let is_first = !std::mem::replace(&mut self.tls.has_hello, true);
        let Some(session) = self.tls.keys.session(&random) else {
            if is_first {
                self.tls.keys.count(TlsEvent::NoKey);
            }
            return false;
        };
        self.tls.keys.count(TlsEvent::Found);
        self.tls.decryption = Some(Box::new(Decryption { session, client: side, has_text: false }));
        true
    }

    /// The next bytes of one direction of a conversation that is read with keys.
    pub(super) fn decrypt(&mut self, side: Side, piece: Piece<'_>, found: &mut DecoderOutput) {
        let Some(mut decryption) = self.tls.decryption.take() else { return };
        let role = decryption.role(side);
        let Decryption { session, has_text, .. } = &mut *decryption;
        let (at, bytes, missing) = match piece {
            Piece::Bytes { at, bytes, missing } => (at, bytes, missing),
            Piece::Gap { at, len } => (at, &[][..], len),
        };
        if !*has_text {
            // What it is called is known even if it cannot be read.
            self.observe(side, at == Offset::START, bytes, missing);
        }
        let keys = self.tls.keys.clone();
        let log = keys.log();
        let mut scratch = std::mem::take(&mut found.scratch);
        let mut take = |opened: OpenedRecords<'_>| self.opened(side, opened, has_text, found);
        session.feed(role, at, bytes, (&*log, &mut scratch), &mut take);
        if missing > 0 {
            let behind = at.plus(bytes.len() as u64);
            session.gap(role, behind, missing, (&*log, &mut scratch), &mut take);
        }
        drop(log);
        found.scratch = scratch;
        match decryption.session.obstacle().filter(|_| !decryption.has_text) {
            Some(obstacle) => self.tls.keys.count(obstacle.into()),
            None => self.tls.decryption = Some(decryption),
        }
    }

    /// A record was opened, or could not be.
    fn opened(
        &mut self,
        side: Side,
        opened: OpenedRecords<'_>,
        has_text: &mut bool,
        found: &mut DecoderOutput,
    ) {
        let (text, len) = match opened.content {
            OpenedContent::Text(text) => (text, text.len() as u64),
            OpenedContent::Unread { at_most } => (&[][..], at_most),
            // So much text cannot be in it: what follows is not taken for the rest of a message that had begun.
            OpenedContent::Lost => (&[][..], opened.range.len()),
        };
        let is_text = matches!(opened.content, OpenedContent::Text(_));
        if is_text && !std::mem::replace(has_text, true) {
            self.tls.keys.count(TlsEvent::Opened);
            self.begin_text();
            self.search.note_decrypted();
        }
        if !*has_text {
            return;
        }
        if !is_text {
            self.tls.keys.count(TlsEvent::Unread);
        }
        if len > 0
            && let Some(range) =
                self.tls.text.as_mut().map(|tls| tls.opened(side, opened.range, len))
        {
            self.read_text(side, range, text, found);
        }
    }

    /// Counts a TLS connection of whose handshake nothing was seen, and most likely nothing will
    /// be.
    pub(super) fn note_missed_handshake(&mut self) {
        let is_tls = self.foreign_name().is_some_and(ForeignName::is_tls);
        if is_tls && !std::mem::replace(&mut self.tls.has_hello, true) {
            self.tls.keys.count(TlsEvent::Missed);
        }
    }
}
