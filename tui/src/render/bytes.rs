//! The view "bytes": all bytes that the device carried for the selected row.
//!
//! ```text
//! ─ bytes since start: mqtt mosquitto 127.0.0.1:1883 ──────────────────────────
//!  298 bytes a message in 2 packets, ×2.33 the payload; as Ethernet 298 in 2 frames
//!
//!  by part
//!  PART              BYTES   SHARE    A MSG    LEG 1    LEG 2
//!  payload        5.35 MiB  42.9 %      128       64       64  ██████████████████
//!  header         1.17 MiB   9.3 %       28       14       14  ████
//!  …
//!  all            12.4 MiB   100 %      298
//!
//!  by operation
//!  OPERATION       COUNT      EACH    A MSG     BYTES
//!  open                1        32     0.00      32 B
//!
//!  what is not known
//!  At least 3 packets (1.2 KiB) were not captured when sent …
//! ```
//! Up to 119 columns, the legs have a table of their own. From 160 columns on, operations and holes are to the right of the parts.

use super::page::{self, Page};
use crate::app::App;
use crate::theme::Theme;
use crate::{columns as rows, text};
use ratatui::Frame;
use ratatui::layout::Rect;
use wirelap_correlate::snapshot::{Group, Holes, Unseen};
use wirelap_report::{LegBytes, PartsBytes, ReportedOverhead};

/// Width of the parts where operations and holes are beside them, in columns.
const PARTS_WIDTH: u16 = 106;
/// Least width of the operations and holes beside the parts.
const OPERATIONS_WIDTH: u16 = 54;
/// From this width on, the parts have a column for each leg.
const LEG_COLUMNS: usize = 100;
/// Columns of a table before the bars.
const TABLE: usize = 45;
/// Columns of a figure of a leg.
const LEG: usize = 9;
/// The longest bar.
const BAR: usize = 60;

/// Draws the view of the selected row.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let Some(group) = app.selected() else { return };
    let title = format!("bytes since start: {}", rows::name(group));
    let overhead = ReportedOverhead::from(&group.overhead);
    if let Some([left, right]) = page::widths(area, PARTS_WIDTH, OPERATIONS_WIDTH) {
        let (mut parts, mut rest) = (Page::new(left, theme), Page::new(right, theme));
        by_part(&mut parts, group, &overhead);
        by_operation(&mut rest, &overhead);
        holes(&mut rest, &group.holes);
        return page::beside(frame, area, &title, [parts, rest], app.scroll());
    }
    let mut all = Page::new(area.width, theme);
    by_part(&mut all, group, &overhead);
    by_operation(&mut all, &overhead);
    holes(&mut all, &group.holes);
    page::one(frame, area, &title, all, app.scroll());
}

/// Bytes divided among the deliveries; a dash without deliveries.
fn each(overhead: &ReportedOverhead, bytes: u64) -> String {
    match overhead.deliveries {
        0 => text::NONE.into(),
        deliveries => text::number(bytes as f64 / deliveries as f64),
    }
}

fn by_part(page: &mut Page, group: &Group, overhead: &ReportedOverhead) {
    if overhead.total_bytes == 0 {
        page.sentence(
            "No packet of this row was captured: nothing has been sent yet, or its messages use no socket, or the filters exclude \
             its packets.",
        );
        return;
    }
    page.sentence(&in_short(overhead));
    if overhead.deliveries == 0 {
        let delivered = text::exact(group.messages.delivered);
        page.sentence(&format!(
            "{delivered} messages were delivered, so that bytes a message are not known."
        ));
    }
    let matrix = page.width >= LEG_COLUMNS;
    parts(page, overhead, if matrix { &overhead.legs } else { &[] });
    if !matrix {
        by_leg(page, overhead);
    }
    by_layer(page, overhead);
}

/// The table of the parts, with a column for each of these legs.
fn parts(page: &mut Page, overhead: &ReportedOverhead, legs: &[LegBytes]) {
    page.heading("by part");
    let heads: String = legs.iter().map(|leg| text::right(&leg_name(leg), LEG)).collect();
    columns(page, "PART", &heads);
    let all = overhead.parts_bytes.named();
    let most = all.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    for (at, (name, bytes)) in all.into_iter().enumerate() {
        if bytes == 0 && name != "payload" {
            continue;
        }
        let of_leg = |leg: &LegBytes| {
            let bytes = leg.parts_bytes.named().get(at).map_or(0, |(_, bytes)| *bytes);
            text::right(&each(overhead, bytes), LEG)
        };
        let cells: String = legs.iter().map(of_leg).collect();
        line(page, name, bytes, overhead, &cells, most);
    }
    let of_leg = |leg: &LegBytes| text::right(&each(overhead, leg.total_bytes), LEG);
    let cells: String = legs.iter().map(of_leg).collect();
    line(page, "all", overhead.total_bytes, overhead, &cells, 0);
}

/// The names of the columns of a table of bytes.
fn columns(page: &mut Page, what: &str, more: &str) {
    let what = text::left(what, 16);
    page.columns(&format!(" {what}{:>10}{:>8}{:>9}{more}", "BYTES", "SHARE", "A MSG"));
}

/// The bytes of each leg, all parts together.
fn by_leg(page: &mut Page, overhead: &ReportedOverhead) {
    page.heading("by leg");
    columns(page, "LEG", "");
    let most = overhead.legs.iter().map(|leg| leg.total_bytes).max().unwrap_or_default();
    for leg in &overhead.legs {
        line(page, &leg_name(leg), leg.total_bytes, overhead, "", most);
    }
}

/// A row of a table of bytes. `most` are the bytes of the longest bar; 0 for no bar.
fn line(
    page: &mut Page,
    name: &str,
    bytes: u64,
    overhead: &ReportedOverhead,
    more: &str,
    most: u64,
) {
    let share = bytes as f64 / overhead.total_bytes.max(1) as f64;
    let cells = format!(
        " {}{}{}{}{more}  ",
        text::left(name, 16),
        text::right(&text::bytes(bytes), 10),
        text::right(&text::share(share), 8),
        text::right(&each(overhead, bytes), 9),
    );
    let room = page.room(TABLE.max(text::width(&cells)), BAR);
    let bar = if most == 0 { String::new() } else { text::bar(bytes, most, room) };
    page.row(cells, bar);
}

fn leg_name(leg: &LegBytes) -> String {
    if leg.leg == 0 { "NO LEG".into() } else { format!("LEG {}", leg.leg) }
}

/// The figures of all bytes together.
fn in_short(overhead: &ReportedOverhead) -> String {
    let mut out = format!(
        "{} in {} packets",
        text::bytes(overhead.total_bytes),
        text::exact(overhead.packets)
    );
    if overhead.deliveries > 0 {
        out = format!(
            "{} bytes a message in {} packets; as Ethernet {} in {} frames",
            each(overhead, overhead.total_bytes),
            each(overhead, overhead.packets),
            each(overhead, overhead.ethernet.frame_bytes),
            each(overhead, overhead.ethernet.frames),
        );
    }
    if overhead.ratio > 0.0 {
        out = format!("{out}; {} times the payload", text::number(overhead.ratio));
    }
    out + "."
}

/// The bytes by layer. Those of packets without data are in the layers of their headers.
fn by_layer(page: &mut Page, overhead: &ReportedOverhead) {
    let layers = &overhead.layers_bytes;
    let rows = [
        ("payload", layers.payload),
        ("protocol", layers.protocol),
        ("control", layers.control),
        ("opaque", layers.opaque),
        ("transport", layers.transport),
        ("network", layers.network),
        ("link", layers.link),
        ("retransmitted", layers.retransmitted),
    ];
    page.heading("by layer, with packets without data in the layers of their headers");
    columns(page, "LAYER", "");
    let most = rows.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    for (name, bytes) in rows.into_iter().filter(|(_, bytes)| *bytes > 0) {
        line(page, name, bytes, overhead, "", most);
    }
}

fn by_operation(page: &mut Page, overhead: &ReportedOverhead) {
    if overhead.total_bytes == 0 {
        return;
    }
    page.heading("by operation of the protocol");
    if overhead.operations.is_empty() {
        page.sentence("No operation was decoded.");
    } else {
        page.columns(&format!(
            " {}{:>12}{:>10}{:>9}{:>11}",
            text::left("OPERATION", 12),
            "COUNT",
            "EACH",
            "A MSG",
            "BYTES"
        ));
    }
    for one in &overhead.operations {
        let mean = if one.count == 0 { text::NONE.into() } else { text::number(one.mean_bytes) };
        page.row(
            format!(
                " {}{}{}{}{}",
                text::left(&one.operation, 12),
                text::right(&text::exact(one.count), 12),
                text::right(&mean, 10),
                text::right(&each(overhead, one.total_bytes), 9),
                text::right(&text::bytes(one.total_bytes), 11),
            ),
            String::new(),
        );
    }
    if !overhead.operations.is_empty() {
        page.say(
            " ",
            "The protocol's own bytes, without payload and lower layers. open and close count sessions, publish counts messages \
             on each leg and to each reader, the others count frames.",
            page.theme.dim(),
        );
    }
    retransmissions(page, overhead);
}

fn retransmissions(page: &mut Page, overhead: &ReportedOverhead) {
    let PartsBytes { retransmitted, repeats, .. } = overhead.parts_bytes;
    page.heading("sent again");
    if overhead.retransmissions == 0 && retransmitted == 0 && repeats == 0 {
        return page.sentence("Nothing was sent again.");
    }
    page.sentence(&format!(
        "TCP retransmitted {}; {} were on the device before. The protocol itself repeated {} of payload.",
        text::counted(overhead.retransmissions, "time"),
        text::unbroken(&text::bytes(retransmitted)),
        text::unbroken(&text::bytes(repeats)),
    ));
}

fn holes(page: &mut Page, holes: &Holes) {
    page.heading("what is not known");
    let before = page.lines.len();
    let mut unseen = |unseen: Unseen, when: &str| {
        if unseen.packets > 0 {
            let packets = text::counted_as(unseen.packets, "packet was", "packets were");
            let bytes = text::unbroken(&text::bytes(unseen.bytes));
            page.warning(&format!(
                "At least {packets} not captured when {when} ({bytes}), by the sockets' sequence numbers."
            ));
        }
    };
    unseen(holes.sent, "sent");
    unseen(holes.received, "received");
    let mut bytes = |bytes: u64, what: &str| {
        if bytes > 0 {
            page.warning(&format!("{} {what}", text::unbroken(&text::bytes(bytes))));
        }
    };
    bytes(holes.uncaptured_bytes, "of payload were beyond the snap length and not captured.");
    bytes(
        holes.undecoded_bytes,
        "could not be decoded: a gap, or a connection joined in mid-stream.",
    );
    if holes.unread_packets > 0 {
        let packets = text::counted_as(holes.unread_packets, "packet", "packets");
        page.warning(&format!("{packets} of QUIC not read, or not in the capture."));
    }
    if page.lines.len() == before {
        page.sentence("No packet and no byte of this row is known to be missing.");
    }
}
