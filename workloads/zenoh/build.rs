//! Build script that tells the crate the version of its library.

fn main() {
    wirelap_versions::tell(&["zenoh"]);
}
