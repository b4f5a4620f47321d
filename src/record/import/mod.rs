//! Logs of other programs, and the lines of `nameplate stream`, as ticks: recognised by what they say, read line by line
//! in flat memory.
//!
//! An absent value is never zero, what cannot be is kept as the log says it, and what cannot be read for sure is refused
//! with its line and the reason. The interval is inferred; holes are left unobserved. Lines that stand out of order, or
//! twice, change no seconds.

mod bare;
mod cell;
mod column;
mod device;
mod dmon;
mod entry;
mod error;
mod feed;
mod format;
mod jsonl;
mod lines;
mod order;
mod plausible;
mod query;
mod refuse;
mod stream;
mod stream_device;
mod table;
mod time;

#[cfg(test)]
mod tests;

pub use entry::Warning;
pub use error::ImportError;
pub use feed::LogFeed;
pub use format::ImportOptions;

use crate::model::{Config, Tick};
use entry::{Entry, Warnings};
use error::KNOWN;
use format::{Format, Head};
use lines::Lines;
use order::Order;
use std::io::Read;
use std::time::Duration;
use time::Zoned;

/// A log as ticks.
pub struct Import {
    lines: Lines,
    format: Box<dyn Format>,
    order: Order,
    warnings: Warnings,
    entries: Vec<Entry>,
    timed: Option<bool>,
    ended: bool,
    failed: bool,
    concluded: bool,
}

impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import")
            .field("format", &self.format.name())
            .field("timed", &self.timed)
            .finish_non_exhaustive()
    }
}

impl Import {
    /// Tells from its first lines what a log is, and reads as many as wait to be put in order.
    ///
    /// # Errors
    /// It cannot be read, or is refused, with the line and the reason.
    pub fn open(
        source: Box<dyn Read + Send>,
        options: &ImportOptions,
    ) -> Result<Self, ImportError> {
        let mut lines = Lines::new(source);
        if let Some(refused) = refuse::packed(lines.first_bytes()?) {
            return Err(refused);
        }
        let head = Head {
            lines: lines.head()?,
            options,
        };
        let format = format::recognise(&head)?;
        let mut import = Self {
            lines,
            format,
            order: Order::default(),
            warnings: Warnings::default(),
            entries: Vec::new(),
            timed: None,
            ended: false,
            failed: false,
            concluded: false,
        };
        import.fill()?;
        if import.timed.is_none() {
            return Err(ImportError::at(0, "no row stands in it", KNOWN));
        }
        Ok(import)
    }

    /// The format's name in documents.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.format.name()
    }

    /// Whether its lines have instants. Without them nothing is told of seconds or rates.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.timed == Some(true)
    }

    /// Whether its instants were read in the zone that was given, because the log names none.
    #[must_use]
    pub fn needs_zone(&self) -> bool {
        self.format.zoned() == Some(Zoned::Given)
    }

    /// The interval as of the newest tick, inferred where the log does not say it.
    #[must_use]
    pub const fn interval(&self) -> Option<Duration> {
        self.order.interval()
    }

    /// What the log itself says of price and begin of billing.
    #[must_use]
    pub fn config(&self) -> Option<&Config> {
        self.format.config()
    }

    /// What was left out, or taken with a grain of salt, so far.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.list()
    }

    /// Reads until enough lines wait to be put in order.
    fn fill(&mut self) -> Result<(), ImportError> {
        while !self.ended && !self.order.is_full() {
            let Some(line) = self.lines.next()? else {
                self.ended = true;
                break;
            };
            self.format
                .line(&line, &mut self.entries, &mut self.warnings)?;
            for mut entry in self.entries.drain(..) {
                let timed = entry.at.is_some();
                if *self.timed.get_or_insert(timed) != timed {
                    let why = "lines with an instant, and lines without one";
                    return Err(ImportError::at(line.number, why, KNOWN));
                }
                for row in entry.rows.iter_mut().filter(|row| row.silent.is_some()) {
                    let known = row.identity.pci.and_then(|pci| self.order.device_at(pci));
                    row.id = known.unwrap_or_else(|| row.id.clone());
                }
                self.order.take(entry, &mut self.warnings);
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<Option<Tick>, ImportError> {
        self.fill()?;
        let format = &self.format;
        let zero = |metric| format.zero_is_read(metric);
        self.order.next(&zero, &mut self.warnings)
    }
}

impl Iterator for Import {
    type Item = Result<Tick, ImportError>;

    /// The next tick; after an error there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.tick() {
            Ok(Some(tick)) => Some(Ok(tick)),
            Ok(None) => {
                if !std::mem::replace(&mut self.concluded, true) {
                    self.format.conclude(&mut self.warnings);
                    self.order.conclude(&mut self.warnings);
                }
                None
            }
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}
