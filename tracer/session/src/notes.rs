//! The notes of a recording: what is written into it in addition to events, and read from it again.
//!
//! The subjects of notes: `environment`, `payload`, `decode` and `view` (of packets alone) at the beginning of each file; `label` where a row was
//! named; `process`, what a process runs in, `name`, what one is called that told no name, and `namespace`, the network namespace of wirelap; `host lost`, since when a host is not seen any more; `end`, the time of the last snapshot, and the `report part`s at the end; `dump`, why a flight recorder wrote the file.

use crate::annotate;
use crate::environment;
pub use crate::facts::NotedFact;
use crate::machine;
use crate::settings::KeepSettings;
use serde_json::json;
use std::fs;
use std::io;
use std::path::Path;
use wirelap_correlate::Label;
use wirelap_events::{IfIndex, Nanos, NetNs};
use wirelap_process::Failure;
use wirelap_process::outputs::{self, Outputs};
use wirelap_process::remedy;
use wirelap_recording::{
    Encoder, EncoderSettings, FileRecorder, KeptEvents, Note, Rotation, SectionHeader, WriteFailed,
    Written,
};
use wirelap_report::{Environment, RunReport};

/// Creates a recording and writes the notes of its beginning.
///
/// # Errors
/// The file cannot be created.
pub fn create(
    outputs: &Outputs,
    path: &Path,
    settings: EncoderSettings,
    rotation: Rotation,
    environment: &Environment,
    decode: &[(u16, String)],
) -> Result<FileRecorder, Failure> {
    let encoder = Encoder::new(section(environment), settings, Box::new(device_name));
    let store = Box::new(outputs.clone());
    let mut recorder = FileRecorder::create_in(store, path, encoder, rotation)
        .map_err(|failed| outputs::failure(&failed.path, &failed.error))?;
    recorder.hold(annotate::LIVE);
    note_beginning(settings, environment, decode, |note| recorder.standing_note(note));
    Ok(recorder)
}

/// Hands out the notes at the beginning of each file.
fn note_beginning(
    settings: EncoderSettings,
    environment: &Environment,
    decode: &[(u16, String)],
    mut put: impl FnMut(Note<'_>),
) {
    let payload = if settings.payload { PAYLOAD_KEPT } else { "cut" };
    put(Note { subject: "payload", text: payload });
    let environment = serde_json::to_string(environment).unwrap_or_default();
    put(Note { subject: "environment", text: &environment });
    put(Note { subject: "decode", text: &json!(decode).to_string() });
}

/// Hands out the note that the events are packets alone.
pub fn note_packets_only(mut put: impl FnMut(Note<'_>)) {
    put(Note { subject: "view", text: PACKETS_ONLY });
}

/// The text of the note `view` in a recording of packets alone.
const PACKETS_ONLY: &str = "packets";

/// Events in memory.
pub fn kept(keep: KeepSettings, decode: &[(u16, String)], packets_only: bool) -> KeptEvents {
    let environment = environment::describe(0);
    let mut encoder = Encoder::new(section(&environment), keep.written, Box::new(device_name));
    note_beginning(keep.written, &environment, decode, |note| encoder.standing_note(note));
    if packets_only {
        note_packets_only(|note| encoder.standing_note(note));
    }
    KeptEvents::new(encoder, keep.limits)
}

/// The last section of a file that a flight recorder writes of what is kept: why it does, and the report up to a time.
pub fn end_of_dump(why: &str, at: Nanos, report: &RunReport) -> Vec<u8> {
    let section = section(&report.environment);
    let mut encoder = Encoder::new(section, EncoderSettings::default(), Box::new(device_name));
    encoder.note(Note { subject: "dump", text: why });
    encoder.note(Note { subject: "end", text: &at.0.to_string() });
    note_report(report, |note| encoder.note(note));
    encoder.complete();
    encoder.bytes().to_vec()
}

/// The text of the note `payload` in a recording that contains the captured payload.
const PAYLOAD_KEPT: &str = "kept";

/// Writes the note that a row was named.
pub fn note_label(recorder: &mut FileRecorder, label: &Label) {
    let pids: Vec<u32> = label.pids.iter().map(|pid| pid.0).collect();
    let (name, broker, ports) = (&label.name, &label.broker, &label.ports);
    let text = json!({ "name": name, "broker": broker, "ports": ports, "pids": pids });
    recorder.standing_note(Note { subject: "label", text: &text.to_string() });
}

/// True if a note belongs to the end of a recording.
pub fn is_last(note: Note<'_>) -> bool {
    matches!(note.subject, "dump" | "end" | "report" | "report part")
}

/// True if a note tells where processes run, of processes that may be in no earlier file.
pub fn is_of_place(note: Note<'_>) -> bool {
    matches!(note.subject, "process" | "namespace")
}

/// Writes the note of the last snapshot's time.
pub fn note_end(recorder: &mut FileRecorder, at: Nanos) {
    recorder.note(Note { subject: "end", text: &at.0.to_string() });
}

/// Writes the report as notes and closes a recording.
///
/// # Errors
/// Not everything could be written.
pub fn close(mut recorder: FileRecorder, report: &RunReport) -> Result<Written, Failure> {
    note_report(report, |note| recorder.note(note));
    recorder.close().map_err(|failed| unwritten(&failed))
}

/// The failure of a command because its recording could not be written.
pub fn unwritten(failed: &WriteFailed) -> Failure {
    Failure::Measured(unwritten_text(failed))
}

/// Hands out the report as notes that each fit into one block of the file. An empty note marks the end.
fn note_report(report: &RunReport, mut put: impl FnMut(Note<'_>)) {
    let text = serde_json::to_string(report).unwrap_or_default();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (part, more) = rest.split_at(rest.floor_char_boundary(REPORT_PART_BYTES));
        put(Note { subject: "report part", text: part });
        rest = more;
    }
    put(Note { subject: "report part", text: "" });
}

/// The most bytes of a report in one note.
const REPORT_PART_BYTES: usize = 30_000;

/// The longest report that is read, in bytes.
const MAX_REPORT_BYTES: usize = 64 << 20;

/// The message that a recording could not be written further, with the remedy.
pub fn unwritten_text(failed: &WriteFailed) -> String {
    let remedy = match failed.error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or let `wirelap record` keep a limited number of files (--rotate-size, --files)"
                .into()
        }
        _ => remedy::of_file(&failed.error),
    };
    format!("{failed}: the recording up to then is readable; {remedy}")
}

fn section(environment: &Environment) -> SectionHeader {
    SectionHeader {
        hardware: environment.cpu_model.clone(),
        os: format!("Linux {}", environment.kernel),
        application: format!("wirelap {}", environment.wirelap_version),
        host: environment.hostname.clone().unwrap_or_default(),
        wall: machine::wall_offset(),
        kernel_run: machine::kernel_run(),
    }
}

/// The name of a device in the network namespace of this process; `None` for devices of other namespaces.
fn device_name(netns: NetNs, device: IfIndex) -> Option<String> {
    let own = fs::read_link("/proc/self/ns/net").ok()?;
    let own = own.to_str()?.trim_start_matches("net:[").trim_end_matches(']');
    if own.parse() != Ok(netns.0) {
        return None;
    }
    let devices = fs::read_dir("/sys/class/net").ok()?.flatten();
    devices.into_iter().find_map(|entry| {
        let index = fs::read_to_string(entry.path().join("ifindex")).ok()?;
        (index.trim().parse() == Ok(device.0)).then(|| entry.file_name().into_string().ok())?
    })
}

/// The contents of a recording's notes.
#[derive(Debug, Default)]
pub struct RecordedNotes {
    /// The recording has no payload, so messages cannot be found in it.
    pub cut: bool,
    /// The events are packets alone, without sockets and calls.
    pub packets_only: bool,
    /// The machine that recorded.
    pub environment: Option<Environment>,
    /// The protocols that the user named, by port.
    pub decode: Vec<(u16, String)>,
    /// The time of the last snapshot.
    pub end: Option<Nanos>,
    /// The report of the recorded session.
    pub report: Option<RunReport>,
    /// Why a flight recorder wrote the file; `None` if none did.
    pub dump: Option<String>,
    /// The text of the report, as far as its parts were read.
    parts: String,
}

impl RecordedNotes {
    /// Reads a note. Returns what the correlator must know of it.
    pub fn take(&mut self, note: Note<'_>) -> Option<NotedFact> {
        match note.subject {
            "payload" => self.cut = note.text != PAYLOAD_KEPT,
            "view" => self.packets_only = note.text == PACKETS_ONLY,
            "environment" => self.environment = serde_json::from_str(note.text).ok(),
            "decode" => self.decode = serde_json::from_str(note.text).unwrap_or_default(),
            "dump" => self.dump = Some(note.text.to_owned()),
            "end" => self.end = note.text.parse().ok().map(Nanos),
            "report part" if note.text.is_empty() => {
                self.report = serde_json::from_str(&self.parts).ok();
                self.parts = String::new();
            }
            "report part" if self.parts.len() < MAX_REPORT_BYTES => self.parts.push_str(note.text),
            // The first versions of the format have the report in one note.
            "report" => self.report = serde_json::from_str(note.text).ok(),
            _ => return NotedFact::read(note),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place_notes::{PlaceNotes, note_name, note_own_namespace, note_process};
    use wirelap_correlate::{CgroupRead, ContainerNames};
    use wirelap_events::{Comm, Pid};
    use wirelap_report::from_snapshot::run_report;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcapng");
        let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
        let decode = [(1234, "mqtt".to_owned())];
        let environment = Environment { kernel: "6.1".into(), ..Environment::default() };
        let outputs = Outputs::new(false, None);
        outputs.allow(&path, false).unwrap();
        let rotation = Rotation::default();
        let mut recorder =
            create(&outputs, &path, settings, rotation, &environment, &decode).unwrap();
        note_packets_only(|note| recorder.standing_note(note));
        let label = Label {
            name: "mqtt".into(),
            broker: Some("mosquitto".into()),
            ports: vec![1883],
            pids: vec![Pid(7)],
        };
        note_label(&mut recorder, &label);
        let cgroup = CgroupRead::Text("0::/system.slice/a.service\n".into());
        let names = ContainerNames { network: Some("blue".into()), ..ContainerNames::default() };
        let mut places = PlaceNotes { recorder: Some(&mut recorder), kept: None };
        note_process(&mut places, (Pid(8), &cgroup, &names), 1);
        note_process(&mut places, (Pid(9), &CgroupRead::Refused, &names), 9_999);
        note_name(&mut places, Pid(8), Comm::from_name("server"), 1);
        note_own_namespace(&mut places, NetNs(5));
        note_end(&mut recorder, Nanos(99));
        let report = RunReport {
            notes: vec!["a note".into()],
            ..run_report(&wirelap_correlate::Snapshot::default())
        };
        close(recorder, &report).unwrap();

        let file = wirelap_recording::open(&path).unwrap();
        let mut recording = wirelap_recording::Recording::new(file).unwrap();
        let mut told = RecordedNotes::default();
        let mut facts = Vec::new();
        while let Some(entry) = recording.next() {
            let wirelap_recording::Entry::Note(note) = entry else { panic!("{entry:?}") };
            facts.extend(told.take(note));
        }
        assert!(recording.problems().is_empty());
        assert!(told.packets_only && !RecordedNotes::default().packets_only);
        assert_eq!(
            facts,
            [
                NotedFact::Label(label),
                NotedFact::Process(Pid(8), cgroup, names.clone()),
                NotedFact::Process(Pid(9), CgroupRead::Refused, names),
                NotedFact::Name(Pid(8), Comm::from_name("server")),
                NotedFact::OwnNamespace(NetNs(5)),
            ]
        );
        assert_eq!((told.cut, told.end, &told.decode[..]), (false, Some(Nanos(99)), &decode[..]));
        assert_eq!(told.environment, Some(environment));
        assert_eq!(told.report, Some(report));
    }
}
