//! The view "probes" as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

mod views;

use crossterm::event::KeyCode;
use views::{SIZES, app, long, press, text};
use wirelap_correlate::snapshot::{ProbeEvents, ProbeLoss, Snapshot, Unknown, UnknownTraffic};
use wirelap_events::Probe;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, ProbeHook, ProbeSetup};

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

fn hook(observation: &str, hook: Option<&str>, without: &str) -> ProbeHook {
    ProbeHook {
        observation: observation.into(),
        hook: hook.map(Into::into),
        without: without.into(),
    }
}

fn setup() -> ProbeSetup {
    ProbeSetup {
        hooks: vec![
            hook("connections", Some("tracepoint inet_sock_set_state"), ""),
            hook("send (TCP)", Some("tracepoint tcp_sendmsg_locked"), ""),
            hook("read (TCP)", Some("exit of tcp_recvmsg"), ""),
            hook(
                "drops",
                None,
                "why the kernel dropped packets is not known; boot a kernel from 5.17 on",
            ),
        ],
        ring_bytes: Some(64 << 20),
        reads_tls: false,
    }
}

#[test]
fn probes_at_work() {
    let mut app = app((1..40).map(snapshots::five), &[KeyCode::Char('9')]);
    app.set_probe_setup(setup());
    check("normal", &app);
}

#[test]
fn nothing_reported_yet() {
    check("empty", &app([snapshots::empty(0)], &[KeyCode::Char('9')]));
    let blank = long(&app([Snapshot::default()], &[KeyCode::Char('9')]));
    assert!(blank.contains("The probes are being attached."), "{blank}");
}

fn traffic(port: u16, server: &str, bytes: u64) -> UnknownTraffic {
    UnknownTraffic {
        endpoint: Some(([127, 0, 0, 1], port).into()),
        server: Some(server.into()),
        clients: vec!["psql".into()],
        joined_late: port == 5432,
        connections: 3,
        bytes_to_server: bytes / 2,
        bytes_from_server: bytes / 2,
        bit_per_s: 12_345_678.0,
        ..UnknownTraffic::default()
    }
}

/// Whoever looks at the screen sees that messages inside TLS are read.
#[test]
fn the_first_line_says_that_the_text_of_tls_is_read() {
    let mut app = app((1..4).map(snapshots::five), &[]);
    let first = |app: &App| text(app, (80, 24)).lines().next().unwrap_or_default().to_owned();
    assert!(!first(&app).contains("TLS"));
    app.set_probe_setup(ProbeSetup { reads_tls: true, ..setup() });
    assert!(first(&app).contains(" READS TLS TEXT "), "{}", first(&app));
}

#[test]
fn events_lost_sampling_and_unknown_traffic() {
    let mut snapshot = snapshots::degraded();
    snapshot.unknown = Unknown {
        rows: vec![traffic(5432, "postgres", 9_000_000), traffic(8080, "nginx", 12_000)],
        other_connections: 4,
        other_bytes: 900,
        muted_sockets: 2,
    };
    snapshot.trust.evicted = 7;
    let mut app = app([snapshot], &[KeyCode::Char('9')]);
    app.set_probe_setup(setup());
    check("degraded", &app);
    press(&mut app, &[KeyCode::PageDown; 40]);
    let end = text(&app, (80, 24));
    assert!(end.contains("--decode 8080=PROTOCOL"), "{end}");
}

#[test]
fn huge_numbers_and_long_names() {
    let mut snapshot = snapshots::many(3);
    let trust = &mut snapshot.trust;
    trust.reported = Probe::ALL
        .map(|probe| ProbeEvents { probe, events: u64::MAX, filtered: Some(u64::MAX) })
        .to_vec();
    trust.events_lost = Probe::ALL.map(|probe| ProbeLoss { probe, count: u64::MAX }).to_vec();
    trust.events = u64::MAX;
    trust.tracer.cpu_share = f64::NAN;
    snapshot.unknown.rows =
        vec![traffic(1, "サーバー with a name that does not end here", u64::MAX)];
    let mut app = app([snapshot], &[KeyCode::Char('9')]);
    app.set_probe_setup(ProbeSetup {
        hooks: vec![hook(
            "an observation whose name is too long for its column",
            Some("フック of a kernel function with a very long name that has to be wrapped somewhere"),
            "",
        )],
        ring_bytes: Some(u64::MAX),
        reads_tls: false,
    });
    check("extreme", &app);
}
