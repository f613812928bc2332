//! For build scripts: tells a crate which versions of its libraries it is built with. `READY` reports them, and none of
//! the libraries offers its own version as a constant.

use std::path::Path;
use std::{env, fs};

/// Sets `WIRELAP_<LIBRARY>` for the crate that is built to the version of each library, for `env!`.
///
/// # Panics
///
/// If the workspace's Cargo.lock does not name one of them, which fails the build.
pub fn tell(libraries: &[&str]) {
    // Of the crate whose build script this is, wherever this crate was compiled.
    let own = env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs build scripts");
    let path = Path::new(&own).join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", path.display());
    let lock = fs::read_to_string(path).expect("the workspace has a Cargo.lock");
    for library in libraries {
        let Some(version) = locked_version(&lock, library) else {
            panic!("{library} is not in Cargo.lock");
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_whole_name() {
        let lock = "version = 4\n\n[[package]]\nname = \"zmq-sys\"\nversion = \"0.12.0\"\n\n\
                    [[package]]\nname = \"zmq\"\nversion = \"0.10.0\"\ndependencies = [\n \"zmq-sys\",\n]\n";
        assert_eq!(locked_version(lock, "zmq"), Some("0.10.0"));
        assert_eq!(locked_version(lock, "zmq-sys"), Some("0.12.0"));
        assert_eq!(locked_version(lock, "zm"), None);
    }
}
