//! wirelap with fewer rights than root's, and as a service: what it can do then, and which rights it has while it does.

mod unit;

#[cfg(feature = "privileged")]
mod nobody;
#[cfg(feature = "privileged")]
mod service;
