use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};

fn main() {
    let connections = ConnectionSettings {
        connection_timeout_ms: 60_000,
        max_payload_size: 1 << 20,
        max_inflight_count: 1000,
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    let listen = format!("127.0.0.1:{}", std::env::var("PORT").unwrap()).parse().unwrap();
    let server = ServerSettings {
        name: "mqtt".into(),
        listen,
        tls: None,
        next_connection_delay_ms: 1,
        connections,
    };
    let router = RouterConfig {
        max_connections: 100,
        max_outgoing_packet_count: 200,
        max_segment_size: 16 << 20,
        max_segment_count: 10,
        ..RouterConfig::default()
    };
    Broker::new(Config { router, v4: Some([("1".into(), server)].into()), ..Config::default() })
        .start()
        .unwrap();
}
