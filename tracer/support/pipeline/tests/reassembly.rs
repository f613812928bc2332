//! Replays what the fuzzer of the reassembly found worth keeping.

use wirelap_test_pipeline::reassembly::run;
use wirelap_test_support::committed::repository;

#[test]
fn the_corpus_of_the_reassembly() {
    let folder = repository("tracer/flow/fuzz/corpus/reassembly");
    let mut scripts = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        scripts += 1;
    }
    assert!(scripts >= 4, "the corpus is not there: {}", folder.display());
}

proptest::proptest! {
    #[test]
    fn any_script_of_packets(script in proptest::collection::vec(proptest::num::u8::ANY, 0..600)) {
        run(&script);
    }
}
