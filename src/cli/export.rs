//! `nameplate export`: a recording, or several of one instance, as CSV, JSON lines or one recording. One block of each is
//! in memory at a time.

use super::args::{Export, ExportFormat};
use super::recorder::{decoded, failure};
use super::words::CatalogueWords;
use super::{CliError, Settings, World, foreign};
use crate::model::{Plates, Snapshot, SourceKind, Tick};
use crate::publish::{EventCursor, snapshot_json_since, table_header, table_rows};
use crate::record::{Limits, Merge, Merged, Reader, Record, RecordError, StartRecord, Writer};
use crate::session::{Session, Start};
use crate::text::{Catalogue, Lang, clean};
use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are gathered for one write.
const PORTION: usize = 64 * 1024;
/// A wall clock that was set back may come to the end twice: reading stops so long after it.
const PAST_THE_END: SignedDuration = SignedDuration::from_hours(12);

/// Writes what was recorded up to its end or its damage; the damage is an error, after everything that stands before it.
pub(super) fn run(args: &Export, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    if let [file] = args.files.as_slice()
        && !foreign::is_recording(file)
    {
        return log(file, args, settings, world);
    }
    let failed = |error: RecordError| failure("export", &error);
    let readers: Vec<Reader> = args
        .files
        .iter()
        .map(|path| Reader::open(path).map_err(failed))
        .collect::<Result<_, _>>()?;
    let mut target = Target::new(args)?;
    let result = match <[Reader; 1]>::try_from(readers) {
        Ok([reader]) => one(&reader, args, &mut target, world),
        Err(several) => {
            of_one_instance(&several)?;
            merged(several, args, &mut target, world)
        }
    };
    // What stands before the damage was written; the file that was made of it is whole.
    target.finish(world).and(result)
}

/// One recording, from the `Start` before the time that is asked for.
fn one(
    reader: &Reader,
    args: &Export,
    target: &mut Target<'_>,
    world: &mut World,
) -> Result<(), CliError> {
    let failed = |error| failure("export", &error);
    let first = match args.from {
        Some(at) => reader.seek(at).map_err(failed)?,
        None => reader.first(),
    };
    let start = reader.start_before(first).map_err(failed)?;
    let start = start.ok_or_else(|| no_ticks(reader.path()))?;
    let mut folding = Folding::new(args, &start)?;
    for record in reader.records(start.n) {
        let next = match record.map_err(failed)? {
            Record::Start(fresh) if fresh.fresh && fresh.n > start.n => {
                folding.take_up(&fresh, true)?;
                continue;
            }
            Record::Start(_) => continue,
            Record::Tick(n, tick) => folding.fold(*tick, n >= first, target, world)?,
        };
        if !next {
            break;
        }
    }
    Ok(())
}

/// Several recordings as one.
fn merged(
    readers: Vec<Reader>,
    args: &Export,
    target: &mut Target<'_>,
    world: &mut World,
) -> Result<(), CliError> {
    let failed = |error| failure("export", &error);
    let first = args.files.first().cloned().unwrap_or_default();
    let merge = Merge::new(readers).map_err(failed)?;
    let start = merge.first_start().map_err(failed)?;
    let start = start.ok_or_else(|| no_ticks(&first))?;
    let mut folding = Folding::new(args, &start)?;
    for merged in merge {
        let next = match merged.map_err(failed)? {
            Merged::Start { start, whole } => {
                folding.take_up(&start, whole)?;
                continue;
            }
            Merged::Tick(tick) => {
                let shown = args.from.is_none_or(|from| tick.at >= from);
                folding.fold(*tick, shown, target, world)?
            }
        };
        if !next {
            break;
        }
    }
    Ok(())
}

/// Writes a log up to its end, or to the line that cannot be read.
fn log(file: &Path, args: &Export, settings: &Settings, world: &mut World) -> Result<(), CliError> {
    if args.to == ExportFormat::Nmp {
        return Err(CliError::Usage(
            "export: a log becomes csv or jsonl, not a recording; next: choose --to csv or --to jsonl".to_owned(),
        ));
    }
    let mut log = foreign::open("export", file, &args.columns, settings)?;
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

fn no_ticks(path: &Path) -> CliError {
    CliError::Failed(format!(
        "export: {} has no ticks yet; next: let `nameplate record` run for a second",
        path.display()
    ))
}

/// Recordings that share no device are not of one instance: adding them up would make one meter of two.
fn of_one_instance(readers: &[Reader]) -> Result<(), CliError> {
    let mut known: Vec<(PathBuf, Vec<_>)> = Vec::new();
    for reader in readers {
        let devices = reader
            .devices()
            .map_err(|error| failure("export", &error))?;
        let devices: Vec<_> = devices.into_iter().map(|device| device.id).collect();
        if !devices.is_empty() {
            known.push((reader.path().to_owned(), devices));
        }
    }
    let Some((first, devices)) = known.first() else {
        return Ok(());
    };
    let other = known
        .iter()
        .find(|(_, others)| !others.iter().any(|id| devices.contains(id)));
    match other {
        Some((other, _)) => Err(CliError::Failed(format!(
            "export: {} and {} have no device in common, so they are not of one instance; next: export each on its own",
            first.display(),
            other.display()
        ))),
        None => Ok(()),
    }
}

/// A session of what is exported.
struct Folding<'a> {
    args: &'a Export,
    session: Session,
    /// What the session knows beyond the ticks is to be in a recording that is made of it.
    fresh: bool,
}

impl<'a> Folding<'a> {
    fn new(args: &'a Export, start: &StartRecord) -> Result<Self, CliError> {
        let plates = Plates::embedded().map_err(|error| CliError::Failed(error.to_string()))?;
        let names: Vec<String> = args.files.iter().map(|f| f.display().to_string()).collect();
        let source = SourceKind::Recording(names.join(", "));
        Ok(Self {
            args,
            session: Session::new(decoded("export", start)?, Arc::new(plates), source),
            fresh: true,
        })
    }

    fn take_up(&mut self, start: &StartRecord, whole: bool) -> Result<(), CliError> {
        let start = decoded("export", start)?;
        if whole {
            self.session.take_up(start);
        } else if start.config != *self.session.config() {
            self.session.configure(start.config);
        } else {
            return Ok(());
        }
        self.fresh = true;
        Ok(())
    }

    /// Folds a tick and writes what is to be written of it; `false` when the time that was asked for is over.
    fn fold(
        &mut self,
        tick: Tick,
        shown: bool,
        target: &mut Target<'_>,
        world: &mut World,
    ) -> Result<bool, CliError> {
        let over = self.args.until.map(|until| tick.at.duration_since(until));
        let over = over.filter(|over| !over.is_zero() && !over.is_negative());
        if over.is_some_and(|over| over > PAST_THE_END) {
            return Ok(false);
        }
        if shown && over.is_none() && target.are_due(tick.at, self.args) {
            target.take(
                &tick,
                &mut self.session,
                std::mem::take(&mut self.fresh),
                world,
            )?;
        } else {
            self.session.fold(&tick);
        }
        Ok(true)
    }
}

/// Where it goes.
struct Target<'a> {
    lines: Lines,
    recording: Option<(Writer, &'a Path)>,
    ticks: u64,
}

impl<'a> Target<'a> {
    fn new(args: &'a Export) -> Result<Self, CliError> {
        if args.to == ExportFormat::Nmp && args.every.is_some() {
            return Err(CliError::Usage(
                "export: a recording takes every tick; next: leave --every out, or choose csv or jsonl".to_owned(),
            ));
        }
        let recording = match (args.to, &args.output) {
            (ExportFormat::Nmp, Some(path)) => {
                if path.exists() {
                    return Err(CliError::Failed(format!(
                        "export: {} is there already; next: name a new file with -o",
                        path.display()
                    )));
                }
                // What was recorded once is not pruned for being written again.
                let limits = Limits {
                    keep: std::time::Duration::MAX,
                    bytes: u64::MAX,
                    ..Limits::default()
                };
                let writer = Writer::open(path, limits).map_err(|e| failure("export", &e))?;
                Some((writer, path.as_path()))
            }
            (ExportFormat::Nmp, None) => {
                return Err(CliError::Usage(
                    "export: a recording is written to a file; next: name it with -o FILE"
                        .to_owned(),
                ));
            }
            (_, Some(_)) => {
                return Err(CliError::Usage(
                    "export: -o goes with --to nmp; next: send lines to a file with >".to_owned(),
                ));
            }
            (_, None) => None,
        };
        Ok(Self {
            lines: Lines::new(args.to),
            recording,
            ticks: 0,
        })
    }

    /// Whether this instant begins a period that has nothing yet. A recording takes every tick.
    fn are_due(&mut self, at: Timestamp, args: &Export) -> bool {
        self.recording.is_some() || self.lines.are_due(at, args)
    }

    fn take(
        &mut self,
        tick: &Tick,
        session: &mut Session,
        fresh: bool,
        world: &mut World,
    ) -> Result<(), CliError> {
        let failed = |error: RecordError| failure("export", &error);
        if let Some((writer, _)) = &mut self.recording
            && (fresh || writer.start_due(tick.mono))
        {
            let bytes = session.start().to_bytes();
            let bytes = bytes.map_err(|error| CliError::Failed(format!("export: {error}")))?;
            writer.start(tick, fresh, &bytes).map_err(failed)?;
        }
        session.fold(tick);
        match &mut self.recording {
            Some((writer, _)) => {
                self.ticks += 1;
                writer
                    .append(tick)
                    .and_then(|()| writer.gather(tick, &session.minute_points()))
                    .map_err(failed)
            }
            None => {
                let Some(snapshot) = session.snapshot() else {
                    return Ok(());
                };
                self.lines.add(&snapshot)?;
                if self.lines.text.len() >= PORTION {
                    self.lines.flush(world)?;
                }
                Ok(())
            }
        }
    }

    fn finish(self, world: &mut World) -> Result<(), CliError> {
        let mut lines = self.lines;
        lines.flush(world)?;
        let Some((writer, path)) = self.recording else {
            return Ok(());
        };
        writer.close().map_err(|error| failure("export", &error))?;
        let path = path.to_string_lossy();
        world.say(&format!("{} ticks are in {}\n", self.ticks, clean(&path)))
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
            ExportFormat::Nmp => {}
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
