//! The notes of where processes run.

use serde_json::json;
use wirelap_correlate::{CgroupRead, ContainerNames};
use wirelap_events::{Comm, Nanos, NetNs, Pid};
use wirelap_hosts::merged::{HOST_LOST, LISTENING};
use wirelap_recording::{FileRecorder, KeptEvents, Note};

/// Receivers of the notes of where processes run, beside the correlator: a recording, and what is kept in memory.
pub struct PlaceNotes<'a> {
    pub recorder: Option<&'a mut FileRecorder>,
    pub kept: Option<&'a mut KeptEvents>,
}

/// Subject of the note of what a process runs in.
pub const PROCESS: &str = "process";

/// Subject of the note of what a process is called.
pub const NAME: &str = "name";

/// Subject of the note of the network namespace that wirelap is in.
pub const NAMESPACE: &str = "namespace";

/// The most processes whose notes each file of a recording repeats; those of others are in one file.
const REPEATED_PROCESSES: usize = 1_024;

/// Writes the note of what a process runs in, the `number`th of such notes.
pub fn note_process(
    notes: &mut PlaceNotes<'_>,
    (pid, read, names): (Pid, &CgroupRead, &ContainerNames),
    number: usize,
) {
    note_place(notes, PROCESS, &process_text(pid, read, names), number <= REPEATED_PROCESSES);
}

/// The text of the note of what a process runs in.
pub fn process_text(pid: Pid, read: &CgroupRead, names: &ContainerNames) -> String {
    let cgroup = match read {
        CgroupRead::Text(text) => Some(text),
        CgroupRead::Ended | CgroupRead::Refused => None,
    };
    let why = match read {
        CgroupRead::Ended => Some("ended"),
        CgroupRead::Refused => Some("refused"),
        CgroupRead::Text(_) => None,
    };
    let ContainerNames { container, pod, namespace, network } = names;
    let text = json!({
        "pid": pid.0, "cgroup": cgroup, "why": why, "name": container, "pod": pod, "namespace": namespace,
        "network": network,
    });
    text.to_string()
}

/// Writes the note of what a process is called, the `number`th of such notes.
pub fn note_name(notes: &mut PlaceNotes<'_>, pid: Pid, comm: Comm, number: usize) {
    note_place(notes, NAME, &name_text(pid, comm), number <= REPEATED_PROCESSES);
}

/// The text of the note of what a process is called.
pub fn name_text(pid: Pid, comm: Comm) -> String {
    json!({ "pid": pid.0, "name": comm.as_str() }).to_string()
}

/// Writes the note of the network namespace that wirelap is in.
pub fn note_own_namespace(notes: &mut PlaceNotes<'_>, own: NetNs) {
    note_place(notes, NAMESPACE, &own.0.to_string(), true);
}

/// Writes the note that nothing is seen any more of a host.
pub fn note_lost_host(notes: &mut PlaceNotes<'_>, host: u8, at: Nanos) {
    note_place(notes, HOST_LOST, &json!({ "host": host, "at": at.0 }).to_string(), false);
}

/// Writes the note of the ports that programs on a host listen on.
pub fn note_listening(notes: &mut PlaceNotes<'_>, ports: &[u16]) {
    note_place(notes, LISTENING, &json!(ports).to_string(), false);
}

fn note_place(notes: &mut PlaceNotes<'_>, subject: &str, text: &str, is_repeated: bool) {
    let note = Note { subject, text };
    if let Some(recorder) = notes.recorder.as_deref_mut() {
        if is_repeated {
            recorder.standing_note(note);
        } else {
            recorder.note(note);
        }
    }
    if let Some(kept) = notes.kept.as_deref_mut() {
        kept.note(note, is_repeated);
    }
}
