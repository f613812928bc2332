//! Writers and readers of the values that a record consists of.

use wirelap_events::{Comm, Tid};

/// Takes the values of records, one after the other.
pub trait WireWriter {
    /// Takes a number that is more often small than large.
    fn unsigned(&mut self, value: u64);

    /// Takes a number that is more often near 0 than far from it.
    fn signed(&mut self, value: i64);

    /// Takes the number of a variant, by which it is known what follows.
    fn variant(&mut self, number: u8);

    /// Takes a time or a duration in nanoseconds.
    fn time(&mut self, value: u64);

    /// Takes a sequence number of TCP.
    fn sequence(&mut self, value: u32);

    /// Takes an address in the memory of a kernel.
    fn address(&mut self, value: u64);

    /// Takes bytes. Whoever reads them knows how many there are.
    fn bytes(&mut self, bytes: &[u8]);

    /// Takes bytes that another program wrote, and their number.
    fn text(&mut self, text: &[u8]);

    /// Takes the name of a thread, which is mostly the one that it had before.
    fn name(&mut self, thread: Tid, name: &Comm);

    /// Takes that the record ends here, although more may follow in others.
    fn end(&mut self, is_end: bool);
}

/// Hands out the values that a [`WireWriter`] has taken, in their order; `None` if they are not there.
pub trait WireReader {
    fn unsigned(&mut self) -> Option<u64>;
    fn signed(&mut self) -> Option<i64>;
    fn variant(&mut self) -> Option<u8>;
    fn time(&mut self) -> Option<u64>;
    fn sequence(&mut self) -> Option<u32>;
    fn address(&mut self) -> Option<u64>;
    fn fill(&mut self, bytes: &mut [u8]) -> Option<()>;
    fn name(&mut self, thread: Tid) -> Option<Comm>;
    fn is_end(&mut self) -> Option<bool>;

    /// The next `N` bytes.
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Some(bytes)
    }
}
