//! Links, which keep programs attached.

use std::any::Any;
use std::collections::BTreeMap;

/// Keeps a program attached; dropping it detaches the program.
pub type ProgramLink = Box<dyn Any + Send>;

/// The links of attached programs, by the name of the program.
pub type ProgramLinks = BTreeMap<&'static str, ProgramLink>;
