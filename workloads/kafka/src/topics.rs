//! Topics: their names in Kafka, and that they are there.

use anyhow::{Context as _, Result, anyhow, bail};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::{Client, ClientContext, DefaultClientContext};
use rdkafka::types::RDKafkaErrorCode;
use std::time::{Duration, Instant};
use wirelap_harness::control::{Control, Stopped};

/// Longest time until all partitions of a topic have leaders.
const LIMIT: Duration = Duration::from_secs(20);
/// Longest time of one question, so that a stop is heard.
pub const QUESTION: Duration = Duration::from_millis(250);
/// Time until a question is asked again.
const AGAIN: Duration = Duration::from_millis(10);
/// Longest name (Kafka, `Topic.MAX_NAME_LENGTH`).
const LONGEST: usize = 249;

/// The name in Kafka of one of our topics: letters, digits, `.`, `_` and `-`, so that levels are divided by dots.
pub fn name(topic: &str) -> Result<String> {
    let name = topic.replace('/', ".");
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(is_legal) {
        bail!("--topic {topic}: Kafka takes letters, digits, '.', '_' and '-', at most {LONGEST}");
    }
    Ok(name)
}

/// Makes topics that are not there yet. That a broker does not let us is no error: they may be there.
pub fn make(
    config: &ClientConfig,
    names: &[String],
    partitions: i32,
    control: &Control,
) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> =
        config.create().context("cannot make an admin client")?;
    reach(admin.inner(), control)?;
    let new: Vec<_> = names
        .iter()
        // -1: as many replicas as the broker has for a default.
        .map(|name| NewTopic::new(name, partitions, TopicReplication::Fixed(-1)))
        .collect();
    let options = AdminOptions::new().request_timeout(Some(LIMIT));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .context("cannot wait for the admin client")?;
    let made = runtime.block_on(admin.create_topics(&new, &options));
    for outcome in made.into_iter().flatten() {
        if let Err((name, RDKafkaErrorCode::InvalidPartitions)) = outcome {
            bail!("--set partitions={partitions}: the broker refuses that for {name}");
        }
    }
    Ok(())
}

/// Number of partitions of a topic, once all of them have leaders.
pub fn partitions<C: ClientContext>(
    client: &Client<C>,
    topic: &str,
    control: &Control,
) -> Result<i32> {
    let (found, obstacle) = persist(control, || ask(client, topic))?;
    if let Some(count) = found {
        return Ok(count);
    }
    Err(anyhow!(
        "the broker did not make the topic {topic} ready within {} s: {obstacle}",
        LIMIT.as_secs()
    ))
}

/// Waits until the broker says anything.
fn reach<C: ClientContext>(client: &Client<C>, control: &Control) -> Result<()> {
    let answer = || client.fetch_metadata(None, QUESTION).map_err(|error| error.to_string());
    match persist(control, answer)? {
        (Some(_), _) => Ok(()),
        (None, why) => bail!("the broker did not answer within {} s: {why}", LIMIT.as_secs()),
    }
}

/// Asks until there is an answer or the time is over; then the last obstacle tells why.
pub fn persist<T>(
    control: &Control,
    ask: impl Fn() -> std::result::Result<T, String>,
) -> Result<(Option<T>, String)> {
    let deadline = Instant::now() + LIMIT;
    let mut obstacle = String::new();
    while Instant::now() < deadline {
        match ask() {
            Ok(answer) => return Ok((Some(answer), String::new())),
            Err(why) => obstacle = why,
        }
        control.wait_until(Some(Instant::now() + AGAIN), || control.stopped())?;
        if control.stopped() {
            return Err(Stopped.into());
        }
    }
    Ok((None, obstacle))
}

fn ask<C: ClientContext>(client: &Client<C>, topic: &str) -> std::result::Result<i32, String> {
    let answer = client.fetch_metadata(Some(topic), QUESTION).map_err(|error| error.to_string())?;
    let Some(found) = answer.topics().iter().find(|found| found.name() == topic) else {
        return Err("it is not there".into());
    };
    if let Some(error) = found.error() {
        return Err(RDKafkaErrorCode::from(error).to_string());
    }
    let led = found.partitions().iter().all(|partition| partition.leader() >= 0);
    match i32::try_from(found.partitions().len()) {
        Ok(count) if count > 0 && led => Ok(count),
        _ => Err("it has no leader".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas() {
        assert_eq!(name("wirelap/data/reply").unwrap(), "wirelap.data.reply");
        for topic in ["", "a b", "ä", "a#"] {
            assert!(name(topic).is_err(), "{topic}");
        }
        assert!(name(&"x".repeat(249)).is_ok() && name(&"x".repeat(250)).is_err());
    }
}
