//! Entries that are read on a thread of their own.

use crate::any::told;
use crate::round_trip::{Held, read, write};
use proptest::prelude::*;
use wirelap_recording::{EncoderSettings, Recording, ShownSightings};
use wirelap_test_support::event::OwnedEvent;

/// A file with more entries than fit into the batches that are read ahead, now and then.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let settings = EncoderSettings { shown: ShownSightings::Once, payload: true };
    (prop::collection::vec(told(), 1..40), 1..200usize).prop_map(move |(told, times)| {
        let told: Vec<OwnedEvent> = std::iter::repeat_n(told, times).flatten().collect();
        write(&told, settings)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn they_are_the_same_in_the_same_order(file in file()) {
        let mut ahead = Vec::new();
        let mut recording = Recording::new(&file[..]).unwrap();
        let all = recording.read_ahead(|entry| {
            ahead.push(Held::of(&entry));
            Ok::<_, ()>(())
        });
        let (one_by_one, problems, counts) = read(&file);
        prop_assert_eq!(all, Ok(()));
        prop_assert_eq!(ahead, one_by_one);
        prop_assert!(recording.next().is_none());
        prop_assert_eq!((recording.problems(), recording.counts()), (&problems, counts));
    }

    #[test]
    fn whoever_fails_is_given_nothing_more(file in file(), most in 1..3000usize) {
        let mut taken = 0;
        let ended = Recording::new(&file[..]).unwrap().read_ahead(|_| {
            taken += 1;
            if taken == most { Err("enough") } else { Ok(()) }
        });
        let there = read(&file).0.len();
        prop_assert_eq!(taken, most.min(there));
        prop_assert_eq!(ended, if there >= most { Err("enough") } else { Ok(()) });
    }
}
