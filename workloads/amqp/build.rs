//! Which version of its library this crate is built with.

fn main() {
    wirelap_versions::tell(&["lapin"]);
}
