//! The commands of iproute2 that make the switch, the hosts and their links.

use super::host::{HOST_INTERFACE, Host};
use super::links::Links;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use wirelap_process::Failure;

/// The name of the bridge.
const SWITCH: &str = "switch";

/// Folders of the system's programs that are not in every user's `PATH`.
const SYSTEM_FOLDERS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// The packets that may be on their way through a link with a delay.
const DELAYED_PACKETS: u32 = 100_000;

/// Commands for the namespace of the switch that make it without ports.
pub fn switch() -> Vec<String> {
    vec![
        // A switch that learns who listens to a group would drop the first messages to it.
        format!("ip link add {SWITCH} type bridge mcast_snooping 0"),
        format!("ip link set {SWITCH} addrgenmode none up"),
    ]
}

/// Commands for the namespace of the switch that make the port of a host. The other end of the cable goes to the namespace
/// at `path`.
pub fn port(host: Host, path: &str, links: &Links) -> Vec<String> {
    let port = host.name();
    let mut commands = vec![
        format!("ip link add {port} type veth peer name {HOST_INTERFACE} netns {path}"),
        format!("ip link set {port} master {SWITCH} addrgenmode none up"),
    ];
    if let Some(delay) = links.delay.filter(|delay| !delay.is_zero()) {
        let delay = delay.as_micros();
        commands.push(format!(
            "tc qdisc add dev {port} root netem delay {delay}us limit {DELAYED_PACKETS}"
        ));
    }
    commands
}

/// Commands for the namespace of a host.
pub fn host(address: Ipv4Addr, links: &Links) -> Vec<String> {
    let mut commands =
        vec!["ip link set lo up".into(), format!("ip addr add {address}/24 dev {HOST_INTERFACE}")];
    if let (Some(rate), Some(queue)) = (links.rate_bit_per_s, links.queue_bytes) {
        // A packet of many segments would wait for all of them, and be taken apart in the queue, where it cannot be followed.
        commands.push(format!("ip link set {HOST_INTERFACE} gso_max_segs 1"));
        let burst = Links::burst_bytes(rate);
        commands.push(format!(
            "tc qdisc add dev {HOST_INTERFACE} root tbf rate {rate}bit burst {burst}b limit {queue}b"
        ));
    }
    commands.push(format!("ip link set {HOST_INTERFACE} addrgenmode none up"));
    commands
}

/// Runs commands one after the other, in the namespace of this thread.
///
/// # Errors
/// A command failed; the message says what the machine lacks.
pub fn run(commands: &[String]) -> Result<(), Failure> {
    commands.iter().try_for_each(|command| run_one(command))
}

fn run_one(command: &str) -> Result<(), Failure> {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(program)
        .args(words)
        .env("PATH", format!("{path}:{SYSTEM_FOLDERS}"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            Failure::Machine(match error.kind() {
                ErrorKind::NotFound => format!(
                    "hosts of their own need the program `{program}`, which is not installed: apt-get install iproute2"
                ),
                _ => format!("cannot run `{program}`: {error}"),
            })
        })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Machine(refused(command, words.trim())))
}

/// Why a command failed, in a sentence.
fn refused(command: &str, words: &str) -> String {
    let lacks = |what: &str, module: &str, remedy: &str| {
        format!("this kernel lacks {what}: load it with `modprobe {module}`, or {remedy}")
    };
    // What iproute2 and the kernel say of a kind that they do not know.
    let is_unknown = words.contains("is unknown")
        || words.contains("Unknown device type")
        || words.contains("not supported");
    let words = words.lines().next().unwrap_or_default();
    let words = words.trim_start_matches("Error: ").trim_start_matches("RTNETLINK answers: ");
    match command {
        _ if !is_unknown => {
            format!(
                "cannot make the network of the hosts: `{command}` failed: {}",
                words.trim_end_matches('.')
            )
        }
        _ if command.contains(" netem ") => {
            lacks("netem, which delays packets", "sch_netem", "remove --link-delay")
        }
        _ if command.contains(" tbf ") => {
            lacks("TBF, which limits the rate of a link", "sch_tbf", "run without --link-rate")
        }
        _ if command.contains("type bridge") => lacks("bridges", "bridge", "run without --hosts"),
        _ => lacks("virtual Ethernet links", "veth", "run without --hosts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_link_without_a_rate_and_a_delay_has_no_queue_of_its_own() {
        let all = [
            host(Host::Sender.address(), &Links::default()),
            port(Host::Sender, "/x", &Links::default()),
        ];
        assert!(all.concat().iter().all(|command| command.starts_with("ip ")), "{all:?}");
    }

    #[test]
    fn the_rate_is_on_the_host_and_the_delay_on_the_switch() {
        let links = Links {
            rate_bit_per_s: Some(10_000_000),
            queue_bytes: Some(64 << 10),
            delay: Some(Duration::from_micros(1500)),
        };
        let host = host(Host::Broker.address(), &links);
        assert!(host.contains(&"ip addr add 10.77.0.3/24 dev eth0".to_owned()), "{host:?}");
        let rate = "tc qdisc add dev eth0 root tbf rate 10000000bit burst 3028b limit 65536b";
        assert!(host.contains(&rate.to_owned()), "{host:?}");
        let port = port(Host::Broker, "/proc/7/fd/9", &links);
        assert_eq!(port[0], "ip link add broker type veth peer name eth0 netns /proc/7/fd/9");
        assert_eq!(port[2], "tc qdisc add dev broker root netem delay 1500us limit 100000");
    }

    #[test]
    fn what_the_kernel_lacks_is_named() {
        let netem = refused(
            "tc qdisc add dev broker root netem delay 5us",
            "Error: Specified qdisc kind is unknown.",
        );
        assert!(
            netem.starts_with("this kernel lacks netem") && netem.contains("--link-delay"),
            "{netem}"
        );
        let tbf = refused(
            "tc qdisc add dev eth0 root tbf rate 1bit",
            "Error: Specified qdisc kind is unknown.",
        );
        assert!(tbf.contains("sch_tbf"), "{tbf}");
        let bridge = refused("ip link add switch type bridge", "Error: Unknown device type.");
        assert!(bridge.contains("modprobe bridge"), "{bridge}");
        let other = refused("ip link set lo up", "RTNETLINK answers: Operation not permitted\nx");
        assert_eq!(
            other,
            "cannot make the network of the hosts: `ip link set lo up` failed: Operation not permitted"
        );
    }
}
