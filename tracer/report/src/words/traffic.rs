//! Traffic that is not decoded: what it is, where, how much, and what of it is seen.

use wirelap_correlate::{Unknown, UnknownTraffic};
use wirelap_events::human::{one_or, traffic_bytes, traffic_rate};

/// Rows that get a sentence of their own among the notes.
const SENTENCES: usize = 4;

/// Datagrams in no known protocol that are less than this together get no sentence: a program that announces itself or
/// looks whether a port answers.
const NOTEWORTHY_BYTES: u64 = 64;

/// One sentence for each of the largest rows, and one for the rest.
pub fn traffic_notes(unknown: &Unknown) -> Vec<String> {
    let mut rows = unknown.rows.iter().filter(|row| is_noteworthy(row));
    let mut all: Vec<String> = rows.by_ref().take(SENTENCES).map(traffic).collect();
    let (connections, bytes) =
        rows.fold((unknown.other_connections, unknown.other_bytes), |(connections, bytes), row| {
            (connections.saturating_add(row.connections), bytes.saturating_add(row.bytes()))
        });
    if connections > 0 {
        all.push(format!(
            "{connections} more connections that wirelap does not decode carried {}.",
            traffic_bytes(bytes)
        ));
    }
    if unknown.muted_sockets > 0 {
        all.push(muted_sockets(unknown.muted_sockets));
    }
    all
}

/// That sockets of such connections are muted, as a sentence.
pub fn muted_sockets(count: u64) -> String {
    let (sockets, are, their) =
        if count == 1 { ("socket", "is", "its") } else { ("sockets", "are", "their") };
    format!(
        "{count} {sockets} of connections that wirelap cannot follow {are} muted: {their} bytes are counted, and {their} calls and payload cost no \
         time any more."
    )
}

fn is_noteworthy(row: &UnknownTraffic) -> bool {
    !row.is_udp || row.protocol.is_some() || row.bytes() >= NOTEWORTHY_BYTES
}

/// One row as a sentence.
pub fn traffic(row: &UnknownTraffic) -> String {
    let transport = if row.is_udp { "UDP port" } else { "port" };
    let port = row.endpoint.map_or(0, |endpoint| endpoint.port());
    let address = row.endpoint.map_or(String::new(), |endpoint| endpoint.to_string());
    let server = row.server.as_ref().map_or(String::new(), |name| format!(", {name}"));
    let place = format!("on {transport} {port} ({address}{server})");
    let amount = amount(row);
    let Some(name) = &row.protocol else {
        let what = if row.joined_late {
            "joined in mid-stream, and no message of a protocol that wirelap knows was found in it yet; \
             --decode PORT=PROTOCOL names it"
        } else {
            "in no protocol that wirelap knows"
        };
        return format!("Traffic {place}: {amount}, {what}.");
    };
    if name.is_encrypted {
        format!("{name} {place}: {amount}; {}.", encrypted(row))
    } else if name.is_compressed_websocket() {
        format!(
            "{name} {place}: {amount}; they refer to earlier ones that wirelap did not see: a connection that is opened while \
             wirelap runs is read."
        )
    } else {
        format!(
            "{name} {place}: {amount}; wirelap does not decode it: it sees bytes and timing, not messages."
        )
    }
}

/// The way to see messages in TLS.
pub(super) const TLS_REMEDY: &str = "live --tls reads them where the programs use OpenSSL, GnuTLS, Go or rustls, and analyze --tls-keys with the \
     keys of a capture; --decode PORT=tls follows its records without their text";

/// Why no messages are seen of an encrypted row.
fn encrypted(row: &UnknownTraffic) -> String {
    match row.not_read.as_deref() {
        None => {
            let seen = "encrypted: wirelap sees bytes and timing, not messages";
            let is_tls = row.protocol.as_ref().is_none_or(|name| name.protocol == "TLS");
            if is_tls { format!("{seen}; {TLS_REMEDY}") } else { seen.to_owned() }
        }
        Some([]) => "encrypted, and no text of it is read: neither program is seen here".to_owned(),
        Some(reasons) => format!("encrypted, and no text of it is read: {}", reasons.join("; ")),
    }
}

fn amount(row: &UnknownTraffic) -> String {
    let noun = if row.is_udp {
        one_or(row.connections, "conversation", "conversations")
    } else {
        one_or(row.connections, "connection", "connections")
    };
    let (bytes, rate) = (traffic_bytes(row.bytes()), traffic_rate(row.bit_per_s));
    format!("{} {noun}, {bytes}, {rate}", row.connections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::ForeignName;

    #[test]
    fn what_is_read_in_tls_alone_is_offered_for_nothing_else() {
        let told = |protocol| {
            let name = ForeignName { is_encrypted: true, protocol, ..ForeignName::default() };
            traffic(&UnknownTraffic { protocol: Some(name), ..UnknownTraffic::default() })
        };
        assert!(told("TLS").contains("live --tls"));
        for other in ["QUIC", "DTLS", "OpenVPN", "SSH"] {
            assert!(!told(other).contains("--tls"), "{other}");
        }
    }

    #[test]
    fn a_datagram_that_announces_a_program_gets_no_sentence() {
        let row = |is_udp, bytes_to_server| UnknownTraffic {
            is_udp,
            bytes_to_server,
            connections: 1,
            ..UnknownTraffic::default()
        };
        let sentences = |rows: &[UnknownTraffic]| {
            traffic_notes(&Unknown { rows: rows.to_vec(), ..Unknown::default() }).len()
        };
        assert_eq!(sentences(&[row(true, 16)]), 0);
        assert_eq!(sentences(&[row(true, 64)]), 1);
        assert_eq!(sentences(&[row(false, 16)]), 1);
        let name = ForeignName { protocol: "DNS", ..ForeignName::default() };
        let named = UnknownTraffic { protocol: Some(name), ..row(true, 16) };
        assert_eq!(sentences(&[named]), 1);
        // It does not count among the rows that share a sentence either.
        let mut rows = vec![row(false, 1_000); SENTENCES];
        rows.push(row(true, 16));
        assert_eq!(sentences(&rows), SENTENCES);
    }
}
