//! Links, which keep programs attached.

use std::any::Any;
use std::collections::BTreeMap;

/// Keeps a program attached; dropping it detaches the program.
pub type Link = Box<dyn Any + Send>;

/// The links of attached programs, by the name of the program.
pub type Links = BTreeMap<&'static str, Link>;
