//! Tells the program which versions of the middleware libraries it is built with: `READY` reports
//! them, and none of the libraries offers its own version as a constant.

use std::path::Path;
use std::{env, fs};

const LIBRARIES: [&str; 9] = [
    "rumqttc",
    "rumqttd",
    "zenoh",
    "cyclors",
    "async-nats",
    "zmq",
    "zeromq",
    "open62541",
    "rdkafka",
];

fn main() {
    let lock = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(lock).expect("the workspace has a Cargo.lock");
    for library in LIBRARIES {
        let version = locked_version(&lock, library).expect("the library is in Cargo.lock");
        let name = library.to_uppercase().replace('-', "_");
        println!("cargo::rustc-env=WIRELAP_{name}={version}");
    }
}

/// The version in the `[[package]]` entry of `name`.
fn locked_version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let entry = lock.split("[[package]]").find(|entry| field(entry, "name") == Some(name))?;
    field(entry, "version")
}

fn field<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
}
