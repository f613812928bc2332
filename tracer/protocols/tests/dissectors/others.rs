//! DDS-XRCE, NATS and ZMTP: the captures that their decoders are tested with.

use crate::{ours, quiet};
use wirelap_events::Transport;
use wirelap_test_support::committed::of_protocols as capture;
use wirelap_test_support::dissector::{
    Dissector, NATS, XRCE, ZMTP, folder, has_own, read_with, read_with_scripts,
};
use wirelap_test_support::messages::{Messages, compare};

const XRCE_EXPERTS: [&str; 5] =
    ["xrce.malformed", "xrce.bad_length", "xrce.truncated", "xrce.unread", "xrce.continuation"];

/// Counts the messages that carry something, and the bytes of all.
fn carried(messages: &Messages) -> (usize, u64) {
    let all = messages.values().flatten().filter_map(|message| message.carried.as_ref());
    let lengths: Vec<_> = all.map(|carried| carried.payload_len).collect();
    (lengths.len(), lengths.iter().sum())
}

/// `same` makes of what both say the part that both speak of.
fn agree(
    dissector: &Dissector,
    path: &str,
    transport: Transport,
    same: fn(&mut Messages, &mut Messages),
) -> Messages {
    let path = capture(path);
    let pcap = std::fs::read(&path).unwrap();
    for passes in [1, 2] {
        let mut ours = ours::read(&pcap, dissector.name, transport);
        let mut theirs = dissector.read(&path, passes);
        same(&mut ours, &mut theirs);
        compare(&ours, &theirs);
    }
    ours::read(&pcap, dissector.name, transport)
}

#[test]
fn every_submessage_of_xrce_is_what_the_dissector_says() {
    let cases = [
        ("reliable", Transport::Udp, (10, 250)),
        ("best-effort", Transport::Udp, (10, 250)),
        ("tcp", Transport::Tcp, (10, 250)),
        ("fragments", Transport::Udp, (2, 100_016)),
    ];
    for (name, transport, expected) in cases {
        let path = format!("xrce/captures/{name}.pcap");
        // A message's header is a frame of ours, not a message.
        let messages = agree(&XRCE, &path, transport, |ours, _| {
            for messages in ours.values_mut() {
                messages.retain(|message| message.name != "XRCE");
            }
        });
        assert_eq!(carried(&messages), expected, "{name}");
        quiet::whole("xrce", &capture(&path), &XRCE_EXPERTS);
    }
}

#[test]
fn every_operation_of_nats_is_what_the_dissector_says() {
    // Ours leaves out what is JetStream's own; the dissector shows the protocol.
    let messages = agree(&NATS, "captured/captures/nats.pcap", Transport::Tcp, |ours, theirs| {
        for (ports, ours) in ours {
            let theirs = theirs.get_mut(ports).into_iter().flatten();
            for (our, their) in ours.iter().zip(theirs) {
                let is_message = ["PUB", "HPUB", "MSG", "HMSG"].contains(&&*their.name);
                assert_eq!(their.carried.is_some(), is_message, "{their:?}");
                if our.carried.is_none() {
                    their.carried = None;
                }
            }
        }
    });
    assert!(carried(&messages).0 > 150, "{:?}", carried(&messages));
    let path = capture("captured/captures/nats.pcap");
    quiet::whole("nats", &path, &["nats.malformed", "nats.truncated", "nats.continuation"]);
}

#[test]
fn every_frame_of_zmtp_is_what_the_dissector_says() {
    let path = "captured/captures/zmtp.pcap";
    if has_own("zmtp") {
        // As Wireshark 4.4 and 4.6 do.
        let listed =
            read_with("zmtp", &capture(path), &["-d", "tcp.port==5551,zmtp", "-Y", "zmtp"]);
        assert!(listed.lines().count() > 5, "{listed}");
        return;
    }
    let messages = agree(&ZMTP, path, Transport::Tcp, |_, _| {});
    assert!(carried(&messages).0 > 100, "{:?}", carried(&messages));
    let experts = ["zmtp.malformed", "zmtp.bad_length", "zmtp.truncated", "zmtp.continuation"];
    quiet::whole("zmtp", &capture(path), &experts);
}

#[test]
fn captures_cut_anywhere_are_read_as_far_as_they_go() {
    quiet::cut("nats", &capture("captured/captures/nats.pcap"));
    quiet::cut("zmtp", &capture("captured/captures/zmtp.pcap"));
    quiet::cut("xrce", &capture("xrce/captures/tcp.pcap"));
    quiet::cut("xrce", &capture("xrce/captures/fragments.pcap"));
}

/// A Wireshark that has a dissector of that name keeps it.
#[test]
fn what_wireshark_has_already_is_left_alone() {
    let other = tempfile::tempdir().unwrap();
    for name in ["nats", "zmtp"].into_iter().filter(|name| !has_own(name)) {
        let script = other.path().join(format!("other-{name}.lua"));
        let text = format!(
            "local p = Proto('{name}', 'Another one')\n\
             p.fields = {{ ProtoField.string('{name}.other', 'Other') }}\n\
             function p.dissector(tvb) return tvb:len() end\n"
        );
        std::fs::write(&script, text).unwrap();
        let scripts = [script, folder().join(name).with_extension("lua")];
        let path = capture(&format!("captured/captures/{name}.pcap"));
        let found = read_with_scripts(&scripts, &path, &["-Y", name]);
        assert!(found.is_empty(), "{found}");
    }
}
