//! Settings that the screen remembers from one start to the next.

use crate::bench::Bench;
use crate::screen::Screen;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_screen_is_as_it_was_left() {
    let bench = Bench::new();
    let state = bench.file("state");
    fs::create_dir(&state).unwrap();
    let start = |name: &str, words: &str| {
        let folder = bench.file(name);
        fs::create_dir(&folder).unwrap();
        let words = format!("live --save-to {} {words}", folder.display());
        let call = bench.wirelap(words.trim_end()).remembering(&state);
        Screen::start(&folder, |slave| call.on_terminal(slave, false))
    };
    let end = |mut screen: Screen| {
        screen.press("q");
        let (status, printed) = screen.end();
        assert_eq!(status, Some(0), "{printed}");
    };
    let mut screen = start("first", "");
    screen.until(&["since start"]);
    screen.press("tt");
    screen.until(&["last 1 s"]);
    end(screen);
    let file = state.join("wirelap/screen.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("window = \"last 1 s\""), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let mut screen = start("second", "");
    screen.until(&["last 1 s"]);
    end(screen);
    let mut screen = start("third", "--no-state");
    screen.until(&["since start"]);
    end(screen);
    // A text that is no TOML is ignored.
    fs::write(&file, "what = [is this").unwrap();
    let mut screen = start("fourth", "");
    screen.until(&["since start"]);
    end(screen);
}
