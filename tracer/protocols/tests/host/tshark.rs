//! Reading of a capture by tshark. Of its outputs only PDML keeps the messages of one packet apart.

use crate::{Message, Messages};
use std::path::Path;
use wirelap_test_support::tshark::{attribute, command, output};

/// The MQTT packets of a capture, by direction.
pub fn read(capture: &Path, port: u16) -> Messages {
    let mut tshark = command();
    tshark
        .args(["-d", &format!("tcp.port=={port},mqtt"), "-Y", "mqtt", "-T", "pdml", "-r"])
        .arg(capture);
    let mut messages = Messages::new();
    let (mut source, mut ports) = (0, (0, 0));
    for line in output(&mut tshark).lines().map(str::trim) {
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
