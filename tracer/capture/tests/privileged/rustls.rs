//! The text of rustls: this program runs once more, and is both ends.

use crate::support::in_own_netns;
use crate::tls::{PATIENCE, Running, capture, certificate};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    SupportedProtocolVersion,
};
use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_capture::Capture;
use wirelap_events::{Body, Pid, SocketId, TextPlace};

/// Longer than one record can hold.
const LONG_TEXT: usize = 40_000;

/// Bytes of text to the server, and back.
const THERE: usize = 6 + 6 + 9 + LONG_TEXT;
const BACK: usize = 6 + 3;

/// The variable with the folder of the certificate, which is set for the process with both ends.
const FOLDER: &str = "WIRELAP_TEST_CERTIFICATE";

type Server = StreamOwned<ServerConnection, TcpStream>;

fn client(
    folder: &Path,
    version: &'static SupportedProtocolVersion,
    to: TcpStream,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), to)
}

/// A server of one connection, which does `work` with it.
fn server(folder: &Path, work: fn(&mut Server)) -> (TcpStream, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let certificate = CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let serving = thread::spawn(move || {
        let (from, _) = listener.accept().unwrap();
        work(&mut StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), from));
    });
    (to, serving)
}

/// A text of rustls, with its place and its socket.
#[derive(Debug)]
struct Seen {
    socket: SocketId,
    place: TextPlace,
    text_start: u32,
    len: u32,
    text: Vec<u8>,
}

/// Collects texts of a process until they have so many bytes.
fn texts(capture: &mut Capture, pid: Pid, bytes: usize) -> Vec<Seen> {
    let deadline = Instant::now() + PATIENCE;
    let mut all: Vec<Seen> = Vec::new();
    while all.iter().map(|one| one.len as usize).sum::<usize>() < bytes {
        assert!(Instant::now() < deadline, "{bytes}: {all:?}");
        let _ = capture.poll(Duration::from_millis(10), &mut |event| {
            if let Body::Plain(plain) = &event.body
                && plain.task.pid == pid
            {
                all.push(Seen {
                    socket: plain.socket,
                    place: plain.place,
                    text_start: plain.text_start,
                    len: plain.len,
                    text: plain.text.to_vec(),
                });
            }
        });
    }
    all
}

/// The texts and their records follow each other in one socket.
fn assert_follow(seen: &[Seen], first: &[u8]) {
    let (mut next, mut place) = (seen[0].text_start, None);
    let mut text = Vec::new();
    for one in seen {
        assert_eq!((one.socket, one.text_start), (seen[0].socket, next), "{seen:?}");
        next += one.len;
        text.extend_from_slice(&one.text);
        let TextPlace::Sent { start, record_len } = one.place else { panic!("{one:?}") };
        assert!(place.is_none_or(|place| place == start), "{seen:?}");
        place = Some(start.plus(record_len));
    }
    assert!(text.starts_with(first), "{}", String::from_utf8_lossy(&text));
}

/// Both ends, with the certificate in this folder. They begin when they are told to on standard input.
fn both_ends(folder: &Path) {
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let (to, serving) = server(folder, |stream| {
            let mut line = [0; 6];
            stream.read_exact(&mut line).unwrap();
            stream.write_all(b"answer").unwrap();
            stream.read_exact(&mut vec![0; THERE - 6]).unwrap();
            stream.write_all(b"all").unwrap();
        });
        let mut client = client(folder, version, to);
        client.write_all(b"a line").unwrap();
        client.read_exact(&mut [0; 6]).unwrap();
        client.write_all(b"second").unwrap();
        let parts = [IoSlice::new(b"two "), IoSlice::new(b"parts")];
        assert_eq!(client.conn.writer().write_vectored(&parts).unwrap(), 9);
        client.flush().unwrap();
        client.write_all(&vec![b'x'; LONG_TEXT]).unwrap();
        client.read_exact(&mut [0; 3]).unwrap();
        serving.join().unwrap();
    }
}

/// Each end tells what it writes: short texts, one in parts, and one that is longer than a record.
#[test]
fn text_of_rustls_comes_from_its_writers() {
    // The process that is observed is this test once more.
    if let Some(folder) = std::env::var_os(FOLDER) {
        return both_ends(Path::new(&folder));
    }
    in_own_netns(|_| {
        let folder = certificate();
        let mut ends = Command::new(std::env::current_exe().unwrap());
        let name = "rustls::text_of_rustls_comes_from_its_writers";
        ends.args(["--exact", name, "--nocapture"]);
        ends.env(FOLDER, folder.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut ends = Running(ends.spawn().unwrap());
        let pid = Pid(ends.0.id());
        let mut capture = capture();
        for _ in 0..2 {
            ends.write("go\n");
            let seen = texts(&mut capture, pid, THERE + BACK);
            let first = seen[0].socket;
            let (client, server): (Vec<Seen>, Vec<Seen>) =
                seen.into_iter().partition(|one| one.socket == first);
            assert_follow(&client, b"a linesecondtwo partsxxx");
            assert_follow(&server, b"answerall");
        }
    });
}
