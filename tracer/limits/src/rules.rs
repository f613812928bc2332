//! Numbers of messages, shares and times by which causes are weighed and verdicts made.

use super::ms;
use wirelap_events::Nanos;

/// Messages from which on something is said of their time: fewer tell nothing of a median.
pub const MIN_MESSAGES_FOR_VERDICT: u64 = 20;

/// Slow messages from which on it is no coincidence.
pub const MIN_SLOW_MESSAGES: f64 = 3.0;

/// Times what is much for its kind from which on even a single slow message is no coincidence.
pub const SLOW_BEYOND_CHANCE: f64 = 50.0;

/// Part of all messages that are the slowest, and the least number of them where messages are few.
pub const SLOWEST_PART: u64 = 100;

/// Messages from which on there is a tail.
pub const MIN_MESSAGES_IN_TAIL: u64 = 10;

/// Part of all messages that are called slow, as a divisor: the slowest quarter.
pub const SLOW_PART: u64 = 4;

/// Begin and end of the middle fifth, the messages near the median.
pub const MIDDLE: (f64, f64) = (0.4, 0.6);

/// Tails that are told: the part, and one in so many messages.
pub const TAILS: [(f64, u64); 2] = [(0.01, 100), (0.001, 1000)];

/// Part of a cause's mean cost below which a message tells nothing of when it was so, as a divisor.
pub const PERIOD_DIVISOR: f64 = 4.0;

/// Messages more, as a divisor of those that there are, after which it is looked again what is typical.
pub const TYPICAL_RENEWAL: u64 = 4;

/// Time within which all that passes is one event, however many messages it holds up: a pause of a garbage collector, say.
pub const LONGEST_EVENT: Nanos = ms(50);

/// Part of what the first process has of a cause below which another one is not told.
pub const MINOR_PROCESS: f64 = 0.2;

/// Part of all that slow messages lose below which a cause of few of them is a note, and time without a cause is not told: others have
/// to be mended before.
pub const MINOR_CAUSE: f64 = 0.05;

/// Processes from which on those that share a cause are told together.
pub const CROWD: usize = 6;

/// Share of a wait for a CPU below which its holder is not named: it would be shown as 0 %.
pub const LEAST_SHOWN_SHARE: f64 = 0.005;

/// Times that a start-up may take of all messages before it is weighed with the others.
pub const STEADY_DIVISOR: u64 = 4;

/// Time that a start-up has to cost a message to be told, in nanoseconds.
pub const LEAST_START_UP: f64 = 1e6;

/// Part of all messages that is claimed for start-ups at most.
pub const LARGEST_START_UP_SHARE: f64 = 0.01;

/// Share of time on a CPU from which on a thread has no room left.
pub const SATURATED_CPU: f64 = 0.8;

/// Share of time on a CPU below which a thread is short of nothing.
pub const IDLE_CPU: f64 = 0.1;

/// Part of all messages from which on long work recurs: at fewer times it is an exception, as when code is compiled while it runs. A batch
/// is one time.
pub const RECURRING_WORK: f64 = 0.05;

/// Work on a typical message that is long if the thread is on a CPU often.
pub const LONG_WORK: Nanos = ms(2);

/// Work on a message that is long however seldom the thread is on a CPU.
pub const VERY_LONG_WORK: Nanos = ms(5);

/// Share of a wait for which the row's own processes had the CPU: from here on it is among themselves.
pub const HANDED_OVER: f64 = 0.75;

/// Share of a typical message that is most of its time.
pub const MOST_OF_TIME: f64 = 0.5;

/// Wait that is no mere handing over, if it is most of a typical message's time.
pub const LONGEST_HAND_OVER: Nanos = ms(1);

/// Time after which a thread that has a CPU has given it up if others want it: Linux's base slice is 3 ms at most.
pub const SCHEDULER_TURN: Nanos = ms(5);

/// Part of a wait, as a divisor: a thread that had a CPU for less did not work in most of it.
pub const AT_WORK_DIVISOR: u64 = 4;

/// Times what a thread had a CPU up to which it may be said to have worked: not all is known to the moment.
pub const CPU_TIME_SLACK: u64 = 2;

/// Share of time on a CPU below which a process is not at work whenever a message comes.
pub const CPU_AT_REST: f64 = 0.015;

/// Share of the typical message from which on a cause was there most of the time.
pub const THERE_MOSTLY: f64 = 0.2;

/// Share of time in which a process waits for CPU quota from which on it is late, even where no latency shows it.
pub const OFTEN_THROTTLED: f64 = 0.1;

/// Waits for CPU quota that add up to less are no verdict: a fifth of the usual period.
pub const LEAST_THROTTLED: Nanos = ms(20);

/// One in so many messages may be missing at the ends of an observation.
pub const TOLERATED_LOSS: u64 = 1000;

/// One in so many messages may be missing on the publisher's way out.
pub const TOLERATED_GAPS: u64 = 100;

/// Repetitions from which on they are no single mishap.
pub const MIN_DUPLICATES: u64 = 3;

/// Part of what TCP sent again that arrived all the same, and of how many parts, from which on nothing was lost.
pub const NEARLY_ALL: (u64, u64) = (9, 10);

/// Time from publish to send from which on a library waits for more messages.
pub const SHORTEST_LINGER: Nanos = ms(3);

/// Share of a message's whole time from which on its library's wait matters.
pub const LINGER_SHARE: f64 = 0.3;

/// Time from the publication that a message tells to its send up to which a library keeps it by default: librdkafka and Kafka's own producer
/// 5 ms, franz-go 10 ms, and half of that in the median.
pub const LONGEST_USUAL_LINGER: Nanos = ms(12);

/// Share of a message's whole time from which on its wait for the reply to earlier ones matters: with less, the reply is as late as the message
/// itself.
pub const AWAITED_REPLY_SHARE: f64 = 0.6;

/// Time after a reply within which a library writes what waited for it.
pub const LONGEST_SEND_AFTER_REPLY: Nanos = ms(1);

/// Pages that a process waits for in a second from which on it lacks memory: its own code is read again and again from the disk, as in a
/// memory cgroup whose limit is reached. A program that starts, or that opens files, waits for some at first.
pub const MANY_PAGE_FAULTS: f64 = 5.0;

/// Resolution of the times that messages have from their publishers: a message that was made later than it was sent has another time.
pub const CLOCK_STEP: Nanos = ms(1);

/// Time for which a library keeps a message at most: Kafka's producers give it up after two minutes (`delivery.timeout.ms`, librdkafka: five).
pub const LONGEST_KEPT: Nanos = ms(120_000);

/// Time by which a message may be made before the one ahead of it in its log: a thread that has stamped a message may lose the CPU before it
/// hands that on.
pub const LARGEST_STAMP_DISORDER: Nanos = ms(20);

/// Time for which messages wait at most while their producer connects. What was made earlier is from another time.
pub const LONGEST_CONNECTING: Nanos = ms(1_000);

/// Quantiles of the times for which messages are kept that tell whether they are gathered.
pub const GATHERED: (f64, f64) = (0.1, 0.9);

/// Part of the longest times for which messages are kept, as a divisor, up to which the shortest show that they are gathered. Where a message
/// is alone in its batch, or has the time of something that happened before, all times are alike.
pub const GATHERED_DIVISOR: u64 = 2;

/// Share of messages with times that cannot be those of their publication up to which the others are believed.
pub const MAX_UNLIKELY_SHARE: f64 = 0.1;

/// Part of the library's wait that is spent behind it, as a divisor: from there on, it waits for its socket.
pub const PUSHED_BACK_DIVISOR: f64 = 5.0;

/// Quantile that is called the median, and one beyond which only one in a hundred is.
pub const MEDIAN: f64 = 0.5;
/// Quantile beyond which only one in a hundred is.
pub const NINETY_NINTH: f64 = 0.99;

/// Length of the windows by which it is told when a cause took time, as long as there are few.
pub const SHORTEST_WINDOW: Nanos = ms(1_000);

/// Times that clients on other hosts take a name back from each other from which on they are several: one that comes back from another address
/// may do so once or twice before its server notices that its connection was gone.
pub const MIN_TAKEN_BACK_ELSEWHERE: u64 = 3;
