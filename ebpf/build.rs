//! Compiles the probes with clang, and generates the field offsets of `include/events.h` for Rust.
//!
//! clang checks each generated offset with a static assertion, so that C and Rust always agree.

// A build script is compiled before its crate and cannot depend on it; the crate has the same module only to test it.
#[path = "src/header.rs"]
mod header;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SOURCE: &str = "probes/wirelap.bpf.c";

fn main() {
    for input in ["probes", "include", "src/header.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if let Err(message) = generate_layout(&out).and_then(|()| compile(&out)) {
        println!("cargo::error={message}");
        std::process::exit(1);
    }
}

fn generate_layout(out: &Path) -> Result<(), String> {
    let text = fs::read_to_string("include/events.h")
        .map_err(|error| format!("include/events.h: {error}"))?;
    let header = header::parse(&text)?;
    let write = |name: &str, text: String| {
        fs::write(out.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    write("layout.rs", header.to_rust())?;
    write("layout_check.h", header.to_static_assertions())
}

fn compile(out: &Path) -> Result<(), String> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let output = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-parameter", "-Iinclude", "-Iprobes", "-I"])
        .arg(out)
        // This keeps the machine's paths out of the debug information.
        .arg("-fdebug-compilation-dir=.")
        .args(["-c", SOURCE, "-o"])
        .arg(out.join("wirelap.bpf.o"))
        .output()
        .map_err(|error| {
            format!("the probes are compiled with {clang}, which cannot be run ({error}): apt-get install clang")
        })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("'bpf/bpf_") {
        return Err("the probes need libbpf's headers: apt-get install libbpf-dev".into());
    }
    // cargo::error takes one line, so clang's messages are printed separately.
    eprintln!("{stderr}");
    Err(format!("{clang} cannot compile ebpf/{SOURCE}; its messages are above"))
}
