//! Facts in the notes of a recording that the correlator must know.

use crate::place_notes::{self, PlaceNotes};
use serde_json::Value;
use wirelap_correlate::{CgroupRead, ContainerNames, Correlator, Label};
use wirelap_events::{Comm, Nanos, NetNs, Pid};
use wirelap_hosts::merged::{HOST_LOST, LISTENING};
use wirelap_recording::Note;
use wirelap_recording::hosts::namespace_on;

/// Fact in a note that the correlator must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotedFact {
    /// A row is named.
    Label(Label),
    /// The cgroup and container that a process runs in.
    Process(Pid, CgroupRead, ContainerNames),
    /// The name of a process that told none.
    Name(Pid, Comm),
    /// The network namespace that wirelap was in.
    OwnNamespace(NetNs),
    /// Programs listen on these TCP ports.
    Listening(Vec<u16>),
    /// Nothing is seen any more of a host, from a time on.
    HostLost(u8, Nanos),
}

impl NotedFact {
    /// Reads the fact in a note; `None` if the note has none, or is not as it was written.
    pub fn read(note: Note<'_>) -> Option<NotedFact> {
        let read: fn(&Value) -> Option<NotedFact> = match note.subject {
            "label" => |text| label(text).map(NotedFact::Label),
            "process" => process,
            "name" => name,
            "namespace" => own_namespace,
            HOST_LOST => host_lost,
            LISTENING => listening,
            _ => return None,
        };
        read(&serde_json::from_str(note.text).ok()?)
    }

    /// Writes the fact into a recording, and into what is kept.
    pub fn write(&self, notes: &mut PlaceNotes<'_>) {
        match self {
            NotedFact::Process(pid, read, names) => {
                place_notes::note_process(notes, (*pid, read, names), 0);
            }
            NotedFact::Name(pid, comm) => place_notes::note_name(notes, *pid, *comm, 0),
            NotedFact::OwnNamespace(own) => place_notes::note_own_namespace(notes, *own),
            NotedFact::HostLost(host, at) => place_notes::note_lost_host(notes, *host, *at),
            NotedFact::Listening(ports) => place_notes::note_listening(notes, ports),
            // A label comes from the user of this session, who has written it already.
            NotedFact::Label(_) => {}
        }
    }

    /// Tells the correlator.
    pub fn tell(self, correlator: &mut Correlator) {
        match self {
            NotedFact::Label(label) => correlator.add_label(label),
            NotedFact::Process(pid, read, names) => {
                correlator.locate(pid, &read, &names);
            }
            NotedFact::Name(pid, comm) => correlator.call(pid, comm),
            NotedFact::OwnNamespace(own) => correlator.note_own_namespace(own),
            NotedFact::HostLost(host, at) => correlator.lose_host(at, host),
            NotedFact::Listening(ports) => correlator.learn_listening(&ports),
        }
    }

    /// The fact with the numbers that the `number`th host has where several are put together.
    #[must_use]
    pub fn on_host(self, number: u8) -> NotedFact {
        match self {
            NotedFact::Label(mut label) => {
                label.pids.iter_mut().for_each(|pid| *pid = pid.on_host(number));
                NotedFact::Label(label)
            }
            NotedFact::Process(pid, read, names) => {
                NotedFact::Process(pid.on_host(number), read, names)
            }
            NotedFact::Name(pid, comm) => NotedFact::Name(pid.on_host(number), comm),
            NotedFact::OwnNamespace(own) => NotedFact::OwnNamespace(namespace_on(number, own)),
            NotedFact::HostLost(..) | NotedFact::Listening(_) => self,
        }
    }
}

fn label(text: &Value) -> Option<Label> {
    let numbers =
        |name: &str| text[name].as_array().into_iter().flatten().filter_map(Value::as_u64);
    Some(Label {
        name: text["name"].as_str()?.to_owned(),
        broker: text["broker"].as_str().map(str::to_owned),
        ports: numbers("ports").filter_map(|port| u16::try_from(port).ok()).collect(),
        pids: numbers("pids").filter_map(|pid| u32::try_from(pid).ok()).map(Pid).collect(),
    })
}

fn pid(text: &Value) -> Option<Pid> {
    u32::try_from(text["pid"].as_u64()?).ok().map(Pid)
}

fn name(text: &Value) -> Option<NotedFact> {
    Some(NotedFact::Name(pid(text)?, Comm::from_name(text["name"].as_str()?)))
}

fn process(text: &Value) -> Option<NotedFact> {
    let pid = pid(text)?;
    let read = match (text["cgroup"].as_str(), text["why"].as_str()) {
        (Some(cgroup), _) => CgroupRead::Text(cgroup.to_owned()),
        (None, Some("refused")) => CgroupRead::Refused,
        (None, _) => CgroupRead::Ended,
    };
    let name = |name: &str| text[name].as_str().map(str::to_owned);
    let names = ContainerNames {
        container: name("name"),
        pod: name("pod"),
        namespace: name("namespace"),
        network: name("network"),
    };
    Some(NotedFact::Process(pid, read, names))
}

fn own_namespace(number: &Value) -> Option<NotedFact> {
    let own = u32::try_from(number.as_u64()?).ok()?;
    Some(NotedFact::OwnNamespace(NetNs(own)))
}

fn listening(text: &Value) -> Option<NotedFact> {
    let ports = text.as_array()?.iter().filter_map(Value::as_u64);
    Some(NotedFact::Listening(ports.filter_map(|port| u16::try_from(port).ok()).collect()))
}

fn host_lost(text: &Value) -> Option<NotedFact> {
    let host = u8::try_from(text["host"].as_u64()?).ok()?;
    Some(NotedFact::HostLost(host, Nanos(text["at"].as_u64()?)))
}
