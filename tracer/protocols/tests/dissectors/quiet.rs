//! Whatever is left of a capture, a dissector must not stumble.

use std::path::Path;
use std::process::Command;
use wirelap_test_support::dissector::read_with;

/// Errors in Lua, in the packets' structure, and those that are ours.
fn errors(dissector: &str, capture: &Path, filter: &str) -> String {
    // Twice through the file, as Wireshark reads it.
    read_with(dissector, capture, &["-2", "-V", "-Y", filter])
}

/// Nothing in a whole capture is an error, or any of the dissector's own `experts`.
pub fn whole(dissector: &str, capture: &Path, experts: &[&str]) {
    let filter = format!("_ws.malformed || _ws.lua.error || {}", experts.join(" || "));
    let found = errors(dissector, capture, &filter);
    assert!(found.is_empty(), "{}: {found}", capture.display());
}

/// With packets cut after so many bytes nothing is an error but what is lost.
pub fn cut(dissector: &str, capture: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cut.pcap");
    for length in [60, 68, 69, 71, 80, 96, 128, 1000] {
        let status = Command::new("editcap")
            .args(["-F", "pcap", "-s", &length.to_string()])
            .args([capture, &file])
            .status()
            .expect("editcap");
        assert!(status.success());
        let filter = format!("_ws.lua.error || (_ws.malformed && {dissector})");
        let found = errors(dissector, &file, &filter);
        assert!(found.is_empty(), "{} cut to {length} bytes: {found}", capture.display());
        let everything = read_with(dissector, &file, &["-V"]);
        assert!(!everything.contains("Lua Error"), "{} cut to {length}", capture.display());
    }
}
