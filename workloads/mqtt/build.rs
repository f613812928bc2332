//! Which versions of its libraries this crate is built with.

fn main() {
    wirelap_versions::tell(&["rumqttc", "rumqttd"]);
}
