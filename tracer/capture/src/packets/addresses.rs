//! The addresses of this host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses of all devices in this network namespace, without those of loopback; none if the kernel does not tell them.
#[allow(unsafe_code)]
pub fn own_addresses() -> Vec<IpAddr> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the function writes a pointer to a list that it has allocated behind the pointer, or fails.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list's pointers are null or valid until it is freed (getifaddrs(3)).
    while let Some(entry) = unsafe { next.as_ref() } {
        found.extend(address(entry.ifa_addr));
        next = entry.ifa_next;
    }
    // SAFETY: the list is from getifaddrs, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    found.retain(|address: &IpAddr| !address.is_loopback());
    found.sort_unstable();
    found.dedup();
    found
}

/// The address behind a pointer of the list; `None` if it is of another family.
#[allow(unsafe_code)]
fn address(of: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the pointer is null, or to an address of the family that it begins with (getifaddrs(3)).
    match i32::from(unsafe { of.as_ref() }?.sa_family) {
        libc::AF_INET => {
            // SAFETY: see above; the copy does not need the address to be aligned.
            let address = unsafe { of.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as for IPv4.
            let address = unsafe { of.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_of_loopback_and_none_is_there_twice() {
        let addresses = own_addresses();
        assert!(addresses.iter().all(|address| !address.is_loopback()), "{addresses:?}");
        assert!(addresses.is_sorted_by(|a, b| a < b), "{addresses:?}");
    }
}
