//! Writes every transcript of `../corpus/<protocol>/` as a seed into `corpus/<target>/`, and MQTT's over a WebSocket.

use std::path::Path;
use wirelap_test_support::over_websocket::{Framing, framed};
use wirelap_test_support::{packed, transcript};

fn main() -> std::io::Result<()> {
    let targets = [
        ("amqp", "amqp"),
        ("dds", "rtps"),
        ("kafka", "kafka"),
        ("mqtt", "mqtt"),
        ("nats", "nats"),
        ("opcua", "opcua"),
        ("xrce", "xrce"),
        ("zenoh", "zenoh"),
        ("zmtp", "zmtp"),
    ];
    for (protocol, target) in targets {
        let Some(protocol) = wirelap_protocols::by_name(protocol) else { continue };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        for transcript in transcript::of(protocol) {
            let packed = packed::pack(transcript.transport, &transcript.chunks);
            let name = transcript.path.with_extension("seed");
            std::fs::write(folder.join(name.file_name().unwrap_or_default()), packed)?;
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/websocket");
    std::fs::create_dir_all(&folder)?;
    for transcript in transcript::of(&wirelap_protocols::mqtt::PROTOCOL) {
        for compressed in [false, true] {
            let framing = Framing { compressed, forgets: false, fragment: 20 };
            let packed = packed::pack(transcript.transport, &framed(&transcript.chunks, framing));
            let name = transcript.path.file_stem().unwrap_or_default().to_string_lossy();
            std::fs::write(folder.join(format!("{name}-{compressed}.seed")), packed)?;
        }
    }
    Ok(())
}
