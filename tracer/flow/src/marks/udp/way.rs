//! The path of a message's bytes, as far as it was seen.

use super::super::alone::PacketTimes;
use super::super::path::{Path, ReadBy};
use super::{Arrival, Datagram, UdpMarks};
use wirelap_events::{ByteRange, Circumstances, Hop, LegPath, Nanos, SocketId};

impl UdpMarks {
    /// The arrival of datagram `number` at `socket`.
    pub fn arrival(&self, number: u64, socket: SocketId) -> Option<Arrival<'_>> {
        let datagram = self.get(number)?;
        let receipt = self.receipts_of(number).find(|receipt| receipt.socket == socket);
        Some(Arrival {
            rx: datagram.rx,
            deferred: datagram.deferred,
            ready: receipt.and_then(|receipt| receipt.ready),
            read: receipt.and_then(|receipt| receipt.read),
            led: receipt.map_or(&[], |receipt| &receipt.led),
        })
    }

    /// Wakeups that led the thread that sent datagram `number` to send.
    pub fn led(&self, number: u64) -> &[Hop] {
        let index = self.leds.partition_point(|led| led.number < number);
        let led = self.leds.get(index).filter(|led| led.number == number);
        led.map_or(&[], |led| &led.led)
    }

    /// Time at which the last of the sockets that got `extent`'s last byte has read it.
    pub fn read_at(&self, extent: ByteRange) -> Option<Nanos> {
        let number = self.number_of(extent.last())?;
        let reads = self.receipts_of(number).map(|receipt| receipt.read.map(|(at, _)| at));
        reads.reduce(|a, b| Some(a?.max(b?))).flatten()
    }

    /// Time at which it was seen that the reader is past `extent`, which no socket got: it was
    /// thrown away.
    pub fn passed_at(&self, extent: ByteRange) -> Option<Nanos> {
        let Some(number) = self.number_of(extent.last()) else { return Some(Nanos(0)) };
        let unread = !self.was_read(number);
        self.read_to.filter(|&(newest, _)| unread && newest > number).map(|(_, at)| at)
    }

    /// True if the datagram with the last byte of `extent` was seen to come in.
    pub fn was_received(&self, extent: ByteRange) -> bool {
        let datagram = self.number_of(extent.last()).and_then(|number| self.get(number));
        datagram.is_some_and(|datagram| datagram.rx.is_some())
    }

    /// The path of `extent` to its `index`-th reader, as far as it was seen.
    pub fn path(&self, extent: ByteRange, index: usize) -> Path<'_> {
        let begins = self.number_of(extent.start);
        let first = begins.and_then(|number| self.get(number));
        let number = self.number_of(extent.last());
        let last = number.and_then(|number| self.get(number));
        let sending = first.and_then(|datagram| datagram.sending);
        let receipt = number.and_then(|number| self.receipts_of(number).nth(index));
        Path {
            publish: None,
            send: sending.and_then(|sending| sending.entered),
            sent: last.and_then(|datagram| datagram.sending?.entered),
            lost: None,
            queue: last.and_then(|datagram| datagram.queued),
            xmit: last.and_then(|datagram| datagram.xmit),
            rx: last.and_then(|datagram| datagram.rx),
            ready: receipt.and_then(|receipt| receipt.ready),
            read: receipt.and_then(|receipt| Some(receipt.read?.0)),
            sender: sending.map(|sending| sending.task),
            reader: receipt.and_then(|receipt| {
                Some(ReadBy { task: receipt.read?.1, socket: Some(receipt.socket) })
            }),
            reading: receipt.map_or(&[], |receipt| &receipt.led),
            sending: begins.map_or(&[], |number| self.led(number)),
            circumstances: Circumstances {
                path: LegPath {
                    distance: self.distance.unwrap_or_default(),
                    deferred: last.is_some_and(|datagram| datagram.deferred.is_some()),
                    deferred_since: last.and_then(|datagram| datagram.deferred).unwrap_or_default(),
                    ..LegPath::default()
                },
                ..Circumstances::default()
            },
        }
    }

    /// Times of the packets of `extent`, if nothing else was seen of the flow.
    pub fn packets_alone(&self, extent: ByteRange) -> Option<PacketTimes> {
        if !(self.receipts.is_empty() && self.leds.is_empty()) {
            return None;
        }
        let [first, last] = [extent.start, extent.last()].map(|place| self.number_of(place));
        let [first, last] = [first?, last?].map(|number| self.get(number));
        let (first, last) = (first?, last?);
        let has_calls = first.sending.is_some() || last.sending.is_some();
        let is_late = last.xmit.zip(last.rx).is_some_and(|(xmit, rx)| rx < xmit);
        if has_calls || is_late || last.queued.is_some() || last.deferred.is_some() {
            return None;
        }
        let began = self.first_seen(first);
        Some(PacketTimes { began, xmit: last.xmit, rx: last.rx, heard: None })
    }

    /// Time at which the datagram with the first byte of `extent` was first seen.
    pub fn began_at(&self, extent: ByteRange) -> Option<Nanos> {
        self.first_seen(self.get(self.number_of(extent.start)?)?)
    }

    fn first_seen(&self, datagram: &Datagram) -> Option<Nanos> {
        let left = datagram.queued.or(datagram.xmit);
        // By the receiver's clock, it may have come in before.
        let came = datagram.rx.filter(|_| left.is_none() || self.slack == Nanos(0));
        [left, datagram.xmit, came].into_iter().flatten().min()
    }

    /// Number of sockets that got `extent`'s last byte.
    pub fn readers(&self, extent: ByteRange) -> usize {
        self.number_of(extent.last()).map_or(0, |number| self.receipts_of(number).count())
    }
}
