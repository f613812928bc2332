//! Rows by name of a row that the user has muted.

use crate::brokered::{BROKER, house};
use crate::row_muted::Live;
use wirelap_correlate::{BreakdownQuery, Dimension, MutedExtent};
use wirelap_test_support::world::process;

#[test]
fn rows_by_name_of_a_muted_row_are_marked() {
    const OTHER: &str = "127.0.0.1:1884";
    let mut live = Live::new();
    let by = vec![Dimension::Process];
    live.correlator.ask_breakdown(BreakdownQuery { by, ..BreakdownQuery::default() });
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    // It publishes to both brokers.
    let both = process(20, "pub");
    let other = process(60, "other");
    let mut second = live.world.connect_mqtt(both, "127.0.0.1:40070", other, OTHER);
    let mut far = live.world.connect_mqtt(process(80, "far"), "127.0.0.1:40080", other, OTHER);
    live.publish(&mut publisher, &mut subscribers[0], 5);
    live.publish(&mut second, &mut far, 5);
    let row = live.at(BROKER).id;
    let marks = |live: &Live| {
        let rows = live.snapshot().breakdown.unwrap().rows;
        let mut rows: Vec<_> =
            rows.into_iter().map(|row| (row.names[0].clone().unwrap(), row.muted)).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    };
    let expected = |all: [MutedExtent; 3]| {
        let names = ["far (80)", "pub (20)", "sub (30)"].map(str::to_owned);
        names.into_iter().zip(all).collect::<Vec<_>>()
    };
    assert_eq!(marks(&live), expected([MutedExtent::None; 3]));
    live.mute(row);
    let some = [MutedExtent::None, MutedExtent::Part, MutedExtent::Whole];
    assert_eq!(marks(&live), expected(some));
    live.unmute(row);
    assert_eq!(marks(&live), expected([MutedExtent::None; 3]));
}
