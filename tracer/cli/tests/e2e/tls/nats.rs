//! nats-server, in Go, and clients in Python that use OpenSSL; a connection begins in plain text.

use super::{
    Foreign, Subscriber, assert_followed, assert_no_text, certificate, foreign, only_row,
    reading_tls, report_of, until_it_listens, without_tls,
};
use crate::bench::Bench;
use crate::{LONG, free_port};
use std::fs;
use std::path::Path;

const CLIENT: &str = include_str!("nats.py");
const PYTHON: &str = "/usr/bin/python3";
const KEYS: &str = "keys.log";

/// A nats-server that asks its clients for TLS.
fn server(folder: &Path, port: u16) -> Foreign {
    certificate(folder);
    fs::write(folder.join("client.py"), CLIENT).unwrap();
    let words = format!("-a 127.0.0.1 -p {port} --tls --tlscert cert.pem --tlskey key.pem");
    let server = foreign(folder, "nats-server", &words);
    until_it_listens(port);
    server
}

/// Subscribes and publishes `count` messages, which all arrive.
fn exchange(folder: &Path, port: u16, count: usize) {
    let client = format!("client.py {port} {KEYS}");
    let subscriber = Subscriber::start(folder, PYTHON, &format!("{client} sub {count}"));
    foreign(folder, PYTHON, &format!("{client} pub")).sends(count);
    subscriber.gets(count);
}

/// While it runs, the text is the libraries'; of the packets that it writes, it is read with the clients' keys.
#[test]
fn messages_of_nats_in_tls_are_followed_live_and_with_keys() {
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _server = server(folder.path(), port);
    let (run, recording) = reading_tls(&bench, port);
    exchange(folder.path(), port, 200);
    let (report, _) = report_of(run, &bench);
    assert_followed(&report, "nats", 200);
    assert_no_text(&recording);

    let keys = folder.path().join(KEYS);
    let words = format!("analyze {} --tls-keys {}", recording.display(), keys.display());
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_followed(&bench.report(), "nats", 200);
}

#[test]
fn without_tls_a_sentence_says_that_nats_is_encrypted() {
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _server = server(folder.path(), port);
    let run = without_tls(&bench, port);
    exchange(folder.path(), port, 5);
    let (report, _) = report_of(run, &bench);
    // The server's greeting was not encrypted, so that the row has its name.
    let result = only_row(&report);
    assert_eq!(result["middleware"], "nats");
    assert_eq!(result["messages"]["sent"], 0, "{report:#}");
    let [note] = &result["notes"].as_array().unwrap()[..] else { panic!("{report:#}") };
    let sentence = note.as_str().unwrap();
    assert!(
        sentence.contains("Encrypted connections: 2") && sentence.contains("live --tls"),
        "{sentence}"
    );
}
