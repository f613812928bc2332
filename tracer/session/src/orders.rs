//! Orders to the thread that traces.

use crate::sampling::Sampling;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use wirelap_correlate::Label;

/// An order to the thread.
#[derive(Debug)]
pub enum Order {
    /// Follow a port too.
    Port(u16),
    /// Name a row,
    /// and whom to tell when it holds.
    Label(Label, Sender<()>),
    /// The workloads begin.
    Begin(Sampling),
    /// Attach and detach by turns of this length.
    Alternate(Duration),
    /// Take in what is on its way, and end.
    End,
}

/// Gives orders to a tracer's thread. A thread that has ended tells so by its findings, not here.
#[derive(Clone, Debug)]
pub struct Orders(Sender<Order>);

impl Orders {
    /// The two ends.
    pub fn channel() -> (Orders, Receiver<Order>) {
        let (orders, taken) = channel();
        (Orders(orders), taken)
    }

    /// Follows a port too.
    pub fn follow_port(&self, port: u16) {
        self.give(Order::Port(port));
    }

    /// Names a row. Returns once the name holds: traffic from now on is in that row.
    pub fn label(&self, label: Label) {
        let (done, wait) = channel();
        self.give(Order::Label(label, done));
        // An error means that the thread has ended, which is told elsewhere.
        let _ = wait.recv();
    }

    /// The workloads begin: from here on the tracer's cost counts, and events are sampled.
    pub fn begin(&self, sampling: Sampling) {
        self.give(Order::Begin(sampling));
    }

    /// From here on the probes are attached and detached by turns of this length.
    pub fn alternate(&self, turn: Duration) {
        self.give(Order::Alternate(turn));
    }

    /// Gives an order.
    pub fn give(&self, order: Order) {
        let _ = self.0.send(order);
    }
}
