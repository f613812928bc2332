//! The hosts of a fleet, whose streams come in one.

use super::news::News;
use crate::stream::{FleetFrame, Frame, PingAnswer};

/// The most hosts whose names are remembered.
const MAX_NAMES: usize = 1_024;

/// The hosts of a fleet, in the order in which they were first there. They keep their places when the command starts again.
#[derive(Debug)]
pub struct FleetHosts {
    /// Place of the first among all hosts.
    first: usize,
    hosts: Vec<FleetHost>,
    /// By number: the host that has it at present.
    numbers: Vec<Option<usize>>,
}

#[derive(Debug)]
struct FleetHost {
    name: String,
    /// Nothing was said yet of its end.
    is_there: bool,
    /// Bytes that came of it.
    bytes: u64,
}

impl FleetHosts {
    pub fn new(first: usize) -> FleetHosts {
        FleetHosts { first, hosts: Vec::new(), numbers: Vec::new() }
    }

    /// News of a host, and its place; none if there is nothing to be told.
    pub fn news(
        &mut self,
        (number, frame, bytes): (u16, FleetFrame, u64),
    ) -> Option<(usize, News)> {
        let number = usize::from(number);
        match frame {
            FleetFrame::Trouble(what) => {
                return Some((self.first, News::Fleet((!what.is_empty()).then_some(what))));
            }
            FleetFrame::Joined(name) => return self.join(number, name),
            FleetFrame::Carrier(one, other) => {
                return Some((self.first, News::Carrier(one, other)));
            }
            FleetFrame::Left(_) | FleetFrame::Agent(_) | FleetFrame::Answered(_) => {}
        }
        let at = self.numbers.get(number).copied().flatten()?;
        let host = self.hosts.get_mut(at)?;
        host.bytes = host.bytes.saturating_add(bytes);
        let news = match frame {
            FleetFrame::Agent(Frame::Hello(hello)) => News::Hello(hello),
            FleetFrame::Agent(Frame::Records(block)) => News::Records(Box::new(block), host.bytes),
            FleetFrame::Answered(PingAnswer { number, there, sent, back }) => {
                News::Answer { number, there, ahead: None, back, sent: Some(sent) }
            }
            FleetFrame::Agent(Frame::State(state)) => News::State(state),
            FleetFrame::Agent(Frame::Lost(count)) => News::Lost(count),
            // The fleet's agent starts it again.
            FleetFrame::Agent(Frame::End(why)) => News::Ended { why, is_final: false },
            FleetFrame::Left(why) => {
                host.is_there = false;
                News::Ended { why, is_final: true }
            }
            _ => return None,
        };
        Some((self.first.saturating_add(at), news))
    }

    fn join(&mut self, number: usize, name: String) -> Option<(usize, News)> {
        let at = match self.hosts.iter().position(|host| host.name == name) {
            Some(at) => at,
            None if self.hosts.len() >= MAX_NAMES => return None,
            None => {
                let name = name.clone();
                self.hosts.push(FleetHost { name, is_there: false, bytes: 0 });
                self.hosts.len().saturating_sub(1)
            }
        };
        self.hosts.get_mut(at)?.is_there = true;
        if self.numbers.len() <= number {
            self.numbers.resize(number.saturating_add(1), None);
        }
        *self.numbers.get_mut(number)? = Some(at);
        Some((self.first.saturating_add(at), News::Joined(name)))
    }

    /// The command has ended: news for all hosts that were there, and for the fleet.
    pub fn end(&mut self, why: &str) -> Vec<(usize, News)> {
        self.numbers.clear();
        let there = self.hosts.iter_mut().enumerate().filter(|(_, host)| host.is_there);
        let ended = there.map(|(at, host)| {
            host.is_there = false;
            let news = News::Ended { why: why.to_owned(), is_final: false };
            (self.first.saturating_add(at), news)
        });
        let mut news: Vec<_> = ended.collect();
        news.push((self.first, News::Fleet(Some(why.to_owned()))));
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(hosts: &mut FleetHosts, number: u16, frame: FleetFrame) -> String {
        format!("{:?}", hosts.news((number, frame, 10)))
    }

    #[test]
    fn a_host_keeps_its_place_whatever_number_it_has() {
        let mut hosts = FleetHosts::new(3);
        let joined = |name: &str| FleetFrame::Joined(name.into());
        assert!(told(&mut hosts, 0, joined("robot")).starts_with("Some((3, Joined(\"robot\""));
        assert!(told(&mut hosts, 1, joined("hub")).starts_with("Some((4, Joined"));
        assert!(told(&mut hosts, 1, FleetFrame::Agent(Frame::Lost(2))).contains("4, Lost(2)"));
        assert_eq!(told(&mut hosts, 2, FleetFrame::Agent(Frame::Lost(2))), "None");
        assert!(told(&mut hosts, 0, FleetFrame::Left("gone".into())).contains("3, Ended"));
        let ended = hosts.end("no router");
        let told_of: Vec<usize> = ended.iter().map(|(at, _)| *at).collect();
        assert_eq!(told_of, [4, 3], "the one that was there, and the fleet");
        assert_eq!(told(&mut hosts, 1, FleetFrame::Agent(Frame::Lost(2))), "None");
        assert!(told(&mut hosts, 0, joined("hub")).starts_with("Some((4, Joined"));
        assert!(told(&mut hosts, 0, FleetFrame::Agent(Frame::Lost(2))).contains("4, Lost(2)"));
    }
}
