//! The HTTP listener that metrics are scraped from.

use crate::exposition::registry;
use crate::measured::SharedMeasured;
use crate::request::{self, INDEX, MAX_HEAD, Request};
use prometheus_client::registry::Registry;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use wirelap_history::Update;

/// The most clients that are answered at a time; further ones are turned away.
const CLIENTS: usize = 4;
/// The longest that a client is waited for, to send its request and to take what it gets.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where metrics are scraped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointAddress(pub SocketAddr);

impl FromStr for EndpointAddress {
    type Err = String;

    /// A port alone is that of this host's loopback device.
    fn from_str(text: &str) -> Result<EndpointAddress, String> {
        if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
            return Ok(EndpointAddress((Ipv4Addr::LOCALHOST, port).into()));
        }
        text.parse().map(EndpointAddress).map_err(|_| {
            "an address is a port, for this host alone (9464), or an IP address and a port (0.0.0.0:9464, [::1]:9464)"
                .to_owned()
        })
    }
}

/// A listener that hands out what is measured. It has the address from [`Endpoint::bind`] on, and answers from [`Endpoint::serve`] on.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
}

impl Endpoint {
    /// Takes the address.
    ///
    /// # Errors
    /// Another program has it, this host does not, or only root may have it.
    pub fn bind(address: EndpointAddress) -> io::Result<Endpoint> {
        Ok(Endpoint { listener: TcpListener::bind(address.0)? })
    }

    /// The address; with the port that the kernel chose, if none was asked for.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Takes the updates of a session and answers scrapers, on threads of their own that end with the program. `spans` counts those that
    /// `--otlp` has sent and dropped.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(
        self,
        updates: Receiver<Update>,
        spans: Option<[Arc<AtomicU64>; 2]>,
    ) -> io::Result<()> {
        let measured = SharedMeasured::default();
        measured.lock().spans = spans;
        let registry = Arc::new(Mutex::new(registry(measured.clone())));
        thread::Builder::new().name("metrics".into()).spawn(move || {
            for update in updates {
                measured.lock().take(&update);
            }
        })?;
        thread::Builder::new().name("metrics-http".into()).spawn(move || {
            let clients = Arc::new(AtomicUsize::new(0));
            for stream in self.listener.incoming().flatten() {
                accept(stream, &clients, &registry);
            }
        })?;
        Ok(())
    }
}

/// Answers a client on a thread of its own, if there are not too many.
fn accept(mut stream: TcpStream, clients: &Arc<AtomicUsize>, registry: &Arc<Mutex<Registry>>) {
    // Only this thread adds.
    if clients.load(Ordering::Acquire) >= CLIENTS {
        // A client that takes nothing is not waited for.
        let _ = stream.set_nonblocking(true);
        let _ = refuse(&mut stream, "503 Service Unavailable");
        // A request that is left unread resets the connection, and the client may lose the answer. One that comes later still does.
        let _ = stream.read(&mut [0; MAX_HEAD]);
        return;
    }
    clients.fetch_add(1, Ordering::AcqRel);
    let (counted, registry) = (Arc::clone(clients), Arc::clone(registry));
    let started = thread::Builder::new().name("metrics-client".into()).spawn(move || {
        // Whatever a client does wrong concerns nobody else.
        let _ = answer(stream, &registry);
        counted.fetch_sub(1, Ordering::AcqRel);
    });
    if started.is_err() {
        clients.fetch_sub(1, Ordering::AcqRel);
    }
}

fn answer(mut stream: TcpStream, registry: &Mutex<Registry>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match receive(&mut stream)? {
        Request::Metrics(format, with_body) => {
            let written = format.write(&registry.lock().unwrap_or_else(PoisonError::into_inner));
            let Some(body) = written else {
                return refuse(&mut stream, "500 Internal Server Error");
            };
            let head = request::head("200 OK", format.media_type(), body.len());
            stream.write_all(head.as_bytes())?;
            if with_body { stream.write_all(&body) } else { Ok(()) }
        }
        Request::Index => {
            let head = request::head("200 OK", "text/plain; charset=utf-8", INDEX.len());
            stream.write_all(format!("{head}{INDEX}").as_bytes())
        }
        Request::Refused(status) => refuse(&mut stream, status),
    }
}

fn receive(stream: &mut TcpStream) -> io::Result<Request> {
    let mut head = [0; MAX_HEAD];
    let mut length = 0;
    loop {
        if let Some(request) = request::read(head.get(..length).unwrap_or_default()) {
            return Ok(request);
        }
        let read = stream.read(head.get_mut(length..).unwrap_or_default())?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        length = length.saturating_add(read);
    }
}

fn refuse(stream: &mut TcpStream, status: &str) -> io::Result<()> {
    let body = format!("{status}\n");
    let head = request::head(status, "text/plain; charset=utf-8", body.len());
    stream.write_all(format!("{head}{body}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    fn started() -> SocketAddr {
        let endpoint = Endpoint::bind("0".parse().unwrap()).unwrap();
        let address = endpoint.address().unwrap();
        let (_, updates) = sync_channel(1);
        endpoint.serve(updates, None).unwrap();
        address
    }

    fn try_to_ask(address: SocketAddr, text: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(text.as_bytes())?;
        io::read_to_string(stream)
    }

    fn ask(address: SocketAddr, text: &str) -> String {
        try_to_ask(address, text).unwrap()
    }

    #[test]
    fn metrics_are_handed_out() {
        let address = started();
        assert!(address.ip().is_loopback());
        let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        assert!(body.contains("wirelap_events_total 0.0\n"), "{body}");
        assert!(ask(address, "GET /nothing HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").ends_with(INDEX));
    }

    #[test]
    fn silent_clients_keep_nobody_away_for_long() {
        let address = started();
        let silent: Vec<TcpStream> =
            (0..CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
        // Connections are taken in order, so that those before it are counted.
        let answer = ask(address, "");
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        drop(silent);
        // A client that is turned away before its request has come sees a reset.
        let is_answered = |answer: io::Result<String>| {
            answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
        };
        while !is_answered(try_to_ask(address, "GET / HTTP/1.1\r\n\r\n")) {
            thread::yield_now();
        }
    }

    #[test]
    fn addresses_are_of_loopback_unless_asked_otherwise() {
        let address =
            |text: &str| text.parse::<EndpointAddress>().map(|address| address.0.to_string());
        assert_eq!(address("9464").unwrap(), "127.0.0.1:9464");
        assert_eq!(address(":9464").unwrap(), "127.0.0.1:9464");
        assert_eq!(address("[::]:9464").unwrap(), "[::]:9464");
        for wrong in ["", "localhost", "1.2.3.4", "70000", "host:1"] {
            assert!(address(wrong).unwrap_err().contains("9464"), "{wrong}");
        }
    }
}
