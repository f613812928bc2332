//! From READY to DONE with a program of another's.

use crate::examples;
use crate::place::PicoAddress;
use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};
use wirelap_contract::{Done, Role, Spec};
use wirelap_harness::control::Control;
use wirelap_harness::daemon::Daemon;
use wirelap_harness::foreign::Lines;
use wirelap_harness::link::{self, Facts};

const START_LIMIT: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);
/// Round trips when nobody says how many.
const USUAL_PINGS: u64 = 10_000;
/// `z_ping` waits for ever for a reply that was lost: so long it may take in all, and so long for each ping.
const PING_LIMIT: Duration = Duration::from_secs(15);
const LIMIT_OF_EACH: Duration = Duration::from_millis(4);
/// `z_pub_thr` sends for 20 s after a second in which it waits.
const LONGEST: Duration = Duration::from_secs(20);
const BEFORE_IT_SENDS: Duration = Duration::from_secs(1);

/// Plays a role.
pub fn play(spec: &Spec, place: PicoAddress, control: &Control) -> Result<Done> {
    ensure!(spec.rate.is_none(), "zenoh-pico's examples have no rate: leave --rate away");
    let part = RoleContext { spec, place, control };
    match spec.role {
        Role::Ping => part.ping(),
        Role::Pub => part.publish(),
        Role::Sub | Role::Pong | Role::Broker | Role::Connect => part.wait(),
    }
}

struct RoleContext<'a> {
    spec: &'a Spec,
    place: PicoAddress,
    control: &'a Control,
}

impl RoleContext<'_> {
    fn start(&self) -> Result<(Daemon, Lines)> {
        let command = examples::command(self.spec, &self.place, self.pings())?;
        let mut daemon = Daemon::start(examples::program(self.spec.role), command)?;
        let output = daemon.child().stdout.take().context("a program without output")?;
        Ok((daemon, Lines::of(output)?))
    }

    fn pings(&self) -> u64 {
        self.spec.messages.unwrap_or(USUAL_PINGS) + self.spec.warmup
    }

    fn facts(&self) -> Facts {
        let role = self.spec.role;
        Facts::at(self.place.address())
            .setting("program", examples::program(role))
            .setting("mode", examples::mode(role, &self.place))
            .setting("locator", self.place.locator())
    }

    /// `z_pong` and `z_sub_thr` wait for the other side.
    fn wait(&self) -> Result<Done> {
        let (mut daemon, lines) = self.start()?;
        let deadline = Instant::now() + START_LIMIT;
        while !self.place.is_taken() {
            self.has_ended(&mut daemon)?;
            let name = examples::program(self.spec.role);
            let (locator, doubt) = (self.place.locator(), self.place.doubt());
            ensure!(Instant::now() < deadline, "{name} did not open {locator}: {doubt}");
            if self.control.wait_until(Some(Instant::now() + TICK), || self.control.stopped())? {
                return Ok(Done::default());
            }
        }
        self.control.say_ready(daemon.pid(), self.facts());
        self.until(&mut daemon, None)?;
        drop(daemon);
        Ok(self.summary(&lines))
    }

    /// `z_ping` begins at once, so it is started when it may.
    fn ping(&self) -> Result<Done> {
        self.control.say_ready(std::process::id(), self.facts().setting("-n", self.pings()));
        if !self.control.wait_for_go()? {
            return Ok(Done::default());
        }
        let (mut daemon, lines) = self.start()?;
        let patience = LIMIT_OF_EACH * u32::try_from(self.pings()).unwrap_or(u32::MAX);
        let limit = PING_LIMIT + patience;
        if !self.until(&mut daemon, Some(Instant::now() + limit))? && !self.control.stopped() {
            bail!(
                "z_ping did not end within {} s: it waits for ever for a reply that was lost. A build \
                 drops messages beyond its FRAG_MAX_SIZE (4096 bytes by default)",
                limit.as_secs()
            );
        }
        let rtt = examples::round_trips(&lines, self.spec.warmup);
        let counted = rtt.as_ref().map(|rtt| rtt.count);
        Ok(Done { sent: counted, received: counted, rtt, ..Done::default() })
    }

    fn publish(&self) -> Result<Done> {
        let told = self.spec.seconds.map_or(LONGEST, Duration::from_secs_f64);
        let sending = told.min(LONGEST);
        let facts = self.facts().setting("congestion_control", "Drop").setting("batching", true);
        self.control.say_ready(
            std::process::id(),
            facts.setting("sends for", format!("{} s", sending.as_secs_f64())),
        );
        if !self.control.wait_for_go()? {
            return Ok(Done::default());
        }
        let (mut daemon, lines) = self.start()?;
        self.until(&mut daemon, Some(Instant::now() + BEFORE_IT_SENDS + sending))?;
        drop(daemon);
        Ok(self.summary(&lines))
    }

    /// Waits until the program has ended by itself (true), or the deadline or a stop has come.
    fn until(&self, daemon: &mut Daemon, deadline: Option<Instant>) -> Result<bool> {
        loop {
            if let Some(status) = daemon.ended()? {
                let name = examples::program(self.spec.role);
                let place = self.place.locator();
                ensure!(
                    status.success(),
                    "{name} ended with {status}: does nobody listen on {place}?"
                );
                return Ok(true);
            }
            let tick = Some(Instant::now() + TICK);
            let stopped = self.control.wait_until(tick, || self.control.stopped())?;
            if stopped || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
        }
    }

    /// True if the program is done; one that failed says little more than that.
    fn has_ended(&self, daemon: &mut Daemon) -> Result<bool> {
        let Some(status) = daemon.ended()? else { return Ok(false) };
        let (name, doubt) = (examples::program(self.spec.role), self.place.doubt());
        ensure!(status.success(), "{name} ended ({status}): {doubt}");
        Ok(true)
    }

    /// Sums up the output of a program that counts messages a second. The count of a publisher includes what it dropped: that is
    /// no count of messages that were sent.
    fn summary(&self, lines: &Lines) -> Done {
        let rate = examples::mean_rate(lines).filter(|_| link::listens(self.spec.role));
        let bits = self.spec.payload as f64 * 8.0;
        let span: Vec<_> = lines.numbers::<f64>().into_iter().map(|(at, _)| at.0).collect();
        Done {
            first_ns: span.first().copied().unwrap_or(0),
            last_ns: span.last().copied().unwrap_or(0),
            payload_bit_per_s: rate.map(|rate| rate * bits),
            ..Done::default()
        }
    }
}
