//! Picks the protocol of a flow: content first, the ports as a hint.
