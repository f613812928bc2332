//! Filters: by port, by process tree, by cgroup; changes of them, and what they learn.

mod learned;
mod ports;
mod processes;

const MESSAGES: usize = 23;
