//! mosquitto and its clients, which use OpenSSL at both ends; and programs whose text cannot be read.

use super::{
    Foreign, Subscriber, assert_encrypted, assert_no_text, certificate, command, foreign, only_row,
    reading_tls, report_of, spawn, until_it_listens, until_tracing, without_tls,
};
use crate::bench::Bench;
use crate::free_port;
use crate::hidden::{assert_none, hidden_packets};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wirelap_test_support::tshark;

const OPENSSL: &str = "openssl.cnf";

/// A mosquitto that speaks TLS only, up to a version. It has no setting for that itself, but OpenSSL has.
fn broker(folder: &Path, port: u16, version: &str) -> Foreign {
    certificate(folder);
    let newest = version.replace("tlsv", "TLSv");
    let settings = format!(
        "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = usual\n[usual]\nMaxProtocol = {newest}\n"
    );
    fs::write(folder.join(OPENSSL), settings).unwrap();
    let settings = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\nuser root\ncertfile cert.pem\nkeyfile key.pem\n"
    );
    fs::write(folder.join("mosquitto.conf"), settings).unwrap();
    let mut broker = command(folder, "mosquitto", "-c mosquitto.conf");
    broker.env("OPENSSL_CONF", folder.join(OPENSSL));
    let broker = spawn(broker);
    until_it_listens(port);
    broker
}

/// Subscribes and publishes `count` messages, which all arrive.
fn exchange(folder: &Path, port: u16, version: &str, count: usize) {
    let tls =
        format!("--cafile cert.pem --insecure --tls-version {version} -p {port} -h localhost");
    // The first message is kept by the broker, so that it tells when the subscription is in force.
    foreign(folder, "mosquitto_pub", &format!("{tls} -t wirelap/ready -r -m ready")).succeeds();
    let words = format!("{tls} -t wirelap/# -C {}", count + 1);
    let subscriber = Subscriber::start(folder, "mosquitto_sub", &words);
    foreign(folder, "mosquitto_pub", &format!("{tls} -t wirelap/a -l")).sends(count);
    subscriber.gets(count);
}

#[test]
fn messages_in_tls_are_followed_and_their_text_is_in_no_file() {
    for version in ["tlsv1.3", "tlsv1.2"] {
        let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
        let _broker = broker(folder.path(), port, version);
        let (run, recording) = reading_tls(&bench, port);
        exchange(folder.path(), port, version, 50);
        let (report, _) = report_of(run, &bench);
        let result = only_row(&report);
        assert_eq!(result["middleware"], "mqtt", "{version}");
        let messages = &result["messages"];
        for name in ["delivered", "matched"] {
            // And the one that says that the subscription is in force.
            let count = messages[name].as_u64().unwrap();
            let is_hidden = count < 50 && hidden_packets(result) > 0;
            assert!((50..=51).contains(&count) || is_hidden, "{version}: {messages:#}");
        }
        assert_none(result, "/messages/uncovered");
        assert_no_text(&recording);
    }
}

#[test]
fn without_tls_a_sentence_says_that_it_is_encrypted() {
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _broker = broker(folder.path(), port, "tlsv1.3");
    let run = without_tls(&bench, port);
    exchange(folder.path(), port, "tlsv1.3", 5);
    let (report, _) = report_of(run, &bench);
    assert_encrypted(&report);
}

/// Records of application data as tshark counts them, over all connections of a port.
fn records(recording: &Path, port: u16) -> u64 {
    let mut tshark = tshark::command();
    tshark.arg("-r").arg(recording).args(["-d", &format!("tcp.port=={port},tls"), "-T", "fields"]);
    let fields = ["tls.record.content_type", "tls.record.opaque_type"];
    let output = tshark::output(tshark.args(fields.iter().flat_map(|field| ["-e", field])));
    output.split([',', '\t', '\n']).filter(|kind| *kind == "23").count() as u64
}

/// Without their text, the records have all stages: every one that is sent is read by the other end.
#[test]
fn records_are_followed_without_their_text() {
    for (version, hides_handshake) in [("tlsv1.2", false), ("tlsv1.3", true)] {
        let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
        let _broker = broker(folder.path(), port, version);
        let recording = bench.file("seen.pcapng");
        let words = format!(
            "live --plain --sample off --ports {port} --decode {port}=tls --pcapng {} --pcapng-payload",
            recording.display()
        );
        let run = bench.wirelap(&words).json().start();
        until_tracing(&run);
        exchange(folder.path(), port, version, 50);
        let (report, _) = report_of(run, &bench);
        let result = only_row(&report);
        assert_eq!(result["middleware"], "tls", "{version}");
        let count = |name: &str| result["messages"][name].as_u64().unwrap();
        let all = records(&recording, port);
        // Fifty-one to the broker and as many from it, and what MQTT says beside them. In TLS 1.3, records of the handshake look alike.
        assert!(count("sent") > 102, "{version}: {result:#}");
        if hidden_packets(result) == 0 {
            let are_all = count("sent") == all;
            assert!(are_all != hides_handshake && count("sent") <= all, "{all}: {result:#}");
            // Who leaves does not read what still comes.
            assert!(count("delivered") + 6 >= count("sent"), "{version}: {result:#}");
        }
        let notes = result["notes"].as_array().unwrap();
        let is_told = |note: &Value| note.as_str().unwrap().contains("TLS records");
        assert!(notes.iter().any(is_told), "{result:#}");
        assert_no_text(&recording);
    }
}

/// Programs whose text cannot be read are named, with the reason.
#[test]
fn with_tls_it_is_said_whose_text_is_not_read_and_why() {
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    certificate(folder.path());
    // Both ends encrypt in memory: asyncio hands what comes out of OpenSSL to the socket later.
    let script = "import asyncio, ssl, sys
port = int(sys.argv[1])
async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line)
async def main():
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain('cert.pem', 'key.pem')
    await asyncio.start_server(serve, '127.0.0.1', port, ssl=own)
    other = ssl.create_default_context(cafile='cert.pem')
    other.check_hostname = False
    reader, writer = await asyncio.open_connection('127.0.0.1', port, ssl=other)
    for n in range(100):
        writer.write(b'a line\\n')
        await reader.readline()
asyncio.run(main())
";
    fs::write(folder.path().join("echo.py"), script).unwrap();
    let run =
        bench.wirelap(&format!("live --plain --sample off --tls --ports {port}")).json().start();
    until_tracing(&run);
    let python = foreign(folder.path(), "/usr/bin/python3", &format!("echo.py {port}"));
    let pid = python.0.id();
    python.succeeds();
    let (report, _) = report_of(run, &bench);
    let traffic = &report["unknown"]["traffic"][0];
    let sentence = traffic["sentence"].as_str().unwrap();
    let reason = format!("python3 (PID {pid}): no text came from libssl");
    assert!(sentence.contains(&reason), "{sentence}");
}
