//! Writes committed captures and recordings, uncompressed, as seeds into `corpus/<target>/`.

use std::path::Path;
use wirelap_test_support::committed;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in ["pipeline", "events"] {
        std::fs::create_dir_all(folder.join(target))?;
        for (name, bytes) in committed::all(200 << 10) {
            let seed: &[u8] = if target == "events" { &[0; 8] } else { &[] };
            std::fs::write(folder.join(target).join(name), [seed, &bytes].concat())?;
        }
    }
    Ok(())
}
