//! What the coordinator hears: the socket's requests, read by itself, and what its threads leave for it with a bell.

use super::coordinator::Message;
use crate::probe::wire::{Request, WireError, receive};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::io::{self, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A request is a few bytes; several may wait.
const REQUESTS: usize = 512;

/// Nobody listens any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deaf;

/// Where threads leave messages.
#[derive(Clone)]
pub(super) struct Post(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    /// Readable while messages wait, so that one wait is enough for them and the socket.
    bell: OwnedFd,
}

#[derive(Default)]
struct Waiting {
    messages: Vec<Message>,
    deaf: bool,
}

/// The listener's side.
pub(super) struct Inbox {
    shared: Arc<Shared>,
    socket: BufReader<UnixStream>,
    body: Vec<u8>,
    /// Taken and not handed out yet, the oldest last.
    taken: Vec<Message>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post {
    /// Leaves a message, and wakes the listener.
    pub(super) fn send(&self, message: Message) -> Result<(), Deaf> {
        let mut waiting = self.0.lock();
        if waiting.deaf {
            return Err(Deaf);
        }
        let silent = waiting.messages.is_empty();
        waiting.messages.push(message);
        drop(waiting);
        if silent {
            // It can only be refused where it rings already.
            let _ = rustix::io::write(&self.0.bell, &1_u64.to_ne_bytes());
        }
        Ok(())
    }
}

impl Inbox {
    /// Listens to a socket and to whoever has the post.
    pub(super) fn new(socket: UnixStream) -> io::Result<(Post, Self)> {
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        let inbox = Self {
            shared: Arc::clone(&shared),
            socket: BufReader::with_capacity(REQUESTS, socket),
            body: Vec::new(),
            taken: Vec::new(),
        };
        Ok((Post(shared), inbox))
    }

    /// The next message, waited for as long as `limit` says; `None` when nothing came.
    pub(super) fn next(&mut self, limit: Option<Duration>) -> Option<Message> {
        if let Some(message) = self.taken.pop() {
            return Some(message);
        }
        if !self.socket.buffer().is_empty() {
            return Some(self.request());
        }
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut waits = [
            PollFd::new(&self.shared.bell, PollFlags::IN),
            PollFd::from_borrowed_fd(self.socket.get_ref().as_fd(), PollFlags::IN),
        ];
        match poll(&mut waits, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Some(Message::End(Err(WireError::Io(error.into())))),
        }
        let [rung, asked] = waits.map(|wait| !wait.revents().is_empty());
        if rung {
            self.collect();
            if let Some(message) = self.taken.pop() {
                return Some(message);
            }
        }
        asked.then(|| self.request())
    }

    /// Takes what waits.
    fn collect(&mut self) {
        let mut count = [0; 8];
        // Before the messages are taken: one that comes in between rings again.
        let _ = rustix::io::read(&self.shared.bell, &mut count);
        let mut waiting = self.shared.lock();
        std::mem::swap(&mut waiting.messages, &mut self.taken);
        drop(waiting);
        self.taken.reverse();
    }

    fn request(&mut self) -> Message {
        match receive(&mut self.socket, &mut self.body) {
            Ok(Request::Stop) | Err(WireError::Closed) => Message::End(Ok(())),
            Ok(request) => Message::Request(request),
            Err(error) => Message::End(Err(error)),
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.shared.lock().deaf = true;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::probe::wire::send;

    #[test]
    fn messages_and_requests_come_in_turn_and_nothing_comes_of_nothing() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (post, mut inbox) = Inbox::new(theirs).unwrap();
        assert!(inbox.next(Some(Duration::ZERO)).is_none());
        let poll = |seq| Request::Poll {
            seq,
            interval: Duration::from_secs(1),
        };
        // Two in one read.
        send(&mut ours, &poll(1)).unwrap();
        send(&mut ours, &poll(2)).unwrap();
        post.send(Message::Done).unwrap();
        post.send(Message::Events(Vec::new())).unwrap();
        let words: Vec<String> = std::iter::from_fn(|| inbox.next(Some(Duration::from_millis(1))))
            .map(|message| match message {
                Message::Request(Request::Poll { seq, .. }) => format!("poll {seq}"),
                Message::Done => "done".to_owned(),
                Message::Events(_) => "events".to_owned(),
                _ => "other".to_owned(),
            })
            .collect();
        assert_eq!(words, ["done", "events", "poll 1", "poll 2"]);
        // Another thread's message ends a wait without limit.
        let other = post.clone();
        let thread = std::thread::spawn(move || other.send(Message::Done));
        assert!(matches!(inbox.next(None), Some(Message::Done)));
        thread.join().unwrap().unwrap();
        drop(ours);
        assert!(matches!(inbox.next(None), Some(Message::End(Ok(())))));
        drop(inbox);
        assert_eq!(post.send(Message::Done), Err(Deaf));
    }
}
