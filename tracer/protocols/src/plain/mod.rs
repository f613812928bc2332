//! The framing of the plain TCP and UDP workloads.
