//! The broker's confirms: a message is confirmed once the broker has taken responsibility for it.

use anyhow::{Result, anyhow};
use lapin::{Confirmation, PublisherConfirm};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Payload bytes that may be without confirm at once, and messages.
const UNCONFIRMED_BYTES: usize = 4 << 20;
const UNCONFIRMED_MESSAGES: usize = 1000;

/// The confirms that are still to come, the oldest first.
pub struct PendingConfirms {
    /// Number of messages that may be without confirm.
    pub window: usize,
    waiting: RefCell<VecDeque<PublisherConfirm>>,
}

impl PendingConfirms {
    /// For messages of this size.
    pub fn new(payload: usize) -> PendingConfirms {
        let window = (UNCONFIRMED_BYTES / payload).clamp(2, UNCONFIRMED_MESSAGES);
        PendingConfirms { window, waiting: RefCell::default() }
    }

    /// Adds that of a message. Waits when too many are missing.
    pub async fn add(&self, confirm: PublisherConfirm) -> Result<()> {
        self.waiting.borrow_mut().push_back(confirm);
        self.settle(self.window).await
    }

    /// Takes confirms that are there, and waits for more until at most `left` are to come.
    pub async fn settle(&self, left: usize) -> Result<()> {
        poll_fn(|cx| {
            let mut waiting = self.waiting.borrow_mut();
            while let Some(oldest) = waiting.front_mut() {
                match Pin::new(oldest).poll(cx) {
                    Poll::Ready(Ok(Confirmation::Nack(_))) => {
                        return Poll::Ready(Err(anyhow!("the broker refused a message")));
                    }
                    Poll::Ready(Ok(_)) => drop(waiting.pop_front()),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Pending if waiting.len() > left => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }
}
