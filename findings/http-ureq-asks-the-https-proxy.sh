#!/usr/bin/env bash
# ureq 3.5.2 (Rust): with HTTP_PROXY and HTTPS_PROXY set, a request for an http:// address goes to the
# proxy of HTTPS_PROXY, as a tunnel.
#
# One would expect: HTTP_PROXY for http:// and HTTPS_PROXY for https://, as curl, Go and Python have it.
#
# Seen: the address has no part in the choice. The first of ALL_PROXY, HTTPS_PROXY and HTTP_PROXY that is
# set serves every request, and is asked by CONNECT for port 80 of the host. A proxy that lets tunnels
# through to port 443 only refuses that, while the one that was meant for http:// is never asked.
#
# Exit: 0 as stated, 1 it behaves otherwise now, 2 not tried.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/src"
cd "$dir"
export CARGO_HOME="$dir/cargo" CARGO_TARGET_DIR="$dir/target"

cat >Cargo.toml <<'TOML'
[package]
name = "probe"
version = "0.1.0"
edition = "2021"

[dependencies]
ureq = { version = "=3.5.2", default-features = false }
TOML
cat >src/main.rs <<'RUST'
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{channel, Sender};
use std::thread::spawn;
use std::time::Duration;

/// A proxy that refuses everything and tells the first line of each request.
fn proxy(name: &'static str, told: Sender<(&'static str, String)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let _ = reader.get_mut().write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = told.send((name, first.trim().to_owned()));
        }
    });
    port
}

fn main() {
    for name in ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"] {
        std::env::remove_var(name);
    }
    let (told, asked) = channel();
    for name in ["HTTP_PROXY", "HTTPS_PROXY"] {
        std::env::set_var(name, format!("http://127.0.0.1:{}", proxy(name, told.clone())));
    }
    let answer = ureq::get("http://collector.invalid/v1/traces").call().map(|answer| answer.status());
    println!("GET http://collector.invalid/v1/traces: {answer:?}");
    drop(told);
    let wait = Duration::from_secs(2);
    let seen: Vec<_> = std::iter::from_fn(|| asked.recv_timeout(wait).ok()).collect();
    for (name, line) in &seen {
        println!("the proxy of {name} was asked: {line}");
    }
    let as_stated = seen.len() == 1 && seen[0].0 == "HTTPS_PROXY" && seen[0].1.starts_with("CONNECT collector.invalid:80 ");
    if !as_stated {
        println!("changed: stated was one CONNECT to port 80 at the proxy of HTTPS_PROXY");
        std::process::exit(1);
    }
}
RUST
timeout 600 cargo build --quiet >build.log 2>&1 ||
    { tail -n 3 build.log || true; echo "not tried: ureq 3.5.2 could not be built"; exit 2; }
timeout 60 target/debug/probe || { [ $? = 1 ] && exit 1; echo "not tried: the probe did not come to its end"; exit 2; }
