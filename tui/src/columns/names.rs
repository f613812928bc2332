//! The names of rows, in as many columns as there are, and which rows are shown.

use crate::{text, verdicts};
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::Group;

/// The row's full name: middleware, broker and endpoint, as in `mqtt mosquitto 127.0.0.1:1883`.
pub fn name(group: &Group) -> String {
    let endpoint = group.endpoint.map(|endpoint| endpoint.to_string());
    let broker = group.broker.as_deref();
    let parts = [Some(group.middleware.as_str()), broker, endpoint.as_deref()];
    text::clean(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// True if a row has a text, in any case of its letters, in its name, its processes or its verdict. Any row has the empty text.
pub fn matches(group: &Group, text: &str) -> bool {
    let wanted = text.to_lowercase();
    let has = |of: &str| of.to_lowercase().contains(&wanted);
    wanted.is_empty()
        || has(&name(group))
        || has(&verdicts::cell(&group.why))
        || group.processes.iter().any(|process| {
            let place = process.place.container();
            has(&process.comm)
                || has(&process.role)
                || place.is_some_and(|found| has(&found.label()))
                || process.namespace.as_ref().is_some_and(|one| has(&one.label()))
        })
}

/// The row's name, with a mark before it if the row is reduced or unusable.
pub fn marked_name(group: &Group, reliability: Reliability, room: usize) -> String {
    let mark = reliability.mark();
    let name = short_name(group, room.saturating_sub(text::width(mark)));
    format!("{mark}{name}")
}

/// True if a row is shown. A row without messages and processes is hidden if another row has messages of the same middleware
/// and broker: it is a probe connection (a client looks whether a server is up). Its bytes are in the report.
pub fn is_shown(groups: &[Group], index: usize) -> bool {
    let Some(group) = groups.get(index) else { return true };
    let is_empty = |group: &Group| group.messages.sent + group.messages.delivered == 0;
    let same =
        |other: &&Group| (&other.middleware, &other.broker) == (&group.middleware, &group.broker);
    !is_empty(group) || !group.processes.is_empty() || groups.iter().filter(same).all(is_empty)
}

/// As much of [`name`] as fits into `columns`: it leaves out first the address, then the port, and then cuts the text.
pub fn short_name(group: &Group, columns: usize) -> String {
    let full = name(group);
    if text::width(&full) <= columns {
        return full;
    }
    let bare = name(&Group {
        middleware: group.middleware.clone(),
        broker: group.broker.clone(),
        ..Group::default()
    });
    let port = group.endpoint.map(|endpoint| format!("{bare} :{}", endpoint.port()));
    port.filter(|name| text::width(name) <= columns)
        .unwrap_or_else(|| text::truncate(&bare, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_nobodys_without_messages_is_shown_only_if_there_is_no_other() {
        let group = |middleware: &str| Group { middleware: middleware.into(), ..Group::default() };
        let mut groups = vec![group("nats"), group("nats"), group("dds")];
        let shown = |groups: &[Group]| (0..3).map(|at| is_shown(groups, at)).collect::<Vec<_>>();
        assert_eq!(shown(&groups), [true, true, true]);
        groups[1].messages.sent = 1;
        assert_eq!(shown(&groups), [false, true, true]);
        groups[0].processes.push(wirelap_correlate::Process::default());
        assert_eq!(shown(&groups), [true, true, true]);
    }

    #[test]
    fn a_long_name_loses_its_address_first() {
        let endpoint = Some("127.0.0.1:1883".parse().unwrap());
        let broker = Some("mosquitto".to_owned());
        let group = Group { broker, endpoint, middleware: "mqtt".into(), ..Group::default() };
        let names = [29, 28, 19, 10].map(|columns| short_name(&group, columns));
        let expected = [
            "mqtt mosquitto 127.0.0.1:1883",
            "mqtt mosquitto :1883",
            "mqtt mosquitto",
            "mqtt mosq…",
        ];
        assert_eq!(names, expected);
    }
}
