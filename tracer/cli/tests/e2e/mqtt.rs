//! The smallest MQTT client that can fill a broker: MQTT 5.0, `QoS` 0, blocking.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connected client.
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    /// Connects and waits for the broker's consent.
    pub fn connect(address: &str, id: &str) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Client { stream, received: Vec::new() };
        // Protocol name, version 5, clean start, keep alive 300 s, no properties, the id.
        let mut body = vec![0, 4, b'M', b'Q', b'T', b'T', 5, 2, 1, 44, 0];
        put_text(&mut body, id);
        client.send(0x10, &body);
        assert_eq!(client.packet().0 >> 4, 2, "CONNACK");
        client
    }

    /// Subscribes and waits until it is in force.
    pub fn subscribe(&mut self, filter: &str) {
        let mut body = vec![0, 1, 0];
        put_text(&mut body, filter);
        body.push(0);
        self.send(0x82, &body);
        let (_, body) = self.until(9);
        assert!(body.last().is_some_and(|&reason| reason < 0x80), "SUBACK {body:?}");
    }

    /// Publishes.
    pub fn publish(&mut self, topic: &str, payload: &[u8], retain: bool) {
        let mut body = Vec::new();
        put_text(&mut body, topic);
        body.push(0);
        body.extend_from_slice(payload);
        self.send(0x30 | u8::from(retain), &body);
    }

    /// Waits until the broker has taken all that was sent before.
    pub fn settle(&mut self) {
        self.send(0xC0, &[]);
        self.until(13);
    }

    /// Takes this many messages.
    pub fn take(&mut self, messages: usize) {
        for _ in 0..messages {
            self.until(3);
        }
    }

    /// The messages that come until none has for `quiet`.
    pub fn take_all(&mut self, quiet: Duration) -> usize {
        self.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (mut count, mut last) = (0, Instant::now());
        while last.elapsed() < quiet {
            if let Some((head, _)) = self.cut() {
                count += usize::from(head >> 4 == 3);
                last = Instant::now();
            } else {
                self.fill();
            }
        }
        count
    }

    fn send(&mut self, head: u8, body: &[u8]) {
        let mut packet = vec![head];
        let mut left = body.len();
        while left >= 128 {
            packet.push(u8::try_from(left % 128).unwrap() | 0x80);
            left /= 128;
        }
        packet.push(u8::try_from(left).unwrap());
        packet.extend_from_slice(body);
        self.stream.write_all(&packet).unwrap();
    }

    /// The next packet of this type.
    fn until(&mut self, kind: u8) -> (u8, Vec<u8>) {
        loop {
            let packet = self.packet();
            if packet.0 >> 4 == kind {
                return packet;
            }
        }
    }

    fn packet(&mut self) -> (u8, Vec<u8>) {
        self.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        loop {
            if let Some(packet) = self.cut() {
                return packet;
            }
            assert!(self.fill(), "the broker says nothing");
        }
    }

    /// The packet at the front of what was received, if all of it is there.
    fn cut(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = *self.received.first()?;
        let (mut length, mut at) = (0, 1);
        loop {
            let byte = *self.received.get(at)?;
            length |= usize::from(byte & 0x7F) << (7 * (at - 1));
            at += 1;
            if byte < 0x80 {
                break;
            }
        }
        let body = self.received.get(at..at + length)?.to_vec();
        self.received.drain(..at + length);
        Some((head, body))
    }

    /// False if nothing came in time.
    fn fill(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => panic!("the broker closed the connection"),
            Ok(count) => {
                self.received.extend_from_slice(&bytes[..count]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                false
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn put_text(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
    body.extend_from_slice(text.as_bytes());
}
