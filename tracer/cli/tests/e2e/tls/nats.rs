//! nats-server, in Go, and clients in Python that use OpenSSL; a connection begins in plain text.

use super::{
    Foreign, Subscriber, certificate, foreign, only_row, report_of, until_it_listens,
    until_tracing, written,
};
use crate::bench::{Bench, lock};
use crate::{LONG, free_port};
use serde_json::Value;
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

/// All messages were followed.
fn assert_followed(report: &Value, count: u64) {
    let result = only_row(report);
    assert_eq!(result["middleware"], "nats");
    let messages = &result["messages"];
    for name in ["sent", "delivered", "matched"] {
        assert_eq!(messages[name], count, "{name}: {messages:#}");
    }
    assert_eq!(messages["uncovered"], 0, "{messages:#}");
}

/// While it runs, the text is the libraries'; of the packets that it writes, it is read with the clients' keys.
#[test]
fn messages_of_nats_in_tls_are_followed_live_and_with_keys() {
    let _alone = lock();
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _server = server(folder.path(), port);
    let recording = bench.file("seen.pcapng");
    let words = format!("live --plain --tls --ports {port} --pcapng {}", recording.display());
    let run = bench.wirelap(&words).json().start();
    until_tracing(&run);
    exchange(folder.path(), port, 200);
    let (report, _) = report_of(run, &bench);
    assert_followed(&report, 200);
    let files = written(recording.parent().unwrap());
    assert!(files.len() > 1000 && !files.windows(8).any(|bytes| bytes == b"a secret"));

    let keys = folder.path().join(KEYS);
    let words = format!("analyze {} --tls-keys {}", recording.display(), keys.display());
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_followed(&bench.report(), 200);
}

#[test]
fn without_tls_a_sentence_says_that_nats_is_encrypted() {
    let _alone = lock();
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _server = server(folder.path(), port);
    let run = bench.wirelap(&format!("live --plain --ports {port}")).json().start();
    until_tracing(&run);
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
