mod peer;

use rumqttc::{Client, Event, MqttOptions, Outgoing, Packet, QoS};
use std::sync::mpsc::channel;

fn main() {
    let qos = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce][peer::number("QOS", 0)];
    let name = format!("rumqttc-{}-{}", peer::publishes(), peer::number("NUMBER", 0));
    let mut options = MqttOptions::new(name, "127.0.0.1", peer::number("PORT", 0) as u16);
    options.set_inflight(1000);
    let (client, mut connection) = Client::new(options, 5000);
    let (say, hear) = channel();
    let (say_sent, sent) = channel();
    std::thread::spawn(move || {
        for event in connection.iter() {
            match event.expect("the connection is open") {
                Event::Incoming(Packet::ConnAck(_) | Packet::SubAck(_)) => say.send(()).unwrap(),
                Event::Incoming(Packet::Publish(_)) => peer::take(),
                Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_)) => {
                    say_sent.send(()).unwrap()
                }
                Event::Outgoing(Outgoing::Publish(_)) if qos == QoS::AtMostOnce => {
                    say_sent.send(()).unwrap()
                }
                _ => {}
            }
        }
    });
    hear.recv().unwrap();
    if !peer::publishes() {
        client.subscribe(peer::TOPIC, qos).unwrap();
        hear.recv().unwrap();
    }
    let publish = |payload| client.publish(peer::TOPIC, qos, false, payload).unwrap();
    peer::run(publish, || (0..peer::number("MESSAGES", 300)).for_each(|_| sent.recv().unwrap()));
}
