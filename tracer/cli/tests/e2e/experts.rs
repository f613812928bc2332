//! Complaints of the experts of tshark (`tshark -q -z expert`).

/// Complaints that are true of connections on a busy machine.
const BEFELL: [&str; 2] = ["Connection reset (RST)", "TCP Zero Window segment"];

/// Errors and warnings, each a line of the protocol, its group and a summary, but for what really befell a connection.
pub fn complaints(told: &str) -> Vec<&str> {
    let mut bad = false;
    let lines = told.lines().filter(|line| {
        let group = line.split(" (").next().unwrap_or_default();
        if ["Errors", "Warns", "Notes", "Chats", "Comments"].contains(&group) {
            bad = ["Errors", "Warns"].contains(&group);
        }
        // Frequency, group, protocol, summary.
        let counts =
            line.split_whitespace().next().is_some_and(|count| count.parse::<u64>().is_ok());
        bad && counts && !BEFELL.iter().any(|what| line.ends_with(what))
    });
    lines.collect()
}

/// Protocols, in small letters, that a recording of any middleware may have, and the language of our dissectors.
pub const LAYERS: [&str; 8] = ["ethernet", "frame", "ipv4", "ipv6", "lua", "tcp", "udp", "wirelap"];

/// The protocol of a complaint.
pub fn protocol(complaint: &str) -> &str {
    complaint.split_whitespace().nth(2).unwrap_or_default()
}

#[test]
fn errors_and_warnings_are_told_from_what_befell_and_from_notes() {
    let told = "\nWarns (2)\n=====\n   Frequency      Group           Protocol  Summary\n           1   Sequence                TCP  TCP Zero Window segment\n           \
                3   Protocol              Kafka  Unsupported version\n\nNotes (1)\n=====\n           1   Sequence                TCP  This frame is a retransmission\n";
    let complaints = complaints(told);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert_eq!(protocol(complaints[0]), "Kafka");
}
