//! A router with TLS, certificates for both sides and access control, as docs/guide/fleet.md describes it.

use crate::bench::{Bench, Router};
use crate::is_hello;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::fs;
use std::path::PathBuf;
use wirelap_hosts::stream::FleetFrame;
use zenoh::Config;

/// The router's settings. Its rules are those of the guide.
const ROUTER: &str = include_str!("../../../../docs/guide/fleet-router.json5");

/// A certificate authority, and the folder with what it has signed.
struct Authority<'a> {
    bench: &'a Bench,
    issuer: Issuer<'static, KeyPair>,
}

impl<'a> Authority<'a> {
    fn new(bench: &'a Bench, name: &str) -> Authority<'a> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(bench.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        Authority { bench, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key, in files of that name.
    fn signs(&self, name: &str) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.bench.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.bench.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    /// A client's configuration of Zenoh.
    fn client(&self, name: &str) -> String {
        self.signs(name);
        let file = |name: String| self.bench.file(&name).display().to_string();
        let text = format!(
            "{{ transport: {{ link: {{ tls: {{ root_ca_certificate: {:?}, enable_mtls: true, connect_certificate: {:?}, \
             connect_private_key: {:?} }} }} }} }}",
            file("ca.pem".into()),
            file(format!("{name}.pem")),
            file(format!("{name}.key")),
        );
        let path: PathBuf = self.bench.file(&format!("{name}.json5"));
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

#[test]
fn who_has_no_certificate_is_not_let_in_and_who_has_no_rule_sees_nothing() {
    let bench = Bench::new();
    let authority = Authority::new(&bench, "ca");
    authority.signs("hub");
    let folder = bench.file("").display().to_string();
    let text = ROUTER.replace("/etc/wirelap/", &folder).replace("FLEET", "plant");
    let router = Router::secured(Config::from_json5(&text).unwrap());
    let [robot, desk, stranger] = ["robot", "desk", "stranger"].map(|name| authority.client(name));
    let agent = bench.agent(&router, "robot", &["--zenoh-config", &robot]);
    agent.says("robot waits");
    let collector = bench.collect(&router, &["--zenoh-config", &desk]);
    collector.gets("the agent's introduction", is_hello);
    collector.ask("robot ping 7");
    collector.gets("an answer", |frame| format!("{frame:?}").contains("number: 7"));
    // A host has a certificate, and watches no other.
    for name in [&stranger, &robot] {
        let other = bench.collect(&router, &["--zenoh-config", name]);
        other.gets(
            "that nobody is there for it",
            |frame| matches!(frame, FleetFrame::Trouble(what) if what.contains("access control")),
        );
        other.end();
    }
    assert_eq!(bench.started(), 1, "who may not watch starts nothing");
    // A host speaks for itself alone.
    let forged = bench.agent(&router, "hub", &["--zenoh-config", &robot]);
    forged.says("hub waits");
    collector.ask("robot ping 8");
    collector.gets("an answer", |frame| {
        assert!(!matches!(frame, FleetFrame::Joined(name) if name == "hub"));
        format!("{frame:?}").contains("number: 8")
    });
    let others = Authority::new(&bench, "other");
    let outsider = others.client("outsider");
    for config in [&["--zenoh-config", outsider.as_str()][..], &[]] {
        let outside = bench.collect(&router, config);
        assert_eq!(outside.status(), Some(255));
        assert!(outside.said().contains("does not let this program in"), "{}", outside.said());
    }
}
