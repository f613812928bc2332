//! `wirelap explain` as a program: what it prints, and how it ends.

#![allow(missing_docs, reason = "a test")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn explain(args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wirelap"))
        .arg("explain")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended before it read anything.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

/// One result, as small as the format allows.
fn report() -> String {
    let result = serde_json::to_string(&wirelap_report::RunResult {
        middleware: "tcp".into(),
        payload_bytes: 64,
        why: Some(wirelap_report::ReportedWhy {
            examined_messages: 1_000,
            healthy: true,
            ..wirelap_report::ReportedWhy::default()
        }),
        ..wirelap_report::RunResult::default()
    })
    .unwrap();
    let environment = serde_json::to_string(&wirelap_report::Environment::default()).unwrap();
    format!(
        r#"{{"schema":"wirelap/run/1","partial":false,"environment":{environment},"hooks":[],"notes":[],
        "scenario":{{"kind":"live","pacing":"foreign","middlewares":[],"payload_bytes":[],
            "rate_msg_per_s":null,"messages":null,"duration_s":1.0,"warmup":0,"repeat":1,"pin":[],"order":[]}},
        "results":[{result}]}}"#
    )
}

#[test]
fn a_report_on_stdin_is_explained() {
    for args in [&[][..], &["-"], &["-", "--on", "tcp", "--worst", "0"]] {
        let output = explain(args, &report());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{args:?}");
        assert!(text.starts_with("tcp, 64 B\n─────────\n"), "{text}");
        assert!(text.contains("\nIn short: nothing wrong.\n"), "{text}");
    }
}

#[test]
fn what_cannot_be_explained_gets_one_sentence_and_status_2() {
    let runs = [
        explain(&["/nowhere/out.json"], ""),
        explain(&[], "no json"),
        explain(&["-", "--on", "kafka"], &report()),
        explain(&["--worst", "few"], ""),
    ];
    for output in runs {
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.starts_with("wirelap: "), "{complaint}");
        assert!(output.stdout.is_empty());
    }
}
