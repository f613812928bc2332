use super::*;

/// The numbers of the messages that a frame has, and what the slowest took.
#[derive(Clone, Debug, PartialEq)]
struct Numbers(Vec<u32>, Option<Nanos>);

impl PlaybackFrame for Numbers {
    fn bytes(&self) -> usize {
        100
    }

    fn thin(&mut self) {}

    fn slowest(&self) -> Option<Nanos> {
        self.1
    }

    fn absorb(&mut self, later: Numbers) {
        self.0.extend(later.0);
        self.1 = self.1.max(later.1);
    }
}

const fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

fn limits(frames: usize) -> FrameLimits {
    FrameLimits { interval: ms(100), frames, bytes: 1 << 20 }
}

/// A frame each 100 ms, the first of which ends 100 ms after the beginning.
fn read(frames: u32, limits: FrameLimits) -> Playback<Numbers> {
    let mut playback = Playback::new(limits);
    for number in 1..=frames {
        let at = ms(5_000 + u64::from(number) * 100);
        playback.push(ms(5_000), at, Numbers(vec![number], Some(ms(u64::from(number % 7)))));
    }
    playback
}

/// Contents of a screen: it forgets everything when it is told so.
#[derive(Default)]
struct Screen(Vec<u32>);

impl Screen {
    fn look(&mut self, playback: &mut Playback<Numbers>) {
        if playback.has_restarted() {
            self.0.clear();
        }
        playback.take(&mut |frame| self.0.extend(&frame.0));
    }
}

fn up_to(last: u32) -> Vec<u32> {
    (1..=last).collect()
}

#[test]
fn while_files_are_read_the_screen_shows_what_was_read() {
    let mut playback = Playback::new(limits(100));
    let mut screen = Screen::default();
    screen.look(&mut playback);
    assert!(screen.0.is_empty());
    for number in 1..=10 {
        let at = ms(u64::from(number) * 100);
        playback.push(ms(0), at, Numbers(vec![number], None));
        screen.look(&mut playback);
        assert_eq!(screen.0, up_to(number));
    }
    playback.complete();
    assert_eq!(playback.player().position(), ms(1_000));
}

#[test]
fn at_the_end_it_plays_from_the_beginning() {
    let mut playback = read(10, limits(100));
    playback.complete();
    let mut screen = Screen::default();
    screen.look(&mut playback);
    playback.control(Player::play_pause);
    screen.look(&mut playback);
    assert_eq!(screen.0, [1]);
    playback.advance(ms(450));
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(4));
    playback.control(Player::faster);
    playback.advance(ms(200));
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(8));
    playback.advance(ms(60_000));
    screen.look(&mut playback);
    assert_eq!((screen.0.len(), playback.player().is_playing()), (10, false));
}

#[test]
fn moving_back_begins_again() {
    let mut playback = read(10, limits(100));
    let mut screen = Screen::default();
    screen.look(&mut playback);
    playback.control(|player| player.seek(ms(350)));
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(3));
    playback.control(|player| player.back(ms(100)));
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(2));
    playback.control(|player| player.forward(ms(100)));
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(3));
    playback.control(Player::seek_end);
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(10));
}

#[test]
fn merged_frames_have_everything_and_nothing_twice() {
    let mut playback = Playback::new(limits(8));
    let mut screen = Screen::default();
    for number in 1..=100 {
        playback.push(ms(0), ms(u64::from(number) * 100), Numbers(vec![number], None));
        // A frame may be merged between the two calls of a look.
        if playback.has_restarted() {
            screen.0.clear();
        }
        if number % 3 == 0 {
            playback.push(ms(0), ms(u64::from(number) * 100), Numbers(vec![], None));
        }
        playback.take(&mut |frame| screen.0.extend(&frame.0));
    }
    screen.look(&mut playback);
    screen.look(&mut playback);
    assert_eq!(screen.0, up_to(100));
    let frames = playback.frames();
    assert!(frames.len() <= 8 && frames.interval() >= ms(1_600), "{:?}", frames.interval());
}

#[test]
fn the_slowest_message_is_found_in_merged_frames_too() {
    for count in [10, 100] {
        let mut playback = read(count, limits(16));
        assert_eq!(playback.seek_worst(), Some(ms(6)));
        let mut screen = Screen::default();
        screen.look(&mut playback);
        assert!(screen.0.contains(&6), "{:?}", screen.0);
    }
    assert_eq!(Playback::<Numbers>::new(limits(8)).seek_worst(), None);
}

#[test]
fn frames_are_bounded_by_their_memory() {
    let limits = FrameLimits { bytes: 10_000, ..limits(1_000) };
    let playback = read(1_000, limits);
    assert!(playback.frames().bytes() <= 10_000, "{}", playback.frames().bytes());
    assert!(playback.frames().len() >= 50);
}

#[test]
fn times_that_go_back_do_not_shorten_a_trace() {
    let mut playback = Playback::new(limits(8));
    for at in [100, 300, 200, 0] {
        playback.push(ms(100), ms(at), Numbers(vec![], None));
    }
    assert_eq!(playback.frames().length(), ms(200));
    assert_eq!(playback.frames().up_to(ms(200)), 4);
}

/// Whatever is done, the position is within the trace and the screen has the frames up to it, once each.
#[test]
fn any_sequence_of_controls_shows_what_is_up_to_the_position() {
    let mut random = fastrand::Rng::with_seed(16);
    for _ in 0..200 {
        let mut playback = Playback::new(limits(random.usize(1..40)));
        let mut screen = Screen::default();
        let (mut read, mut looked) = (0, false);
        for _ in 0..random.usize(1..120) {
            let time = ms(random.u64(0..3_000));
            match random.u8(0..12) {
                0..=3 => {
                    read += 1;
                    playback.push(
                        ms(0),
                        ms(read * 100),
                        Numbers(vec![u32::try_from(read).unwrap()], None),
                    );
                }
                4 => playback.advance(time),
                5 => playback.control(Player::play_pause),
                6 => playback.control(|player| player.seek(time)),
                7 => playback.control(|player| player.back(ms(100))),
                8 => playback.control(|player| player.forward(ms(100))),
                9 => {
                    playback.control(if time.0.is_multiple_of(2) {
                        Player::faster
                    } else {
                        Player::slower
                    });
                }
                10 if time.0.is_multiple_of(5) => playback.complete(),
                10 => playback.control(Player::seek_end),
                _ => {
                    screen.look(&mut playback);
                    looked = true;
                }
            }
            let player = playback.player();
            assert!(player.position() <= player.length() && player.length() == ms(read * 100));
            if std::mem::take(&mut looked) {
                let frames = playback.frames();
                let ended = frames.up_to(player.position()).max(1).min(frames.len());
                let shown: Vec<u32> =
                    frames.get(0..ended).iter().flat_map(|frame| frame.0.clone()).collect();
                assert_eq!(screen.0, shown);
            }
        }
    }
}
