//! The broker of a trial, and the words that mean it.

use crate::catalogue::ALL;
use std::net::ToSocketAddrs;
use wirelap_contract::About;
use wirelap_session::listening;

/// The broker of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broker {
    /// A broker of this name, which wirelap starts and stops.
    Own(String),
    /// A broker that runs already, at this `HOST:PORT`.
    Running(String),
}

impl Broker {
    /// The broker's name in results.
    pub fn name(&self) -> &str {
        match self {
            Broker::Own(name) => name,
            Broker::Running(address) => address,
        }
    }

    /// The process that runs already. It is looked for before tracing begins: later, wirelap may not see the sockets of others.
    pub fn process(&self) -> Option<u32> {
        match self {
            Broker::Own(_) => None,
            Broker::Running(address) => listening::process(address.to_socket_addrs().ok()?.next()?),
        }
    }
}

/// The brokers that the words of `--broker` mean for a middleware; its default broker if none of them is for it, and a single
/// `None` if it uses no broker.
pub fn brokers(about: &About, words: &[String]) -> Vec<Option<Broker>> {
    let Some(first) = about.brokers.first() else { return vec![None] };
    if words.iter().any(|word| word == ALL) {
        return about.brokers.iter().map(|known| Some(Broker::Own(known.name.clone()))).collect();
    }
    let found: Vec<_> = words.iter().filter_map(|word| broker(about, word)).map(Some).collect();
    if found.is_empty() { vec![Some(Broker::Own(first.name.clone()))] } else { found }
}

/// The broker that one word of `--broker` means for a middleware; `None` if the word is for another middleware.
pub fn broker(about: &About, word: &str) -> Option<Broker> {
    if about.brokers.iter().any(|known| known.name == word) {
        return Some(Broker::Own(word.to_owned()));
    }
    let (scheme, address) = match word.split_once("://") {
        Some((scheme, address)) => (Some(scheme), address.trim_end_matches('/')),
        None => (None, word),
    };
    let is_address = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let is_ours = !about.brokers.is_empty() && scheme.is_none_or(|scheme| speaks(about, scheme));
    (is_address && is_ours).then(|| Broker::Running(address.to_owned()))
}

/// True if a middleware speaks the protocol of a scheme: `zenoh://` is for `zenoh-brokered`, too.
fn speaks(about: &About, scheme: &str) -> bool {
    about.name.strip_prefix(scheme).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
