//! The kernel's types from a file, where the kernel does not show its own.

use crate::LONG;
use crate::bench::{Bench, Ended};
use serde_json::Value;

/// Runs wirelap (`"$0" "$@"`) where nothing is in /sys/kernel/btf, in a place of its own for files. `$PLACE` is what is arranged before;
/// `$FILES` has the kernel's types as `types`, and as a section of the ELF file `vmlinux` without a build id.
const HIDDEN: &str = r#"exec unshare --mount sh -ec '
mount -t tmpfs none "$FILES"
cp /sys/kernel/btf/vmlinux "$FILES/types"
objcopy --remove-section .note.gnu.build-id --add-section .BTF="$FILES/types" /bin/true "$FILES/vmlinux"
mount -t tmpfs none /sys/kernel/btf
eval "$PLACE"
exec "$0" "$@"' "$0" "$@""#;

fn doctor(place: &str, words: &str) -> (Ended, Value) {
    let bench = Bench::new();
    let files = bench.file("files");
    std::fs::create_dir(&files).unwrap();
    let words = words.replace("FILES", files.to_str().unwrap());
    let mut call = bench.wirelap_by(HIDDEN, &words);
    call.set("FILES", files.to_str().unwrap());
    call.set("PLACE", place);
    let ended = call.end(LONG);
    let report = serde_json::from_str(&ended.stdout).unwrap_or_default();
    (ended, report)
}

fn is_whole(report: &Value) -> bool {
    let notes = report["notes"].as_array().unwrap().iter();
    let mut notes = notes.filter_map(Value::as_str);
    report["can_attach"] == true && notes.any(|note| note == "every hook above was attached")
}

#[test]
fn types_from_a_file_attach_every_hook_where_the_kernel_hides_its_own() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    for file in ["types", "vmlinux"] {
        let (ended, report) = doctor("true", &format!("doctor --json --btf FILES/{file}"));
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert!(is_whole(&report), "{report:#}");
        assert!(report["btf"].as_str().unwrap().ends_with(file), "{report:#}");
    }
    // Without the option, they are where distributions have them.
    let place = "mount -t tmpfs none /boot; cp \"$FILES/vmlinux\" \"/boot/vmlinux-$(uname -r)\"";
    let (ended, report) = doctor(place, "doctor --json");
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(is_whole(&report), "{report:#}");
    assert_eq!(report["btf"], format!("/boot/vmlinux-{release}"));
}

#[test]
fn without_types_packets_are_left_and_a_bad_file_is_named() {
    let (ended, report) = doctor("true", "doctor --json");
    assert_eq!(ended.status, Some(3), "{}", ended.stderr);
    assert_eq!((&report["btf"], &report["can_capture_packets"]), (&Value::Null, &true.into()));
    let (ended, _) = doctor("true", "live --plain --duration 1s");
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let said = "packets only, without sockets and scheduler";
    assert!(
        ended.stderr.contains(said) && ended.stderr.contains("BTF type information"),
        "{}",
        ended.stderr
    );
    for (file, said) in [
        ("/etc/passwd", "neither BTF nor an ELF file"),
        ("/nowhere", "it cannot be read"),
        ("/bin/sh", "another build than the running kernel"),
    ] {
        let (ended, _) = doctor("true", &format!("live --plain --duration 1s --btf {file}"));
        assert_eq!(ended.status, Some(3), "{}", ended.stderr);
        assert!(ended.stderr.contains(file) && ended.stderr.contains(said), "{}", ended.stderr);
    }
}
