//! The seam for formats: what a log is is told from its first lines, and then it is read line by line.
//!
//! A further format is a file here, a [`Format`], and a line in [`RECOGNISERS`].

use super::entry::{Entry, Warnings};
use super::error::{ImportError, KNOWN};
use super::lines::Line;
use super::time::Zoned;
use super::{bare, dmon, jsonl, query, refuse, stream};
use crate::model::{Config, Metric};
use jiff::tz::TimeZone;

/// A log that is being read.
pub(super) trait Format: Send {
    /// Its name in documents.
    fn name(&self) -> &'static str;

    /// Reads one line; what it says is added to `out`.
    ///
    /// # Errors
    /// The line is not what this format can be: the log is not read further.
    fn line(
        &mut self,
        line: &Line,
        out: &mut Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<(), ImportError>;

    /// Where the zone of its instants is from; `None` before there is one, or in a log without.
    fn zoned(&self) -> Option<Zoned>;

    /// Whether its zeros of a metric are readings, as far as was read by now. They are, except where a format writes
    /// zero for what is missing.
    fn zero_is_read(&self, _metric: Metric) -> bool {
        true
    }

    /// What the log itself says of price and begin of billing.
    fn config(&self) -> Option<&Config> {
        None
    }

    /// What is to be said at the end of the log.
    fn conclude(&self, _warnings: &mut Warnings) {}
}

/// What decides how a log is read, besides itself.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The zone of instants that name none.
    pub zone: TimeZone,
    /// What the columns of a log without a header are, by the names of `nvidia-smi --query-gpu`.
    pub columns: Option<Vec<String>>,
}

/// The first lines of a log.
pub(super) struct Head<'a> {
    pub(super) lines: &'a [Line],
    pub(super) options: &'a ImportOptions,
}

impl Head<'_> {
    /// Those that say anything.
    pub(super) fn said(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !is_blank(&line.text))
    }
}

/// What a format makes of a log's first lines: its own, refused with a reason, or another's.
pub(super) type Recognised = Result<Option<Box<dyn Format>>, ImportError>;

/// All formats, the surest signs first.
const RECOGNISERS: [fn(&Head<'_>) -> Recognised; 6] = [
    refuse::recognise,
    stream::recognise,
    jsonl::recognise,
    dmon::recognise,
    query::recognise,
    bare::recognise,
];

/// The format of a log.
///
/// # Errors
/// None reads it, or the one that would cannot, with the reason.
pub(super) fn recognise(head: &Head<'_>) -> Result<Box<dyn Format>, ImportError> {
    for recogniser in RECOGNISERS {
        if let Some(format) = recogniser(head)? {
            return Ok(format);
        }
    }
    let line = head.said().next().map_or(0, |line| line.number);
    Err(ImportError::at(line, "not a log that is read here", KNOWN))
}

/// A line that says nothing: blanks, or the zero bytes that a crash leaves at the end of a file.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\0')
}
