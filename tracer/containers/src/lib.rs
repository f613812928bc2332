//! The container, pod or unit in which each process runs, by the path of its cgroup, and its network
//! namespace.
//!
//! | module | what |
//! |---|---|
//! | [`Container`] | what a cgroup's path says |
//! | `path` | the text of `/proc/PID/cgroup` → [`Container`] |
//! | `layout` | a directory of such a path → what it is |
//! | `unit` | the names of systemd's units |
//! | `places` | where each process runs, as far as the caller has read it |
//!
//! Nothing here reads a file: texts come in, as the caller has read them.

// What a cgroup's path or a file says may be anything.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod container;
mod layout;
mod path;
mod places;
mod unit;

pub use container::{Container, ContainerKind, Pod};
pub use path::container_of;
pub use places::{CgroupRead, ContainerNames, NetworkNamespace, Place, Places};
