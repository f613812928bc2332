use super::*;
use std::fs;

fn allowed(folder: &Path, force: bool, numbered: bool) -> (Outputs, PathBuf) {
    let outputs = Outputs::new(force, None);
    let path = folder.join("a.pcapng");
    outputs.allow(&path, numbered).unwrap();
    (outputs, path)
}

#[test]
fn a_file_has_its_name_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (outputs, path) = allowed(folder.path(), false, false);
    let file = outputs.begin(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    outputs.keep(&path, &file).unwrap();
    assert!(path.exists());
    let refused = Outputs::new(false, None).allow(&path, false).unwrap_err();
    assert!(refused.to_string().contains("it is there already"), "{refused}");
}

#[test]
fn a_file_replaces_the_one_that_was_kept_before_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (outputs, path) = allowed(folder.path(), false, false);
    for text in ["first", "second", "third"] {
        let mut file = outputs.begin(&path).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        outputs.keep(&path, &file).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(folder.path().join("theirs"), "theirs").unwrap();
    fs::rename(folder.path().join("theirs"), &path).unwrap();
    let file = outputs.begin(&path).unwrap();
    assert_eq!(outputs.keep(&path, &file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_file_that_came_in_between_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (outputs, path) = allowed(folder.path(), false, false);
    let file = outputs.begin(&path).unwrap();
    fs::write(&path, "new").unwrap();
    let error = outputs.keep(&path, &file).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(outputs.create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn nothing_but_what_was_allowed_is_created_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut outputs, path) = allowed(folder.path(), true, true);
    let other = folder.path().join("b.pcapng");
    fs::write(&other, "").unwrap();
    assert!(outputs.create(&other).is_err() && outputs.create(&path).is_err());
    Store::remove(&mut outputs, &other);
    assert!(other.exists());
    let second = wirelap_recording::numbered(&path, 2);
    outputs.create(&second).unwrap();
    outputs.create(&second).unwrap();
    for name in ["a-2.pcapng", "a-000002.pcapng", "a-0000x.pcapng", "../a-00002.pcapng"] {
        assert!(outputs.create(&folder.path().join(name)).is_err(), "{name}");
    }
    Store::remove(&mut outputs, &second);
    assert!(!second.exists());
}

#[test]
fn of_files_with_numbers_none_may_be_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a-00007.pcapng"), "").unwrap();
    let outputs = Outputs::new(false, None);
    assert!(outputs.allow(&folder.path().join("a.pcapng"), true).is_err());
    assert!(outputs.allow(&folder.path().join("a.pcapng"), false).is_ok());
    assert!(outputs.allow(Path::new("/dev/null"), true).is_err());
}

#[test]
fn what_a_killed_one_left_behind_is_removed_and_what_is_in_use_is_not() {
    use rustix::fs::{FlockOperation, flock};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [".wirelap-7-1-0.tmp", ".wirelap-8-1-0.tmp", ".wirelap", "wirelap-7.tmp"] {
        fs::write(at(name), "").unwrap();
    }
    let used = File::open(at(".wirelap-8-1-0.tmp")).unwrap();
    flock(&used, FlockOperation::LockExclusive).unwrap();
    allowed(folder.path(), false, false);
    assert!(!at(".wirelap-7-1-0.tmp").exists());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_ring_that_is_continued_replaces_nothing_and_knows_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcapng");
    for name in ["a-00009.pcapng", "a-00002.pcapng", "a-2.pcapng", "b-00007.pcapng", "a.pcapng"] {
        fs::write(folder.path().join(name), "there").unwrap();
    }
    let mut outputs = Outputs::new(false, None);
    outputs.allow_further(&path).unwrap();
    assert_eq!(outputs.continued(&path), [2, 9]);
    assert_eq!(outputs.continued(&folder.path().join("b.pcapng")), [0; 0]);
    let at = |number| wirelap_recording::numbered(&path, number);
    let refused = Store::create(&mut outputs, &at(9)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    Store::create(&mut outputs, &at(10)).unwrap();
    assert_eq!(fs::read_to_string(at(9)).unwrap(), "there");
    Store::remove(&mut outputs, &at(2));
    assert!(!at(2).exists() && at(9).exists());
}
