//! Results of decoders that nobody has looked at yet.

use super::found::{Found, FoundFragments};
use super::places::GivenPlaces;
use super::requests::Released;
use super::round_trips::FoundExchange;
use super::subscriptions::FoundSubscription;
use super::topics::Topics;
use crate::ros::RosGraph;
use wirelap_figures::{Introduction, UncertainCounts};
use wirelap_protocols::{DiscardedMessages, PutBack, Side, UnseenParties};

/// Bytes in which messages are, or may be, that are not read; each by the sending end.
#[derive(Clone, Copy, Debug, Default)]
pub struct FoundGaps {
    /// Messages that are there by a batch's own account and cannot be read.
    pub unread: [u64; 2],
    /// True if bytes passed that no packet event brought, or that could not be decoded, so that messages may be in them.
    pub missed: [bool; 2],
    /// True if bytes passed on a connection that was open before, and of which it is not known yet what it speaks.
    pub unknown: [bool; 2],
}

/// Facts of a row that frames tell beside its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowNotes {
    /// Messages that their readers throw away.
    pub thrown_away: u64,
    /// Records of a log that no reader was sent: behind those of a reader that was seen before, and behind those of its own group.
    pub passed_over: [u64; 2],
    /// Messages that servers put back into their queues, by [`PutBack::ALL`].
    pub put_back: [u64; PutBack::ALL.len()],
    /// Messages that servers discard, and what they may discard others for.
    pub discarded: DiscardedMessages,
    /// Messages that a log had no more when their reader asked for them.
    pub not_kept: u64,
    /// Messages of which something is not certain.
    pub uncertain: UncertainCounts,
    /// The implementation of the protocol that an end uses.
    pub implementation: Option<&'static str>,
    /// Pairs of participants between which messages are not seen, if more or fewer are known now.
    pub unseen_parties: Option<UnseenParties>,
}

/// Results of decoders that nobody has looked at yet.
#[derive(Debug, Default)]
pub struct DecoderOutput {
    /// The messages.
    pub all: Vec<Found>,
    /// Fragments of messages in several datagrams.
    pub fragments: Vec<FoundFragments>,
    /// Messages that their receivers are told to skip.
    pub gaps: FoundGaps,
    /// Notes beside the figures.
    pub notes: RowNotes,
    /// Senders whose messages are handed on in order, their side, and the first message that they still have.
    pub ordered: Vec<(Side, [u8; 16], u64)>,
    /// Permissions to pass messages on.
    pub released: Vec<Released>,
    /// Subscriptions that began.
    pub subscriptions: Vec<FoundSubscription>,
    /// Topics, by their numbers, that the requests of an end are for no more, or again.
    pub asked_topics: Vec<(Side, u64, bool)>,
    /// Reasons for which a server has refused something.
    pub refusals: Vec<Box<str>>,
    /// Messages that servers have given places in their logs.
    pub given_places: Vec<GivenPlaces>,
    /// Requests that are answered, and their replies.
    pub exchanges: Vec<FoundExchange>,
    /// The names of topics.
    pub topics: Topics,
    /// True if the traces that messages name are asked for.
    pub takes_trace_contexts: bool,
    /// Names and groups that ends gave themselves.
    pub introduced: Vec<(Side, Introduction)>,
    /// The nodes of ROS 2.
    pub ros: RosGraph,
    /// The names of clients.
    pub client_names: Topics,
    /// The names of the groups that they read in.
    pub group_names: Topics,
    /// Buffer into which records are decrypted. Reused from record to record.
    pub scratch: Vec<u8>,
}

impl DecoderOutput {
    /// Forgets what was found, but not what ends said of themselves.
    pub fn forget(&mut self) {
        self.all.clear();
        self.fragments.clear();
        self.ordered.clear();
        self.released.clear();
        self.subscriptions.clear();
        self.exchanges.clear();
        self.given_places.clear();
        self.asked_topics.clear();
        self.refusals.clear();
        self.gaps = FoundGaps::default();
        self.notes = RowNotes::default();
    }
}
