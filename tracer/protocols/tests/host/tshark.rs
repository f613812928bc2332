//! What tshark says of a capture. Of its outputs only PDML keeps the messages of one packet apart.

use crate::{Message, Messages};
use std::path::Path;
use std::process::Command;

/// The MQTT packets of a capture, by direction.
pub fn read(capture: &Path, port: u16) -> Messages {
    let output = Command::new("tshark")
        .args(["-d", &format!("tcp.port=={port},mqtt"), "-Y", "mqtt", "-T", "pdml", "-r"])
        .arg(capture)
        .output()
        .expect("tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut messages = Messages::new();
    let (mut source, mut ports) = (0, (0, 0));
    for line in String::from_utf8(output.stdout).unwrap().lines().map(str::trim) {
        let of_direction = messages.entry(ports);
        let (name, show) = (attribute(line, "name"), || attribute(line, "show"));
        match name {
            "tcp.srcport" => source = show().parse().unwrap(),
            "tcp.dstport" => ports = (source, show().parse().unwrap()),
            "mqtt.msgtype" => {
                let kind = show().parse().unwrap();
                let message = Message { kind, topic: String::new(), payload_bytes: 0 };
                of_direction.or_default().push(message);
            }
            "mqtt.topic" | "mqtt.msg" => {
                let message = of_direction.or_default().last_mut().unwrap();
                match (message.kind, name) {
                    (3, "mqtt.topic") => show().clone_into(&mut message.topic),
                    (3, _) => message.payload_bytes = attribute(line, "size").parse().unwrap(),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    messages
}

/// An attribute of the element on a line; empty if it has none.
fn attribute<'l>(line: &'l str, name: &str) -> &'l str {
    let mut parts = line.split('"');
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        if key.trim_end_matches('=').rsplit(' ').next() == Some(name) {
            return value;
        }
    }
    ""
}
