//! `nameplate export`: a recording or a log as CSV or JSON lines, one block in memory at a time.

use super::args::{Export, ExportFormat};
use super::recorder::{decoded, failure};
use super::words::CatalogueWords;
use super::{CliError, Settings, World, foreign};
use crate::model::{Plates, Snapshot, SourceKind};
use crate::publish::{EventCursor, snapshot_json_since, table_header, table_rows};
use crate::record::{Reader, Record, StartRecord};
use crate::session::{Session, Start};
use crate::text::{Catalogue, Lang};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// Bytes that are gathered for one write.
const PORTION: usize = 64 * 1024;
/// A wall clock that was set back may come to the end twice: reading stops so long after it.
const PAST_THE_END: SignedDuration = SignedDuration::from_hours(12);

/// Writes the recording up to its end or its damage; the damage is an error, after everything that stands before it.
pub(super) fn run(args: &Export, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    if !foreign::is_recording(&args.file) {
        return log(args, settings, world);
    }
    let failed = |error| failure("export", &error);
    let reader = Reader::open(&args.file).map_err(failed)?;
    let first = match args.from {
        Some(at) => reader.seek(at).map_err(failed)?,
        None => reader.first(),
    };
    let Some(start) = reader.start_before(first).map_err(failed)? else {
        return Err(CliError::Failed(format!(
            "export: {} has no ticks yet; next: let `nameplate record` run for a second",
            args.file.display()
        )));
    };
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    let folding = Folding {
        plates: Arc::new(plates),
        source: SourceKind::Recording(args.file.display().to_string()),
    };
    let mut session = folding.session(&start)?;
    let mut lines = Lines::new(args.to);
    for record in reader.records(start.n) {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                lines.flush(world)?;
                return Err(failed(error));
            }
        };
        match record {
            Record::Start(fresh) if fresh.fresh && fresh.n > start.n => {
                session = folding.session(&fresh)?;
            }
            Record::Start(_) => {}
            Record::Tick(n, tick) => {
                session.fold(&tick);
                if args.until.is_some_and(|until| tick.at > until) {
                    let passed = args.until.map(|until| tick.at.duration_since(until));
                    if passed.is_some_and(|passed| passed > PAST_THE_END) {
                        break;
                    }
                } else if n >= first
                    && lines.are_due(tick.at, args)
                    && let Some(snapshot) = session.snapshot()
                {
                    lines.add(&snapshot)?;
                }
            }
        }
        if lines.text.len() >= PORTION {
            lines.flush(world)?;
        }
    }
    lines.flush(world)
}

/// Writes a log up to its end, or to the line that cannot be read.
fn log(args: &Export, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    let mut log = foreign::open("export", &args.file, &args.columns, settings)?;
    log.timed("export")?;
    let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
    let start = Start::new(log.config(settings));
    let mut session = Session::new(start, Arc::new(plates), log.kind(&log.file));
    let mut lines = Lines::new(args.to);
    let mut failed = None;
    for tick in &mut log.import {
        let tick = match tick {
            Ok(tick) => tick,
            Err(error) => {
                failed = Some(foreign::refused("export", &log.file, &error));
                break;
            }
        };
        if args.until.is_some_and(|until| tick.at > until) {
            break;
        }
        session.fold(&tick);
        if args.from.is_none_or(|from| tick.at >= from)
            && lines.are_due(tick.at, args)
            && let Some(snapshot) = session.snapshot()
        {
            lines.add(&snapshot)?;
        }
        if lines.text.len() >= PORTION {
            lines.flush(world)?;
        }
    }
    lines.flush(world)?;
    for warning in log.import.warnings() {
        world.complain(&foreign::told("export", &log.file, &warning));
    }
    failed.map_or(Ok(()), Err)
}

/// How sessions of this recording are begun.
struct Folding {
    plates: Arc<Plates>,
    source: SourceKind,
}

impl Folding {
    fn session(&self, start: &StartRecord) -> Result<Session, CliError> {
        let start = decoded("export", start)?;
        Ok(Session::new(
            start,
            self.plates.clone(),
            self.source.clone(),
        ))
    }
}

/// Lines that wait to be written.
struct Lines {
    to: ExportFormat,
    text: Vec<u8>,
    cursor: EventCursor,
    period: Option<i128>,
}

impl Lines {
    fn new(to: ExportFormat) -> Self {
        let mut lines = Self {
            to,
            text: Vec::new(),
            cursor: EventCursor::default(),
            period: None,
        };
        if to == ExportFormat::Csv {
            lines.row(&table_header());
        }
        lines
    }

    /// Whether this instant begins a period that has no line yet.
    fn are_due(&mut self, at: Timestamp, args: &Export) -> bool {
        let Some(every) = args.every else { return true };
        let length = i128::try_from(every.as_nanos()).unwrap_or(i128::MAX).max(1);
        let period = Some(at.as_nanosecond().div_euclid(length));
        let due = period != self.period;
        self.period = period;
        due
    }

    fn add(&mut self, snapshot: &Snapshot) -> Result<(), CliError> {
        match self.to {
            ExportFormat::Csv => table_rows(snapshot).iter().for_each(|row| self.row(row)),
            ExportFormat::Jsonl => {
                let words = CatalogueWords::new(Catalogue::new(Lang::En), false);
                let events = self.cursor.advance(snapshot);
                let document = snapshot_json_since(snapshot, "export", &words, events);
                serde_json::to_writer(&mut self.text, &document)
                    .map_err(|error| CliError::writing(error.into()))?;
                self.text.push(b'\n');
            }
        }
        Ok(())
    }

    fn row(&mut self, cells: &[String]) {
        let mut writer = csv::Writer::from_writer(&mut self.text);
        // Memory takes everything.
        let _ = writer.write_record(cells);
        let _ = writer.flush();
    }

    fn flush(&mut self, world: &mut World) -> Result<(), CliError> {
        let text = std::mem::take(&mut self.text);
        world
            .stdout
            .write_all(&text)
            .and_then(|()| world.stdout.flush())
            .map_err(CliError::writing)
    }
}
