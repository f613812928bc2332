//! The broker `apache`: Apache Kafka as a child process, a single node that is broker and controller (`KRaft`, combined
//! mode). What it writes goes away with it.

use crate::{jars, settings, topics};
use anyhow::{Context, Result, anyhow, ensure};
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wirelap_contract::Spec;
use wirelap_harness::control::Control;
use wirelap_harness::daemon::{self, Daemon};
use wirelap_harness::link::{self, Facts};
use wirelap_harness::{guard, installed};

const START_LIMIT: Duration = Duration::from_secs(50);
const NAME: &str = "Apache Kafka";
/// The oldest Java that runs it.
const OLDEST_JAVA: u32 = 17;
/// Kafka's own default.
const HEAP: &str = "1g";
/// Bytes of one partition that stay on the disk; more is deleted soon.
const RETENTION: u64 = 4 << 30;
const SEGMENT: u64 = 256 << 20;
/// A cluster and a folder have 128-bit names in URL-safe base64. As nobody else will ever meet these, they need not be
/// random.
const CLUSTER_ID: &str = "d2lyZWxhcC1rYWZrYS0wMQ";
const FOLDER_ID: &str = "d2lyZWxhcC1rYWZrYS0wMg";

pub fn serve(spec: &Spec, control: &Control) -> Result<()> {
    let installed = jars::find().context("Apache Kafka is not installed")?;
    let java = java_version(&installed.java)?;
    let broker = daemon::choose(link::resolve(&spec.endpoint)?)?;
    let controller = daemon::choose((Ipv4Addr::LOCALHOST, 0).into())?;
    // Dropped after the child, which is inside.
    let folder = daemon::folder("kafka")?;
    write_folder(spec, folder.path(), broker, controller)?;
    let mut child = Daemon::start(NAME, command(&installed, folder.path()))?;
    if !child.wait_until_it_listens(reachable(broker), START_LIMIT, control)? {
        return Ok(());
    }
    if !answers(spec, reachable(broker), &mut child, control)? {
        return Ok(());
    }
    let facts = facts(spec, broker, &installed.version, &java)?;
    child.serve(reachable(broker), START_LIMIT, facts, control)
}

/// Waits until the broker answers, as it listens some time before. False when told to stop.
fn answers(spec: &Spec, broker: SocketAddr, child: &mut Daemon, control: &Control) -> Result<bool> {
    let asker: BaseConsumer =
        settings::common(spec, broker).create().context("cannot ask the broker")?;
    let deadline = std::time::Instant::now() + START_LIMIT;
    while std::time::Instant::now() < deadline {
        child.check("did not start")?;
        let answer = asker.fetch_metadata(None, topics::QUESTION);
        if answer.is_ok_and(|answer| !answer.brokers().is_empty()) {
            return Ok(true);
        }
        if control.stopped() {
            return Ok(false);
        }
    }
    Err(anyhow!("{NAME} did not answer on {broker} within {} s", START_LIMIT.as_secs()))
}

/// As Kafka's own scripts start it, but without statistics in a file for other Java programs.
fn command(installed: &jars::Installed, folder: &Path) -> Command {
    let mut command = guard::command(&installed.java);
    command
        .arg(format!("-Xmx{HEAP}"))
        .args(["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"])
        .args(["-XX:-UsePerfData", "-Djava.awt.headless=true"])
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
        .arg("-cp")
        .arg(installed.jars.join("*"))
        .arg("kafka.Kafka")
        .arg(folder.join("server.properties"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Writes the broker's configuration, and an empty folder for its data that is already formatted: that is a file with the
/// cluster's name, which otherwise two more Java programs would write.
fn write_folder(
    spec: &Spec,
    folder: &Path,
    broker: SocketAddr,
    controller: SocketAddr,
) -> Result<()> {
    let data = folder.join("data");
    fs::create_dir(&data).context("cannot make the data folder")?;
    let formatted =
        format!("version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\ndirectory.id={FOLDER_ID}\n");
    fs::write(data.join("meta.properties"), formatted).context("cannot format the data folder")?;
    let mut text = String::new();
    for (name, value) in properties(spec, &data, broker, controller)? {
        text.extend([name, "=", &value, "\n"]);
    }
    fs::write(folder.join("server.properties"), text).context("cannot write the configuration")
}

fn properties(
    spec: &Spec,
    data: &Path,
    broker: SocketAddr,
    controller: SocketAddr,
) -> Result<Vec<(&'static str, String)>> {
    let longest = settings::max_message(spec).to_string();
    let one = || "1".to_owned();
    Ok(vec![
        ("process.roles", "broker,controller".into()),
        ("node.id", one()),
        ("controller.quorum.voters", format!("1@{controller}")),
        ("controller.listener.names", "CONTROLLER".into()),
        ("listeners", format!("PLAINTEXT://{broker},CONTROLLER://{controller}")),
        ("advertised.listeners", format!("PLAINTEXT://{}", reachable(broker))),
        ("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT".into()),
        ("log.dirs", data.display().to_string()),
        ("num.partitions", settings::partitions(spec)?.to_string()),
        ("message.max.bytes", longest.clone()),
        ("replica.fetch.max.bytes", longest),
        ("log.segment.bytes", SEGMENT.to_string()),
        ("log.retention.bytes", RETENTION.to_string()),
        ("log.retention.check.interval.ms", "1000".into()),
        ("log.segment.delete.delay.ms", "1000".into()),
        ("connections.max.idle.ms", "-1".into()),
        ("offsets.topic.num.partitions", one()),
        ("offsets.topic.replication.factor", one()),
        ("transaction.state.log.num.partitions", one()),
        ("transaction.state.log.replication.factor", one()),
        ("transaction.state.log.min.isr", one()),
        ("share.coordinator.state.topic.num.partitions", one()),
        ("share.coordinator.state.topic.replication.factor", one()),
        ("share.coordinator.state.topic.min.isr", one()),
        ("group.initial.rebalance.delay.ms", "0".into()),
    ])
}

/// Address at which clients of this machine reach the broker.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, address.port()).into()
        }
        _ => address,
    }
}

fn java_version(java: &Path) -> Result<String> {
    let version = installed::version(java, "-version")
        .context("the Java runtime does not tell its version")?;
    let major = version.split(['.', '+', '-']).next().and_then(|major| major.parse::<u32>().ok());
    ensure!(
        major.is_none_or(|major| major >= OLDEST_JAVA),
        "Apache Kafka needs Java {OLDEST_JAVA} or later, and this is {version}: apt-get install default-jre-headless"
    );
    Ok(version)
}

fn facts(spec: &Spec, broker: SocketAddr, kafka: &str, java: &str) -> Result<Facts> {
    Ok(Facts::at(broker)
        .version("Apache Kafka", kafka)
        .version("Java", java)
        .setting("num.partitions", settings::partitions(spec)?)
        .setting("message.max.bytes", settings::max_message(spec))
        .setting("log.retention.bytes", RETENTION)
        .setting("heap", HEAP)
        .setting("mode", "KRaft, broker and controller in one"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    #[test]
    fn what_listens_everywhere_is_reached_here() {
        let of = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(of("0.0.0.0:1"), "127.0.0.1:1");
        assert_eq!(of("[::]:1"), "[::1]:1");
        assert_eq!(of("127.0.0.2:1"), "127.0.0.2:1");
    }

    #[test]
    fn only_the_controllers_port_is_not_the_users() {
        let spec = Spec { payload: 2_000_000, ..Spec::new(Role::Broker, "kafka") };
        let (broker, controller) = ("127.0.0.1:7".parse().unwrap(), "127.0.0.1:8".parse().unwrap());
        let all = properties(&spec, Path::new("/d"), broker, controller).unwrap();
        let of = |name: &str| all.iter().find(|(told, _)| *told == name).unwrap().1.as_str();
        assert_eq!(of("listeners"), "PLAINTEXT://127.0.0.1:7,CONTROLLER://127.0.0.1:8");
        assert!(of("message.max.bytes").parse::<usize>().unwrap() > 2_000_000);
    }
}
