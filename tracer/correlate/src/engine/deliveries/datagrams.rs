//! Marks of the datagrams that carry fragments.

use crate::join::{Carrier, Last};
use wirelap_events::Hop;
use wirelap_flow::{Arrival, Datagram, Direction, FlowTable, Marks, UdpMarks};

/// The marks of a flow's datagrams; `None` if it is none of datagrams.
pub fn udp_marks(flows: &FlowTable, direction: Direction) -> Option<&UdpMarks> {
    match &flows.flow(direction)?.marks {
        Marks::Udp(marks) => Some(marks),
        Marks::Tcp(_) => None,
    }
}

/// The datagram that carries fragments.
pub fn datagram(flows: &FlowTable, carrier: Carrier) -> Option<&Datagram> {
    udp_marks(flows, carrier.direction)?.get(carrier.number)
}

/// The arrival of the datagram with a last fragment.
pub fn arrival(flows: &FlowTable, last: Last) -> Option<Arrival<'_>> {
    udp_marks(flows, last.direction)?.arrival(last.number, last.socket)
}

/// The threads that led to the sending of a datagram.
pub fn led(flows: &FlowTable, carrier: Carrier) -> &[Hop] {
    udp_marks(flows, carrier.direction).map_or(&[], |marks| marks.led(carrier.number))
}
