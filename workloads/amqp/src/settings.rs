//! Settings of the clients.

use anyhow::{Result, anyhow, bail};
use wirelap_contract::Spec;

/// Largest payload: the largest message that `RabbitMQ` takes by default.
pub const MAX_PAYLOAD: usize = 128 << 20;

pub const CONFIRMS: &str = "confirms";
pub const ACKS: &str = "acks";
pub const PREFETCH: &str = "prefetch";

/// Settings of `--set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmqpSettings {
    /// The broker confirms each message.
    pub confirms: bool,
    /// The consumer acknowledges its deliveries.
    pub acks: bool,
    /// Deliveries that may be without an ack; 0 for no limit.
    pub prefetch: u16,
}

impl Default for AmqpSettings {
    fn default() -> AmqpSettings {
        AmqpSettings { confirms: true, acks: true, prefetch: 1000 }
    }
}

impl AmqpSettings {
    pub fn of(spec: &Spec) -> Result<AmqpSettings> {
        let mut settings = AmqpSettings::default();
        settings.confirms = flag(spec, CONFIRMS, settings.confirms)?;
        settings.acks = flag(spec, ACKS, settings.acks)?;
        if let Some(told) = spec.set_value(PREFETCH) {
            let number = told.parse();
            settings.prefetch =
                number.map_err(|_| anyhow!("--set {PREFETCH}={told}: 0 to 65535"))?;
        }
        Ok(settings)
    }
}

fn flag(spec: &Spec, name: &str, default: bool) -> Result<bool> {
    match spec.set_value(name) {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(told) => bail!("--set {name}={told}: true or false"),
    }
}

/// A topic as a routing key: `.` is what separates the words of which a binding's pattern is made.
pub fn routing_key(topic: &str) -> String {
    topic.replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    fn told(name: &str, value: &str) -> Result<AmqpSettings> {
        let set = vec![(name.to_owned(), value.to_owned())];
        AmqpSettings::of(&Spec { set, ..Spec::new(Role::Pub, "amqp") })
    }

    #[test]
    fn settings_are_understood_or_named() {
        assert!(!told(CONFIRMS, "false").unwrap().confirms);
        assert!(!told(ACKS, "false").unwrap().acks);
        assert_eq!(told(PREFETCH, "7").unwrap().prefetch, 7);
        for (name, value) in [(CONFIRMS, "yes"), (ACKS, "1"), (PREFETCH, "65536")] {
            let sentence = told(name, value).unwrap_err().to_string();
            assert!(sentence.starts_with(&format!("--set {name}={value}: ")), "{sentence}");
        }
    }

    #[test]
    fn topics_become_routing_keys() {
        assert_eq!(routing_key("wirelap/data/reply"), "wirelap.data.reply");
    }
}
