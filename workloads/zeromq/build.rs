//! Build script that tells the crate the versions of its libraries.

fn main() {
    wirelap_versions::tell(&["zmq", "zeromq"]);
}
