//! Bytes of one direction, with gaps → records (RFC 8446 §5.1).
//!
//! ```text
//!  type | version | length |       body       |  …
//!    1       2         2         length
//! ```
//!
//! A gap inside a record whose header is known damages that record alone. After any other one, the header of a record of
//! application data is looked for; whether it is one, only its tag can tell.

use wirelap_events::{ByteRange, Offset, Saturate, Size};

/// Bytes of a header.
pub const HEADER_LEN: usize = 5;

/// The most bytes of a body: 2¹⁴, and 2048 that TLS 1.2 may add (RFC 5246 §6.2.3).
const MAX_BODY: u16 = (1 << 14) + 2048;

/// The fewest bytes of an encrypted body: a tag of eight bytes, and a byte.
pub const MIN_SEALED: u16 = 9;

/// The buffer's capacity between records, so that a thousand idle connections need little memory.
const IDLE_BYTES: usize = 1024;

/// Types of records (RFC 8446 §B.1); 21 is an alert.
pub mod kind {
    pub const CHANGE_CIPHER_SPEC: u8 = 20;
    pub const HANDSHAKE: u8 = 22;
    pub const APPLICATION_DATA: u8 = 23;
    pub const HEARTBEAT: u8 = 24;
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// See [`kind`].
    pub kind: u8,
    minor: u8,
    /// Bytes of the body.
    pub len: u16,
}

impl RecordHeader {
    /// `None` if no record begins so.
    pub fn read(bytes: &[u8]) -> Option<RecordHeader> {
        let [kind, major, minor, high, low] = *bytes.first_chunk::<HEADER_LEN>()?;
        let len = u16::from_be_bytes([high, low]);
        let is_known = (kind::CHANGE_CIPHER_SPEC..=kind::HEARTBEAT).contains(&kind);
        (is_known && major == 3 && minor <= 4 && len <= MAX_BODY).then_some(RecordHeader {
            kind,
            minor,
            len,
        })
    }

    /// As it is sent.
    pub fn bytes(self) -> [u8; HEADER_LEN] {
        let [high, low] = self.len.to_be_bytes();
        [self.kind, 3, self.minor, high, low]
    }

    /// Bytes of the record.
    pub fn record_len(self) -> u64 {
        u64::from(self.len).saturating_add(HEADER_LEN as u64)
    }

    /// The additional data of a record of TLS 1.2 (RFC 5246 §6.2.3.3): its number, type, version, and the length of its text.
    pub fn tls12_data(self, number: u64, text_len: usize) -> Option<[u8; 13]> {
        let mut data = [0; 13];
        let [kind, major, minor, ..] = self.bytes();
        let [high, low] = u16::try_from(text_len).ok()?.to_be_bytes();
        let all = number.to_be_bytes().into_iter().chain([kind, major, minor, high, low]);
        data.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        Some(data)
    }

    /// True if these bytes are likely to be a header, where nobody knows whether a record begins here.
    fn is_likely(bytes: &[u8]) -> bool {
        RecordHeader::read(bytes).is_some_and(|header| {
            header.kind == kind::APPLICATION_DATA && header.minor == 3 && header.len >= MIN_SEALED
        })
    }
}

/// Piece of one direction, as the deframer hands it out in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit<'a> {
    /// A record.
    Record {
        /// Offset of the record's first byte.
        at: Offset,
        header: RecordHeader,
        body: &'a [u8],
    },
    /// A record of which bytes are missing.
    Damaged {
        /// Offset of the record's first byte.
        at: Offset,
        header: RecordHeader,
    },
    /// Bytes in which it is not known where records begin.
    Lost(ByteRange),
}

#[derive(Clone, Copy, Debug)]
enum DeframerState {
    /// A record begins with the buffer's first byte, or with the next byte if the buffer is empty.
    Record,
    /// So many bytes of a damaged record are still to come.
    Damaged { at: Offset, header: RecordHeader, left: u64 },
    /// No record is known to begin, from this byte on. The buffer has the last few bytes.
    Lost { since: Offset },
}

/// Cuts one direction into records.
#[derive(Debug)]
pub struct Deframer {
    /// The next byte; `None` before the first.
    next: Option<Offset>,
    state: DeframerState,
    buffer: Vec<u8>,
}

impl Default for Deframer {
    fn default() -> Deframer {
        Deframer { next: None, state: DeframerState::Record, buffer: Vec::new() }
    }
}

impl Deframer {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> Size {
        Size(self.buffer.capacity())
    }

    /// The next bytes, of which the first is at `at`.
    pub fn feed(&mut self, at: Offset, bytes: &[u8], out: &mut dyn FnMut(Unit<'_>)) {
        let next = *self.next.get_or_insert(at);
        if at > next {
            self.gap(next, at - next, out);
        }
        let old = usize::try_from(next - at).unwrap_or(usize::MAX);
        let mut rest = bytes.get(old..).unwrap_or_default();
        while !rest.is_empty() {
            rest = match self.state {
                DeframerState::Record if self.buffer.is_empty() => self.cut(rest, out),
                DeframerState::Record => self.fill(rest, out),
                DeframerState::Damaged { at, header, left } => {
                    let (inside, behind) = split_up_to(rest, left);
                    self.advance(inside.len() as u64);
                    self.damage(at, header, left.saturating_sub(inside.len() as u64), out);
                    behind
                }
                DeframerState::Lost { since } => self.search(since, rest, out),
            };
        }
    }

    /// Bytes that will never come.
    pub fn gap(&mut self, at: Offset, len: u64, out: &mut dyn FnMut(Unit<'_>)) {
        let next = *self.next.get_or_insert(at);
        let mut len = at + len - next;
        if len == 0 {
            return;
        }
        let kept = self.buffer.len() as u64;
        let start = next - kept;
        if let (DeframerState::Record, Some(header)) =
            (self.state, RecordHeader::read(&self.buffer))
        {
            let left = header.record_len().saturating_sub(kept);
            self.state = DeframerState::Damaged { at: start, header, left };
        }
        self.empty_buffer();
        if let DeframerState::Damaged { at, header, left } = self.state {
            let inside = left.min(len);
            self.advance(inside);
            len.shrink(inside);
            self.damage(at, header, left.saturating_sub(inside), out);
            if len == 0 {
                return;
            }
            self.state = DeframerState::Lost { since: self.next.unwrap_or_default() };
        } else if let DeframerState::Record = self.state {
            self.state = DeframerState::Lost { since: start };
        }
        self.advance(len);
    }

    fn advance(&mut self, len: u64) {
        self.next = self.next.map(|next| next.plus(len));
    }

    /// So many bytes of a damaged record are still to come.
    fn damage(
        &mut self,
        at: Offset,
        header: RecordHeader,
        left: u64,
        out: &mut dyn FnMut(Unit<'_>),
    ) {
        if left > 0 {
            self.state = DeframerState::Damaged { at, header, left };
        } else {
            self.state = DeframerState::Record;
            out(Unit::Damaged { at, header });
        }
    }

    /// A record begins here. Returns what is behind it.
    fn cut<'b>(&mut self, rest: &'b [u8], out: &mut dyn FnMut(Unit<'_>)) -> &'b [u8] {
        let at = self.next.unwrap_or_default();
        let header = RecordHeader::read(rest);
        if header.is_none() && rest.len() >= HEADER_LEN {
            self.state = DeframerState::Lost { since: at };
            return rest;
        }
        let whole = header.filter(|header| header.record_len() <= rest.len() as u64);
        let Some(header) = whole else {
            self.buffer.extend_from_slice(rest);
            self.advance(rest.len() as u64);
            return &[];
        };
        let (record, behind) = split_up_to(rest, header.record_len());
        self.advance(header.record_len());
        out(Unit::Record { at, header, body: record.get(HEADER_LEN..).unwrap_or_default() });
        behind
    }

    /// More of a record that has begun. Returns what is behind it.
    fn fill<'b>(&mut self, rest: &'b [u8], out: &mut dyn FnMut(Unit<'_>)) -> &'b [u8] {
        let need =
            RecordHeader::read(&self.buffer).map_or(HEADER_LEN as u64, RecordHeader::record_len);
        let (more, behind) = split_up_to(rest, need.saturating_sub(self.buffer.len() as u64));
        self.buffer.extend_from_slice(more);
        self.advance(more.len() as u64);
        if (self.buffer.len() as u64) < need {
            return behind;
        }
        let end = self.next.unwrap_or_default();
        let at = end - self.buffer.len() as u64;
        match RecordHeader::read(&self.buffer) {
            None => {
                // No header begins with any of these bytes but the first, as far as is known: what follows is searched.
                self.empty_buffer();
                self.state = DeframerState::Lost { since: at };
            }
            Some(header) if header.record_len() <= self.buffer.len() as u64 => {
                let record = std::mem::take(&mut self.buffer);
                out(Unit::Record {
                    at,
                    header,
                    body: record.get(HEADER_LEN..).unwrap_or_default(),
                });
                self.buffer = record;
                self.empty_buffer();
            }
            Some(_) => {}
        }
        behind
    }

    /// Looks for a header. Returns the bytes from there on.
    fn search<'b>(
        &mut self,
        since: Offset,
        rest: &'b [u8],
        out: &mut dyn FnMut(Unit<'_>),
    ) -> &'b [u8] {
        let next = self.next.unwrap_or_default();
        // One that begins with the last bytes before these.
        let kept = self.buffer.len();
        let (front, _) = split_up_to(rest, HEADER_LEN as u64);
        self.buffer.extend_from_slice(front);
        let across = (0..kept)
            .find(|&at| RecordHeader::is_likely(self.buffer.get(at..).unwrap_or_default()));
        if let Some(at) = across {
            self.buffer.truncate(kept);
            self.buffer.drain(..at);
            let start = next - self.buffer.len() as u64;
            return self.found(since, start, rest, out);
        }
        let inside = rest.windows(HEADER_LEN).position(RecordHeader::is_likely);
        if let Some((_, behind)) = inside.and_then(|at| rest.split_at_checked(at)) {
            self.buffer.clear();
            let before = rest.len().saturating_sub(behind.len()) as u64;
            self.advance(before);
            return self.found(since, next.plus(before), behind, out);
        }
        self.buffer.truncate(kept);
        self.buffer.extend_from_slice(
            rest.get(rest.len().saturating_sub(HEADER_LEN)..).unwrap_or_default(),
        );
        let old = self.buffer.len().saturating_sub(HEADER_LEN.saturating_sub(1));
        self.buffer.drain(..old);
        self.advance(rest.len() as u64);
        &[]
    }

    fn found<'b>(
        &mut self,
        since: Offset,
        start: Offset,
        behind: &'b [u8],
        out: &mut dyn FnMut(Unit<'_>),
    ) -> &'b [u8] {
        self.state = DeframerState::Record;
        if since < start {
            out(Unit::Lost(ByteRange { start: since, end: start }));
        }
        behind
    }

    fn empty_buffer(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(IDLE_BYTES);
    }
}

fn split_up_to(bytes: &[u8], len: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(len).unwrap_or(usize::MAX).min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(len: usize) -> Vec<u8> {
        let body: Vec<u8> = (0..len).map(|n| u8::try_from(n % 7).unwrap()).collect();
        let header = RecordHeader { kind: 23, minor: 3, len: u16::try_from(len).unwrap() };
        [&header.bytes()[..], &body].concat()
    }

    /// Returns what comes out of pieces `(start, bytes)`: `12@0` a record, `!` damaged, `~` lost.
    fn run(pieces: &[(usize, &[u8])]) -> String {
        let mut deframer = Deframer::default();
        let mut all = Vec::new();
        for &(at, bytes) in pieces {
            deframer.feed(Offset(at as u64), bytes, &mut |unit| {
                all.push(match unit {
                    Unit::Record { at, header, body } => {
                        assert_eq!(usize::from(header.len), body.len());
                        format!("{}@{}", body.len(), at.0)
                    }
                    Unit::Damaged { at, header } => format!("{}@{}!", header.len, at.0),
                    Unit::Lost(range) => format!("{}@{}~", range.len(), range.start.0),
                });
            });
        }
        all.join(" ")
    }

    #[test]
    fn records_are_whole_however_they_are_cut() {
        let flow = [record(20), record(0), record(300)].concat();
        for cut in 0..flow.len() {
            for second in [cut, cut + 1, (cut + 7).min(flow.len())] {
                let pieces =
                    [(0, &flow[..cut]), (cut, &flow[cut..second]), (second, &flow[second..])];
                assert_eq!(run(&pieces), "20@0 0@25 300@30", "{cut} {second}");
            }
        }
        assert_eq!(run(&[(0, &flow[..40]), (10, &flow[10..])]), "20@0 0@25 300@30");
    }

    #[test]
    fn a_gap_inside_a_record_damages_it_alone() {
        let flow = [record(20), record(100), record(30)].concat();
        for (from, to) in [(40, 41), (30, 60), (30, 130), (100, 130)] {
            let pieces = [(0, &flow[..from]), (to, &flow[to..])];
            assert_eq!(run(&pieces), "20@0 100@25! 30@130", "{from} {to}");
        }
    }

    #[test]
    fn the_next_record_is_searched_for_after_any_other_gap() {
        let flow = [record(20), record(100), record(30), record(40)].concat();
        assert_eq!(run(&[(0, &flow[..25]), (60, &flow[60..])]), "20@0 105@25~ 30@130 40@165");
        assert_eq!(run(&[(0, &flow[..28]), (60, &flow[60..])]), "20@0 105@25~ 30@130 40@165");
        assert_eq!(run(&[(0, &flow[..60]), (132, &flow[132..])]), "20@0 100@25! 35@130~ 40@165");
        // The header is cut by packets.
        for cut in 130..=135 {
            let pieces = [(0, &flow[..25]), (60, &flow[60..cut]), (cut, &flow[cut..])];
            assert_eq!(run(&pieces), "20@0 105@25~ 30@130 40@165", "{cut}");
        }
        let bytewise: Vec<_> = (60..flow.len()).map(|at| (at, &flow[at..=at])).collect();
        let pieces = [&[(0, &flow[..25])][..], &bytewise].concat();
        assert_eq!(run(&pieces), "20@0 105@25~ 30@130 40@165");
    }

    #[test]
    fn what_is_no_record_is_skipped() {
        let flow = [&b"INFO {\"tls_required\":true}\r\n"[..], &record(30)].concat();
        assert_eq!(run(&[(0, &flow)]), "28@0~ 30@28");
        assert_eq!(run(&[(0, &[0; 100])]), "");
    }
}
