//! MQTT control packets.

use super::{Field, Reading};
use wirelap_test_support::compose::mqtt::NAMES;
use wirelap_test_support::messages::{Carried, Message};

pub struct Mqtt;

impl Reading for Mqtt {
    fn pdu(&mut self, _: (u16, u16), pdu: Field<'_>, messages: &mut Vec<Message>) {
        for field in pdu.all() {
            if field.name() == "mqtt.msgtype" {
                let kind = usize::try_from(field.value().unwrap()).unwrap();
                messages.push(Message { name: NAMES[kind - 1].into(), carried: None });
            }
            let Some(last) = messages.last_mut().filter(|last| last.name == "PUBLISH") else {
                continue;
            };
            match field.name() {
                // An empty payload has no field.
                "mqtt.topic" => {
                    let topic = field.show().to_owned();
                    last.carried = Some(Carried { topic, payload_len: 0 });
                }
                "mqtt.msg" => last.carried.as_mut().unwrap().payload_len = field.size(),
                _ => {}
            }
        }
    }
}
