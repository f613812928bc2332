//! Replays what the fuzzer found worth keeping.

#[path = "../../fuzz/script.rs"]
mod script;

use std::path::Path;

#[test]
fn the_corpus_of_the_reassembly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/reassembly");
    let mut scripts = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        script::run(&std::fs::read(entry.unwrap().path()).unwrap());
        scripts += 1;
    }
    assert!(scripts >= 4, "the corpus is not there: {}", folder.display());
}

proptest::proptest! {
    #[test]
    fn any_script_of_packets(script in proptest::collection::vec(proptest::num::u8::ANY, 0..600)) {
        script::run(&script);
    }
}
