//! The note that `m` asks for: one line, typed at the foot of the screen.

use super::keymap::{Key, action_of};
use super::{App, Effect};
use crate::model::SourceKind;
use crate::text::{Catalogue, clean};

/// Characters that a note holds.
const LONGEST: usize = 200;

impl App {
    /// A key: into the note or the time while one is typed, else as the keymap says.
    pub fn press(&mut self, key: Key, t: Catalogue) -> Option<Effect> {
        // Ctrl and a letter go on meaning what they mean.
        let typed = !matches!(key, Key::Ctrl(_));
        if self.note.is_some() && typed {
            return self.type_note(key, t);
        }
        if self.is_filtering() && typed {
            self.type_filter(key);
            return None;
        }
        if self.budget_entry.is_some() && typed {
            self.type_budget(key, t);
            return None;
        }
        if self.entry.is_some() && typed {
            return self.type_time(key);
        }
        action_of(key, self.view()).and_then(|action| self.update(action, t))
    }

    /// The note that is being typed.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Opens the line, where a note has somewhere to go.
    pub(super) fn begin_note(&mut self, t: Catalogue) {
        let source = self.picture().map(|picture| &picture.source);
        let refused = match source {
            Some(SourceKind::Live) | None => None,
            Some(SourceKind::Demo(_)) => Some(t.chrome_mark_demo()),
            Some(SourceKind::Recording(_) | SourceKind::Log { .. }) => Some(t.chrome_mark_replay()),
        };
        match refused {
            Some(why) => self.notify(why.into_owned()),
            None => self.note = Some(String::new()),
        }
    }

    fn type_note(&mut self, key: Key, t: Catalogue) -> Option<Effect> {
        let note = self.note.as_mut()?;
        match key {
            Key::Char(c) if note.chars().count() < LONGEST => note.push(c),
            Key::Backspace => {
                note.pop();
            }
            Key::Escape => self.note = None,
            Key::Enter => {
                let text = clean(note.trim()).into_owned();
                self.note = None;
                if !text.is_empty() {
                    self.notify(t.chrome_marked(&text).into_owned());
                    return Some(Effect::Mark(text));
                }
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::{Config, Plates};
    use crate::session::{Session, Start};
    use crate::simulate::Simulation;
    use crate::text::Lang;
    use std::sync::Arc;

    fn app(source: SourceKind) -> App {
        let plates = Arc::new(Plates::embedded().unwrap());
        let session = Session::new(Start::new(Config::default()), plates, source);
        let second = std::time::Duration::from_secs(1);
        let mut app = App::new(session, second, second * 900);
        app.fold(&Simulation::case("hang", 1).unwrap().tick());
        app.refresh();
        app
    }

    fn typed(app: &mut App, text: &str) {
        let t = Catalogue::new(Lang::En);
        for c in text.chars() {
            assert_eq!(app.press(Key::Char(c), t), None);
        }
    }

    #[test]
    fn a_note_is_typed_cleaned_and_bounded() {
        let t = Catalogue::new(Lang::En);
        let mut app = app(SourceKind::Live);
        typed(&mut app, "mquit? \u{1b}[31m q\u{7f}");
        app.press(Key::Backspace, t);
        app.press(Key::Backspace, t);
        typed(&mut app, "1 ");
        let mark = app.press(Key::Enter, t);
        assert_eq!(mark, Some(Effect::Mark("quit?  1".to_owned())));
        assert_eq!(app.note(), None);
        typed(&mut app, "m");
        typed(&mut app, &"x".repeat(500));
        assert_eq!(app.note().map(str::len), Some(LONGEST));
        assert_eq!(app.press(Key::Escape, t), None);
        assert_eq!(app.note(), None);
        assert_eq!(app.press(Key::Char('q'), t), Some(Effect::Quit));
        typed(&mut app, "m ");
        assert_eq!(app.press(Key::Enter, t), None, "an empty note is none");
        typed(&mut app, "m");
        assert_eq!(app.press(Key::Ctrl('c'), t), Some(Effect::Quit));
    }

    #[test]
    fn a_demo_and_a_replay_say_that_they_keep_no_notes() {
        for source in [
            SourceKind::Demo("hang".to_owned()),
            SourceKind::Recording("a.nmp".to_owned()),
        ] {
            let mut app = app(source);
            typed(&mut app, "m");
            assert_eq!(app.note(), None);
            assert!(app.notice().is_some());
        }
    }
}
