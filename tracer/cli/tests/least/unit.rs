//! The unit of systemd that the packages contain.

use std::fs;
use std::process::Command;

const UNIT: &str = "../../.ci/dist/wirelap-record.service";

/// The values of a setting, in the order in which they are there.
pub fn values(setting: &str) -> Vec<String> {
    let text = fs::read_to_string(UNIT).unwrap();
    let found = text.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('='));
    found.map(str::to_owned).collect()
}

/// The one value of a setting.
pub fn value(setting: &str) -> String {
    let [one] = &values(setting)[..] else { panic!("{setting}: {:?}", values(setting)) };
    one.clone()
}

/// The words that systemd starts, with its variables replaced. The program is the first.
pub fn command(state_directory: &str) -> Vec<String> {
    let environment = value("Environment");
    let (name, options) = environment.trim_matches('"').split_once('=').unwrap();
    value("ExecStart")
        .replace("${STATE_DIRECTORY}", state_directory)
        .replace(&format!("${name}"), options)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_option_of_the_service_exists() {
    let words = command("/var/lib/wirelap");
    assert_eq!(words[..2], ["/usr/bin/wirelap", "record"]);
    let help = Command::new(env!("CARGO_BIN_EXE_wirelap")).args(["record", "--help"]).output();
    let help = help.unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let options = words.iter().filter(|word| word.starts_with("--"));
    let missing: Vec<_> = options.filter(|word| !help.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(words.iter().all(|word| !word.contains('$')), "{words:?}");
}

/// The service's disk use is bounded, and a start after another one goes on.
#[test]
fn the_service_bounds_its_files_and_its_memory() {
    let words = command("/var/lib/wirelap");
    for option in ["--rotate-size", "--files", "--continue"] {
        assert!(words.iter().any(|word| word == option), "{option}");
    }
    assert!(value("MemoryMax").ends_with('G'));
    assert_eq!(value("StateDirectory"), "wirelap");
}

#[test]
fn the_service_has_the_three_capabilities_and_no_root() {
    let three = "CAP_BPF CAP_PERFMON CAP_NET_ADMIN";
    assert_eq!(value("CapabilityBoundingSet"), three);
    assert_eq!(value("AmbientCapabilities"), three);
    for (setting, wanted) in
        [("DynamicUser", "yes"), ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict")]
    {
        assert_eq!(value(setting), wanted, "{setting}");
    }
    assert!(values("SystemCallFilter").last().unwrap().split(' ').any(|call| call == "bpf"));
}

/// Checks the unit only where systemd is installed, whether or not it runs.
#[test]
fn systemd_understands_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("wirelap-record.service");
    let here = fs::read_to_string(UNIT).unwrap().replace("/usr/bin/wirelap", "/bin/true");
    fs::write(&unit, here).unwrap();
    let verified = Command::new("systemd-analyze").args(["--man=no", "verify"]).arg(&unit).output();
    let Ok(verified) = verified else { return };
    let told = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<_> = told.lines().filter(|line| line.contains("wirelap-record")).collect();
    assert!(verified.status.success() && about_it.is_empty(), "{told}");
}
