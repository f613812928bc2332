//! For how long publishers keep messages before they send them, by the times in the messages.

use super::{Context, Deliveries};
use wirelap_events::{GroupId, Nanos};
use wirelap_flow::{Direction, Found, Marks};
use wirelap_limits::rules::{LARGEST_STAMP_DISORDER, LONGEST_CONNECTING, LONGEST_SEND_AFTER_REPLY};

impl Deliveries {
    /// Notes for how long the publisher of a message kept it before it wrote it, by the time that the message has from it. Who passes on what
    /// it got may pass on its time, too; what waits for the reply to messages before it is told apart.
    pub(super) fn note_kept(
        &self,
        found: &Found,
        direction: Direction,
        row: GroupId,
        c: &mut Context<'_>,
    ) {
        let Some((made_at, wall)) = found.made_at.zip(self.config.wall) else { return };
        let topic = found.topic.subject;
        let flow = c.conversations.flows_mut().flow_mut(direction);
        let last = flow.and_then(|flow| flow.messages.made.replace((topic, Nanos(made_at))));
        let goes_back = last.is_some_and(|(of, last)| {
            of == topic && Nanos(made_at) + LARGEST_STAMP_DISORDER < last
        });
        let Some(conversation) = c.conversations.flows().get(direction) else { return };
        let Marks::Tcp(marks) = &conversation.flow(direction.side).marks else { return };
        let Some((written, task)) = marks.written_by(found.extent) else { return };
        let last_reply = conversation.flow(direction.side.other()).marks.last_read();
        let Some(row) = c.accounts.rows.get_mut(row).filter(|_| last_reply <= written) else {
            return;
        };
        let role = row.roles.get(&task.pid);
        if role.is_some_and(|role| role.forwards || role.subscribes) {
            return;
        }
        // A library keeps messages while it connects, and no application's events of long ago.
        let opened = conversation.life.opened.unwrap_or_default();
        let made = made_at.checked_sub_signed(wall).map(Nanos);
        let made = made.filter(|made| !goes_back && *made + LONGEST_CONNECTING >= opened);
        let Some(made) = made else { return row.evidence.kept().add_unlikely() };
        let since = made.max(last_reply);
        let slept = c.host.threads().slept(task.tid, since, written);
        let kept = slept.unwrap_or(written - since);
        let is_answered = last_reply + LONGEST_SEND_AFTER_REPLY >= written;
        let awaited = if is_answered { last_reply - made.min(last_reply) } else { Nanos(0) };
        row.evidence.kept().add(made, written, kept, awaited);
    }
}
