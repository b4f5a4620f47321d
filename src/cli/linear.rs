//! The screen one line after another (`--linear`, and on a terminal that cannot move its cursor): all of it at first and
//! every minute, what has changed in between. Nothing is drawn, no cursor moves, and a pipe is as good as a terminal.

use super::lines::{LineWriter, Out};
use super::once::all_have_answered;
use super::signals::Signals;
use super::words::CatalogueWords;
use super::{CliError, ScreenSettings};
use crate::app::playback::Played;
use crate::app::{App, News};
use crate::model::{Control, Snapshot, SourceKind};
use crate::publish::{TextOptions, linear_changes, linear_text};
use crate::text::{Catalogue, clean};
use crate::ui::played;
use crate::ui::run::{Running, Wanted};
use crate::ui::terminal::{Asked, ReaderEnd, Typed};
use jiff::tz::TimeZone;
use std::time::Duration;
use tokio::time::Instant;

/// All of it is said again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// The first block waits so long for the first answer of the devices.
const PATIENCE: Duration = Duration::from_secs(5);

/// A demo has run its past by then.
const PAST: Duration = Duration::from_millis(500);

/// A reader that takes nothing is waited for so long at the end.
const GRACE: Duration = Duration::from_secs(2);

/// What starts a source.
pub(super) type Start<'a> = &'a mut dyn FnMut(Wanted) -> Result<Running, String>;

/// Says lines until somebody ends it, or the reader is gone. Gives back where they went, unless that takes nothing.
///
/// # Errors
/// The source cannot be started, the terminal refuses its modes, or lines cannot be written.
pub(super) async fn run(
    screen: &ScreenSettings,
    zone: &TimeZone,
    start: Start<'_>,
    stdout: Out,
) -> (Option<Out>, Result<(), CliError>) {
    let (mut ends, lines) = match (Ends::listen(), LineWriter::start(stdout)) {
        (Ok(ends), Ok(lines)) => (ends, lines),
        (Err(error), _) | (_, Err(error)) => return (None, Err(listening(error))),
    };
    let mut speaker = Speaker::new(screen, zone, matches!(ends, Ends::Typed(_)));
    let result = match start(Wanted::First) {
        Ok(mut running) => {
            let result = speak(&mut running, &mut speaker, &lines, &mut ends).await;
            running.feed.tell(Control::Stop);
            result
        }
        Err(why) => Err(CliError::Failed(why)),
    };
    tokio::select! {
        (stdout, written) = lines.finish() => {
            (Some(stdout), result.and(written.map_err(CliError::writing)))
        }
        () = tokio::time::sleep(GRACE) => (None, result),
    }
}

fn listening(source: std::io::Error) -> CliError {
    CliError::System {
        operation: "listening for keys and signals".to_owned(),
        source,
        next: "use `nameplate once` or `nameplate stream`",
    }
}

/// Takes in what the source tells, and says what is to be said of it.
async fn speak(
    running: &mut Running,
    speaker: &mut Speaker,
    lines: &LineWriter,
    ends: &mut Ends,
) -> Result<(), CliError> {
    let mut reader = ReaderEnd::of_stdout().map_err(listening)?;
    let mut ended = false;
    loop {
        tokio::select! {
            biased;
            asked = ends.next() => match asked.map_err(listening)? {
                Asked::End => return Ok(()),
                Asked::Again => speaker.said = None,
            },
            () = reader.come() => return Ok(()),
            news = running.news.recv(), if !ended => match news {
                Some(news) => hear(&mut running.app, &mut running.news, news, speaker),
                // What is recorded or logged has ended; keys go on.
                None => ended = true,
            },
            news = played(running.tape.as_mut()) => match news {
                Played::Frame(frame) => {
                    running.app.show(frame);
                    speaker.remark(running.app.remark(speaker.t).unwrap_or_default());
                }
                Played::Failed(reason) => speaker.fail(&reason),
            },
        }
        let over = running.app.is_at_end() || (ended && running.tape.is_none());
        // A reader who takes nothing yet hears later what has changed until then.
        match lines.is_free() {
            None => return Ok(()),
            Some(false) if !over => {}
            Some(_) => {
                let picture = running.app.picture();
                if let Some(text) = picture.and_then(|picture| speaker.say(picture, over))
                    && !lines.write(text).await
                {
                    return Ok(());
                }
                // Nobody could type what comes next.
                if over && !speaker.keys {
                    return Ok(());
                }
            }
        }
    }
}

/// Takes in what was told and all that waits behind it.
fn hear(
    app: &mut App,
    waiting: &mut tokio::sync::mpsc::UnboundedReceiver<News>,
    first: News,
    speaker: &mut Speaker,
) {
    let mut next = Some(first);
    while let Some(news) = next {
        speaker.note(&news);
        app.hear(news);
        next = waiting.try_recv().ok();
    }
    app.refresh();
}

/// What ends it.
enum Ends {
    /// Somebody at the terminal, or a signal.
    Typed(Typed),
    /// A signal: nobody can type anything.
    Signals(Signals),
}

impl Ends {
    fn listen() -> std::io::Result<Self> {
        Ok(match Typed::listen()? {
            Some(typed) => Self::Typed(typed),
            None => Self::Signals(Signals::new()?),
        })
    }

    async fn next(&mut self) -> std::io::Result<Asked> {
        match self {
            Self::Typed(typed) => typed.next().await,
            Self::Signals(signals) => {
                signals.any().await;
                Ok(Asked::End)
            }
        }
    }
}

/// Decides what is said, and keeps in mind what was.
struct Speaker {
    words: CatalogueWords,
    t: Catalogue,
    options: TextOptions,
    zone: TimeZone,
    /// Keys are named where there is somebody to press them.
    keys: bool,
    begun: Instant,
    /// Pictures in which all devices had answered, before the first block.
    answered: u32,
    /// What was said of the place in a recording.
    remark: String,
    /// Of which picture all was said last, and when; `None`: it is to be said.
    said: Option<(u64, Instant)>,
    before: Option<Snapshot>,
    notices: Vec<String>,
}

impl Speaker {
    fn new(screen: &ScreenSettings, zone: &TimeZone, keys: bool) -> Self {
        let t = Catalogue::new(screen.lang);
        Self {
            words: CatalogueWords::new(t, screen.ascii),
            t,
            options: TextOptions {
                ascii: screen.ascii,
                ..TextOptions::default()
            },
            zone: zone.clone(),
            keys,
            begun: Instant::now(),
            answered: 0,
            remark: String::new(),
            said: None,
            before: None,
            notices: Vec::new(),
        }
    }

    /// The recording cannot be played on.
    fn fail(&mut self, reason: &str) {
        let text = self.t.chrome_past_failed(reason);
        self.notices.push(text.into_owned());
    }

    /// What is to be said of the place in a recording, once.
    fn remark(&mut self, text: std::borrow::Cow<'static, str>) {
        if self.remark != text {
            self.remark = text.into_owned();
            self.notices
                .extend(Some(self.remark.clone()).filter(|text| !text.is_empty()));
        }
    }

    /// Keeps a notice of the source for the next block.
    fn note(&mut self, news: &News) {
        match news {
            News::Notice(text) => self.notices.push(text.clone()),
            News::All(all) => all.iter().for_each(|news| self.note(news)),
            _ => {}
        }
    }

    /// Whether the first picture is none yet: devices have not answered, or not twice, as rates need it.
    fn waits_for_more_than(&mut self, now: &Snapshot) -> bool {
        let waited = self.begun.elapsed();
        match now.source {
            SourceKind::Live => {
                self.answered += u32::from(all_have_answered(now));
                let enough = if now.interval * 2 <= PATIENCE { 2 } else { 1 };
                self.answered < enough && waited < PATIENCE
            }
            SourceKind::Demo(_) => waited < PAST,
            SourceKind::Recording(_) | SourceKind::Log { .. } => false,
        }
    }

    /// The next block, where there is anything to say. `last`: there will be no other picture.
    fn say(&mut self, now: &Snapshot, last: bool) -> Option<String> {
        let first = self.before.is_none();
        if first && self.waits_for_more_than(now) {
            return None;
        }
        let mut text: String = self
            .notices
            .drain(..)
            .map(|notice| format!("{}\n", clean(&notice)))
            .collect();
        let due = self
            .said
            .is_none_or(|(seq, said)| (last && seq != now.seq) || said.elapsed() >= AGAIN);
        if due {
            self.said = Some((now.seq, Instant::now()));
            text += &linear_text(now, &self.words, &self.t, self.options);
            if first && self.keys {
                text += &format!("{}\n", self.t.linear_keys());
            }
        } else if let Some(before) = &self.before {
            let time = now.at.to_zoned_datetime(self.zone.clone());
            let time = time.strftime("%H:%M:%S").to_string();
            let changes = linear_changes(before, now, &time, &self.words, &self.t, self.options);
            text.extend(changes);
        }
        self.before = Some(now.clone());
        (!text.is_empty()).then(|| format!("{text}\n"))
    }
}
