//! kcat, which uses OpenSSL, and Apache Kafka, whose Java cannot be read: the text of both ends of a message is the client's.

use super::{
    Foreign, Subscriber, assert_encrypted, assert_followed, assert_no_text, certificate, command,
    reading_tls, report_of, spawn, until_it_listens, without_tls,
};
use crate::bench::{Bench, poll, workload};
use crate::{LONG, free_port};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The folder with Apache Kafka's jars.
fn jars() -> String {
    let told = Command::new(workload()).args(["fetch", "kafka"]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let (_, folder) = told.trim().split_once(" is in ").expect("Apache Kafka is fetched");
    folder.to_owned()
}

/// An Apache Kafka whose clients have to speak TLS.
fn broker(folder: &Path, port: u16) -> Foreign {
    certificate(folder);
    let lines = |file: &str| fs::read_to_string(folder.join(file)).unwrap().replace('\n', "\\n");
    let (key, cert, data) = (lines("key.pem"), lines("cert.pem"), folder.join("data"));
    fs::create_dir(&data).unwrap();
    let formatted = "version=1\ncluster.id=d2lyZWxhcC1rYWZrYS0wMQ\nnode.id=1\ndirectory.id=d2lyZWxhcC1rYWZrYS0wMg\n";
    fs::write(data.join("meta.properties"), formatted).unwrap();
    let controller = free_port();
    let settings = format!(
        "process.roles=broker,controller\nnode.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\ncontroller.listener.names=CONTROLLER\n\
         listeners=SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=SSL://localhost:{port}\ninter.broker.listener.name=SSL\n\
         listener.security.protocol.map=CONTROLLER:PLAINTEXT,SSL:SSL\n\
         ssl.keystore.type=PEM\nssl.keystore.key={key}\nssl.keystore.certificate.chain={cert}\n\
         ssl.truststore.type=PEM\nssl.truststore.certificates={cert}\n\
         log.dirs={data}\nnum.partitions=1\noffsets.topic.replication.factor=1\n",
        data = data.display()
    );
    fs::write(folder.join("server.properties"), settings).unwrap();
    let words = format!("-Xmx512m -XX:-UsePerfData -cp {}/* kafka.Kafka server.properties", jars());
    let broker = spawn(command(folder, "java", &words));
    until_it_listens(port);
    // It listens some time before it answers.
    poll("Kafka's answer", LONG, || {
        let mut asks = spawn(command(folder, "kcat", &format!("{} -L", client(port))));
        asks.0.wait().unwrap().success().then_some(())
    });
    broker
}

/// Options by which kcat knows whom to speak to.
fn client(port: u16) -> String {
    format!("-q -b localhost:{port} -X security.protocol=ssl -X ssl.ca.location=cert.pem")
}

/// Consumes and produces `count` messages, which all arrive.
fn exchange(folder: &Path, port: u16, count: usize) {
    let produce = format!("{} -t wirelap -P", client(port));
    // The consumer reads this one first, and thereby tells that it is reading.
    let mut first = spawn(command(folder, "kcat", &produce));
    std::io::Write::write_all(&mut first.0.stdin.take().unwrap(), b"ready\n").unwrap();
    first.succeeds();
    let consume = format!("{} -t wirelap -C -u -o beginning -c {}", client(port), count + 1);
    let consumer = Subscriber::start(folder, "kcat", &consume);
    spawn(command(folder, "kcat", &produce)).sends(count);
    consumer.gets(count);
}

#[test]
fn messages_of_kafka_in_tls_are_followed_through_its_clients() {
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _broker = broker(folder.path(), port);
    let (run, recording) = reading_tls(&bench, port);
    exchange(folder.path(), port, 200);
    let (report, _) = report_of(run, &bench);
    // And the one that says that the consumer is reading.
    assert_followed(&report, "kafka", 201);
    assert_no_text(&recording);
}

#[test]
fn without_tls_a_sentence_says_that_kafka_is_encrypted() {
    let (bench, folder, port) = (Bench::new(), tempfile::tempdir().unwrap(), free_port());
    let _broker = broker(folder.path(), port);
    let run = without_tls(&bench, port);
    exchange(folder.path(), port, 5);
    let (report, _) = report_of(run, &bench);
    assert_encrypted(&report);
}
