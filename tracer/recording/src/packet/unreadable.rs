//! Why a captured packet gives no event.

/// Why a captured packet gives no event: it cannot carry messages, or that cannot be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Not IP, or neither TCP nor UDP.
    Protocol,
    /// A later IP fragment, which has no ports.
    Fragment,
    /// Its headers were not captured as a whole, or contradict themselves.
    Cut,
    /// Its link header is of a type that is not read.
    Link,
}
