//! The scripts themselves: that they install, and that every Lua that Wireshark may have takes them.

use std::path::{Path, PathBuf};
use std::process::Command;
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::dissector::{folder, is_listed};
use wirelap_test_support::tshark::quiet_output;

/// All scripts in a folder and below it.
fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            found.push(path);
        }
    }
}

#[test]
fn every_version_of_lua_compiles_them() {
    let mut all = Vec::new();
    scripts(&folder(), &mut all);
    assert!(all.len() > 10, "{all:?}");
    for version in ["luac5.2", "luac5.3", "luac5.4"] {
        for script in &all {
            let output = Command::new(version).arg("-p").arg(script).output().expect(version);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{version} {}: {said}", script.display());
        }
    }
}

#[test]
fn installed_they_are_found_without_being_named() {
    let home = tempfile::tempdir().unwrap();
    let run = |command: &mut Command| {
        quiet_output(command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME"))
    };
    // Twice: the second time there is an older copy.
    for _ in 0..2 {
        let said = run(&mut Command::new(folder().join("install")));
        assert!(said.contains("installed in "), "{said}");
    }
    let protocols = run(Command::new("tshark").args(["-G", "protocols"]));
    for name in ["nats", "wirelap", "xrce", "zenoh", "zmtp"] {
        assert!(is_listed(&protocols, name), "{name}");
    }
}

/// Every field that the profile's columns, colours and buttons name is one, and every filter can be compiled.
#[test]
fn the_profile_installs_and_its_filters_compile() {
    let home = tempfile::tempdir().unwrap();
    let run = |command: &mut Command| {
        quiet_output(command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME"))
    };
    let said = run(&mut Command::new(folder().join("install")));
    assert!(said.contains("profile in "), "{said}");
    let read = |name: &str| std::fs::read_to_string(folder().join("profile").join(name)).unwrap();
    let (colours, buttons, preferences) =
        (read("colorfilters"), read("dfilter_buttons"), read("preferences"));
    let lines = |text: &'static str| move |line: &&str| !line.starts_with(text);
    let colours = colours.lines().filter(lines("#")).map(|line| line.split('@').nth(2).unwrap());
    let buttons = buttons.lines().filter(lines("#"));
    let buttons = buttons.map(|line| line.split("\",\"").nth(2).unwrap().replace("\\x22", "\""));
    let columns = preferences.split("%Cus:").skip(1).map(|rest| rest.split(':').next().unwrap());
    let filters: Vec<String> = colours.chain(columns).map(str::to_owned).chain(buttons).collect();
    assert!(filters.len() > 20, "{filters:#?}");
    let capture = of_protocols("kafka/captures/kcat.pcap");
    for filter in filters {
        let mut tshark = Command::new("tshark");
        let listed =
            run(tshark.args(["-C", "wirelap", "-c", "1", "-Y", &filter, "-r"]).arg(&capture));
        // It is not about this packet, unless it is about TCP.
        assert!(listed.is_empty() || filter.contains("tcp"), "{filter}: {listed}");
    }
}
