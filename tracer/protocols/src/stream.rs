//! Cuts one direction of a TCP flow into PDUs.
