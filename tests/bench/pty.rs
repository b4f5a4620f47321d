//! A program on a pseudo-terminal: everything that it writes is kept with its time, and looked at afterwards.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What one read gave, and when, since the start.
pub(crate) struct Chunk {
    pub(crate) at: Duration,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Default)]
struct Record {
    chunks: Mutex<(Vec<Chunk>, bool)>,
    more: Condvar,
}

/// A running program and what it has written.
pub(crate) struct Run {
    begun: Instant,
    record: Arc<Record>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    size: (u16, u16),
    _master: Box<dyn MasterPty + Send>,
}

impl Run {
    /// Starts a program on a terminal of `(columns, lines)`. Time runs from just before.
    pub(crate) fn start(
        command: CommandBuilder,
        size: (u16, u16),
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let pair = native_pty_system().openpty(PtySize {
            rows: size.1,
            cols: size.0,
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let mut reader = pair.master.try_clone_reader()?;
        let writer = pair.master.take_writer()?;
        let record = Arc::new(Record::default());
        let shared = record.clone();
        let begun = Instant::now();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                // A terminal whose other side is closed reads as an error on Linux.
                let length = reader.read(&mut buffer).unwrap_or(0);
                let at = begun.elapsed();
                let mut chunks = lock(&shared);
                if length == 0 {
                    chunks.1 = true;
                } else {
                    chunks.0.push(Chunk {
                        at,
                        bytes: buffer[..length].to_vec(),
                    });
                }
                shared.more.notify_all();
                if length == 0 {
                    return;
                }
            }
        });
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        Ok(Self {
            begun,
            record,
            writer,
            child,
            size,
            _master: pair.master,
        })
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap_or(0)
    }

    pub(crate) fn press(&mut self, keys: &str) {
        let _ = self
            .writer
            .write_all(keys.as_bytes())
            .and_then(|()| self.writer.flush());
    }

    /// Whether the program has ended.
    pub(crate) fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// When the first output after `since` came; waits for it no longer than `most`.
    pub(crate) fn next_output(&self, since: Duration, most: Duration) -> Option<Duration> {
        let end = Instant::now() + most;
        let mut chunks = lock(&self.record);
        loop {
            if let Some(chunk) = chunks.0.iter().rev().take_while(|c| c.at > since).last() {
                return Some(chunk.at);
            }
            let left = end.checked_duration_since(Instant::now())?;
            if chunks.1 {
                return None;
            }
            chunks = match self.record.more.wait_timeout(chunks, left) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Bytes, reads and synchronized frames between two times.
    pub(crate) fn traffic(&self, from: Duration, until: Duration) -> Traffic {
        let chunks = lock(&self.record);
        let mut traffic = Traffic::default();
        let mut bytes = Vec::new();
        for chunk in chunks.0.iter().filter(|c| c.at >= from && c.at < until) {
            traffic.reads += 1;
            bytes.extend_from_slice(&chunk.bytes);
        }
        traffic.bytes = bytes.len();
        let begin = b"\x1b[?2026h";
        traffic.frames = bytes.windows(begin.len()).filter(|w| w == begin).count();
        traffic
    }

    /// When the screen first satisfied each of `tests`, which see its text.
    pub(crate) fn first<const N: usize>(
        &self,
        tests: [&dyn Fn(&str) -> bool; N],
    ) -> [Option<Duration>; N] {
        let chunks = lock(&self.record);
        let mut found = [None; N];
        let Some(mut screen) = Screen::new(self.size) else {
            return found;
        };
        for chunk in &chunks.0 {
            let text = screen.after(&chunk.bytes);
            for (found, test) in found.iter_mut().zip(tests) {
                if found.is_none() && test(&text) {
                    *found = Some(chunk.at);
                }
            }
            if found.iter().all(Option::is_some) {
                break;
            }
        }
        found
    }

    /// The text of the screen as it stood at a time.
    pub(crate) fn screen_at(&self, at: Duration) -> String {
        let chunks = lock(&self.record);
        let Some(mut screen) = Screen::new(self.size) else {
            return String::new();
        };
        for chunk in chunks.0.iter().take_while(|c| c.at <= at) {
            screen.parser.process(&chunk.bytes);
        }
        screen.parser.screen().contents()
    }

    /// Presses `keys` and waits for the end; says how long it took, or kills the program after `most`.
    pub(crate) fn quit(&mut self, keys: &str, most: Duration) -> Option<Duration> {
        let begun = Instant::now();
        self.press(keys);
        while begun.elapsed() < most {
            if self.ended() {
                return Some(begun.elapsed());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

/// What went over the terminal.
#[derive(Default, Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) bytes: usize,
    /// What the terminal's reader saw as separate pieces: at least one for each write.
    pub(crate) reads: usize,
    /// Begins of synchronized output.
    pub(crate) frames: usize,
}

struct Screen {
    parser: vt100::Parser,
}

impl Screen {
    fn new((columns, lines): (u16, u16)) -> Option<Self> {
        Some(Self {
            parser: vt100::Parser::new(NonZeroU16::new(lines)?, NonZeroU16::new(columns)?, 0),
        })
    }

    fn after(&mut self, bytes: &[u8]) -> String {
        self.parser.process(bytes);
        self.parser.screen().contents()
    }
}

fn lock(record: &Record) -> MutexGuard<'_, (Vec<Chunk>, bool)> {
    record
        .chunks
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
