//! Files that are written one after the other, and files that cannot be written.

use crate::packets::told;
use crate::round_trip::{Held, encoder, read};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;
use wirelap_events::{
    Body, Comm, Cpu, Event, Nanos, NetNs, PacketHook, Socket, SocketId, SocketOrigin, TaskId,
    Transport,
};
use wirelap_recording::{
    EncoderSettings, FileRecorder, Note, PendingLimits, Rotation, Store, numbered, open,
    uncompressed,
};

const WHOLE: EncoderSettings =
    EncoderSettings { shown: wirelap_recording::ShownSightings::Once, payload: true };

fn socket(id: u64) -> Event<'static> {
    let local = "127.0.0.1:1883".parse().unwrap();
    let socket = Socket {
        id: SocketId(id),
        netns: NetNs(1),
        transport: Transport::Tcp,
        local,
        remote: None,
        task: TaskId::default(),
        comm: Comm::from_name("broker"),
        origin: SocketOrigin::Existing,
        tx_next: None,
        rx_next: None,
        is_subflow: false,
    };
    Event { at: Nanos(id), cpu: Cpu(0), body: Body::Socket(socket) }
}

fn held(path: &Path) -> Vec<Held> {
    let (held, problems, _) = read(&fs::read(path).unwrap());
    assert!(problems.is_empty(), "{problems:?}");
    held
}

#[test]
fn each_file_of_a_ring_can_be_read_alone_and_all_of_them_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let rotation = Rotation { bytes: Some(1 << 20), time: None, files: Some(3) };
    let mut recorder =
        FileRecorder::create(&folder.path().join("ring.pcapng"), encoder(WHOLE), rotation).unwrap();
    recorder.standing_note(Note { subject: "a subject", text: "a text" });
    recorder.event(&socket(1));
    recorder.event(&socket(2));
    recorder.event(&Event { body: Body::Closed(SocketId(2)), ..socket(2) });
    let payload = vec![7; 1000];
    let packets = 8_000u32;
    for n in 0..packets {
        recorder.event(&told(PacketHook::Xmit, 1_000 + u64::from(n), n * 1000, &payload).event());
    }
    let written = recorder.close().unwrap();
    let names: Vec<_> = written.files.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names.len(), 3);
    let there = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(there, 3, "the older ones are gone");
    let mut times = Vec::new();
    for path in &written.files {
        let all = held(path);
        assert_eq!(all[0], Held::Note("a subject".into(), "a text".into()));
        let Held::Known(known) = &all[1] else { panic!("{:?}", all[1]) };
        assert_eq!(known.event, socket(1));
        times.extend(all[2..].iter().map(|held| match held {
            Held::Event(told) => told.event.at.0,
            other => panic!("{other:?}"),
        }));
    }
    // None is missing between the files, and none is there twice.
    let last = 1_000 + u64::from(packets) - 1;
    let first = times[0];
    assert!(first > 1_000);
    assert_eq!(times, (first..=last).collect::<Vec<_>>());
}

/// Files of an earlier start.
#[derive(Debug)]
struct Continued(Vec<u64>);

impl Store for Continued {
    fn create(&mut self, path: &Path) -> std::io::Result<fs::File> {
        fs::File::create_new(path)
    }

    fn remove(&mut self, path: &Path) {
        fs::remove_file(path).unwrap();
    }

    fn continued(&self, _: &Path) -> Vec<u64> {
        self.0.clone()
    }
}

#[test]
fn a_ring_goes_on_after_the_files_of_an_earlier_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.pcapng");
    let begin = |files| {
        for number in [3, 4, 7] {
            fs::write(numbered(&path, number), "earlier").unwrap();
        }
        let rotation = Rotation { bytes: Some(1 << 20), time: None, files: Some(files) };
        let store = Box::new(Continued(vec![3, 4, 7]));
        FileRecorder::create_in(store, &path, encoder(WHOLE), rotation).unwrap()
    };
    let there = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let at = |numbers: &[u64]| numbers.iter().map(|&n| numbered(&path, n)).collect::<Vec<_>>();
    let written = begin(3).close().unwrap();
    assert_eq!(written.files, at(&[8]));
    assert_eq!(there(), at(&[4, 7, 8]));
    fs::remove_file(numbered(&path, 8)).unwrap();
    // What could not begin takes nothing with it but its own file.
    begin(9).discard();
    assert_eq!(there(), at(&[3, 4, 7]));
}

/// Whatever ended the program's work: an error on the way to the end, a panic.
#[test]
fn what_is_kept_back_is_written_by_a_recorder_that_nobody_closes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    let mut recorder = FileRecorder::create(&path, encoder(WHOLE), Rotation::default()).unwrap();
    recorder.hold(PendingLimits { time: Nanos::from_millis(60_000), bytes: 1 << 20 });
    recorder.event(&socket(1));
    let payload = vec![7; 1000];
    for n in 0..10u32 {
        recorder.event(&told(PacketHook::Xmit, 1_000 + u64::from(n), n * 1000, &payload).event());
    }
    drop(recorder);
    let packets = held(&path).into_iter().filter(|held| match held {
        Held::Event(told) => told.event.at >= Nanos(1_000),
        _ => false,
    });
    assert_eq!(packets.count(), 10);
}

#[test]
fn a_file_is_full_after_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let rotation = Rotation { bytes: None, time: Some(Nanos::from_millis(1000)), files: None };
    let mut recorder =
        FileRecorder::create(&folder.path().join("a.pcapng"), encoder(WHOLE), rotation).unwrap();
    for n in 0..35 {
        recorder.event(&told(PacketHook::Rx, n * 100_000_000, 0, &[]).event());
    }
    let written = recorder.close().unwrap();
    let counts: Vec<_> = written.files.iter().map(|path| held(path).len()).collect();
    assert_eq!(counts, [11, 11, 11, 2]);
}

#[test]
fn what_cannot_be_written_is_told_at_once() {
    let failed = FileRecorder::create(Path::new("/dev/full"), encoder(WHOLE), Rotation::default());
    let failed = failed.unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::StorageFull);
    assert!(
        failed.to_string().starts_with("cannot write to /dev/full after 0 B: No space left"),
        "{failed}"
    );
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(FileRecorder::create(folder.path(), encoder(WHOLE), Rotation::default()).is_err());
    assert!(open(folder.path()).is_err());
}

#[test]
fn compressed_bytes_are_read_and_cut_ones_as_far_as_they_go() {
    // `printf 'hello\n' | gzip -n`, and twice the same of zstd.
    let gzip = [
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0xE7, 2, 0, 0x20, 0x30,
        0x3A, 0x36, 6, 0, 0, 0,
    ];
    let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x20, 6, 0x31, 0, 0, b'h', b'e', b'l', b'l', b'o', b'\n'];
    let text = |bytes: Vec<u8>| {
        let mut out = Vec::new();
        let whole = uncompressed(Box::new(std::io::Cursor::new(bytes)))
            .and_then(|mut from| from.read_to_end(&mut out));
        (out, whole.is_ok())
    };
    assert_eq!(text(gzip.to_vec()), (b"hello\n".to_vec(), true));
    assert_eq!(text([gzip, gzip].concat()), (b"hello\nhello\n".to_vec(), true));
    assert_eq!(text([frame, frame].concat()), (b"hello\nhello\n".to_vec(), true));
    assert!(!text(gzip[..gzip.len() - 3].to_vec()).1);
    assert!(!text(frame[..frame.len() - 3].to_vec()).1);
    assert_eq!(text(b"as it is".to_vec()), (b"as it is".to_vec(), true));
}
