//! The names of rows and processes, as OpenTelemetry calls them.

use crate::proto::{Attribute, Resource};
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_correlate::snapshot::SERVER_ROLE;
use wirelap_correlate::{Group, Snapshot};
use wirelap_events::{GroupId, Pid, TopicId};

/// The most bytes of a name.
const NAME_BYTES: usize = 256;

/// The service of a process whose name is not known, by OpenTelemetry's conventions for resources.
const UNKNOWN_SERVICE: &str = "unknown_service";

/// The messaging system that OpenTelemetry has a name for, or else the protocol's, by the name of a row.
pub fn system<'a>(middleware: &'a str, broker: Option<&str>) -> &'a str {
    // Rows of workloads are called by the way in which they use a protocol.
    const FAMILIES: [&str; 4] = ["kafka", "opcua", "zenoh", "zeromq"];
    if middleware == "amqp" && broker.is_some_and(|broker| broker.starts_with("rabbitmq")) {
        return "rabbitmq";
    }
    FAMILIES.into_iter().find(|family| middleware.starts_with(family)).unwrap_or(middleware)
}

/// A text that is short enough for a name.
pub fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME_BYTES)).unwrap_or_default()
}

/// The attributes that tell a row.
pub fn row_attributes(group: &Group) -> Vec<Attribute> {
    let broker = group.broker.as_deref();
    let row = broker.map_or_else(
        || group.middleware.clone(),
        |broker| format!("{}/{broker}", group.middleware),
    );
    let mut all = vec![
        Attribute::new("messaging.system", system(&group.middleware, broker)),
        Attribute::new("wirelap.row", row.as_str()),
    ];
    if let Some(server) = group.endpoint {
        all.extend(address("server", server));
    }
    all
}

/// The attribute with the number of a row that an earlier one equals.
pub const ROW_ID: &str = "wirelap.row.id";

/// Gives a number to those rows whose attributes an earlier row has: no two rows are one series.
pub fn tell_apart<'a>(rows: impl Iterator<Item = (GroupId, &'a mut Vec<Attribute>)>) {
    let mut seen: Vec<&[Attribute]> = Vec::new();
    for (id, attributes) in rows {
        if seen.contains(&attributes.as_slice()) {
            attributes.push(Attribute::new(ROW_ID, u64::from(id.0)));
        } else {
            seen.push(attributes);
        }
    }
}

/// The attributes of an address, under this name.
pub fn address(name: &str, address: SocketAddr) -> [Attribute; 2] {
    [
        Attribute::new(&format!("{name}.address"), address.ip().to_string().as_str()),
        Attribute::new(&format!("{name}.port"), u64::from(address.port())),
    ]
}

/// A process that messages go through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServiceProcess {
    name: String,
    pid: Pid,
    host: String,
}

impl ServiceProcess {
    /// wirelap itself, on this host.
    pub fn wirelap(host: &str) -> ServiceProcess {
        ServiceProcess {
            name: "wirelap".into(),
            pid: Pid(std::process::id()),
            host: host.to_owned(),
        }
    }

    /// The resource that its spans belong to.
    pub fn resource(&self) -> Resource {
        let mut attributes = vec![Attribute::new("service.name", self.name.as_str())];
        if self.pid != Pid(0) {
            attributes.push(Attribute::new("process.pid", u64::from(self.pid.number())));
        }
        if !self.host.is_empty() {
            attributes.push(Attribute::new("host.name", self.host.as_str()));
        }
        Resource { attributes }
    }
}

/// The names that a batch of messages needs.
#[derive(Debug)]
pub struct BatchNames<'a> {
    /// The rows and processes.
    pub snapshot: &'a Snapshot,
    /// The topics whose names are known.
    pub topics: &'a FxHashMap<TopicId, Box<str>>,
    /// The name of this host.
    pub host: &'a str,
    /// The nanoseconds by which the clock of the day is ahead of that of events.
    pub wall_offset: i64,
}

impl BatchNames<'_> {
    /// A row, also by the number of a part of it.
    pub fn row(&self, id: GroupId) -> Option<&Group> {
        let united = self.snapshot.united.iter().find(|(part, _)| *part == id);
        let id = united.map_or(id, |&(_, whole)| whole);
        self.snapshot.groups.iter().find(|group| group.id == id)
    }

    /// A process, and whether it is a broker of the row.
    pub fn process(&self, row: Option<&Group>, pid: Option<Pid>) -> (ServiceProcess, bool) {
        let pid = pid.unwrap_or_default();
        let known = row.into_iter().flat_map(|row| &row.processes).find(|one| one.pid == pid);
        let name = known.map_or(UNKNOWN_SERVICE, |process| shortened(&process.comm)).to_owned();
        let elsewhere = self.snapshot.hosts.iter().find(|host| host.number == pid.host());
        let host = match (pid.host(), elsewhere) {
            (1, _) if pid != Pid(0) => self.host,
            (_, Some(state)) if pid != Pid(0) => &state.name,
            _ => "",
        };
        let is_broker = known.is_some_and(|process| process.role == SERVER_ROLE);
        (ServiceProcess { name, pid, host: host.to_owned() }, is_broker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_called_as_others_call_them() {
        let names = [
            ("kafka", None, "kafka"),
            ("amqp", Some("rabbitmq"), "rabbitmq"),
            ("amqp", Some("artemis"), "amqp"),
            ("zenoh-p2p", None, "zenoh"),
            ("zeromq-rust", None, "zeromq"),
            ("mqtt", Some("mosquitto"), "mqtt"),
            ("xrce-dds", None, "xrce-dds"),
        ];
        for (middleware, broker, wanted) in names {
            assert_eq!(system(middleware, broker), wanted);
        }
    }

    #[test]
    fn rows_that_have_the_same_name_and_address_are_told_apart() {
        let mut all = ["a", "b", "a", "a"].map(|name| vec![Attribute::new("wirelap.row", name)]);
        tell_apart((7..).map(GroupId).zip(&mut all));
        let id = |id: u64| Attribute::new(ROW_ID, id);
        assert_eq!(all.each_ref().map(Vec::len), [1, 1, 2, 2]);
        assert_eq!((&all[2][1], &all[3][1]), (&id(9), &id(10)));
    }

    #[test]
    fn names_are_cut_between_letters() {
        assert_eq!(shortened(&"ä".repeat(300)), "ä".repeat(128));
    }
}
