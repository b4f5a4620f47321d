//! Keys and what they ask for: data, from which the help page and the hints are made.

use super::View;
use super::action::Action;
use crate::text::Catalogue;
use std::borrow::Cow;

/// A key by its meaning, without the terminal library's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with control.
    Ctrl(char),
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
}

/// Groups of the help page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Moving the selection.
    Move,
    /// Changing the view.
    Views,
    /// Pace and picture.
    Stream,
    /// The way through a recording.
    Past,
    /// The program.
    Program,
}

/// One binding: keys, what they ask for, where they count.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Keys that do it; the first is shown.
    pub keys: &'static [Key],
    /// What it does.
    pub action: Action,
    /// Where it is listed.
    pub group: Group,
    /// Views in which it does something.
    pub views: &'static [View],
}

const ALL: &[View] = &[
    View::Overview,
    View::Device,
    View::Verdicts,
    View::Meter,
    View::Help,
    View::Nothing,
];
const DEVICES: &[View] = &[View::Overview, View::Device, View::Verdicts];
const PICTURES: &[View] = &[View::Overview, View::Device, View::Verdicts, View::Meter];
const SCROLL: &[View] = &[
    View::Overview,
    View::Device,
    View::Verdicts,
    View::Help,
    View::Nothing,
];
const TEXT: &[View] = &[View::Help, View::Nothing];

macro_rules! bind {
    ($($action:ident $group:ident $views:ident [$($key:expr),+];)*) => {
        /// All bindings.
        pub const BINDINGS: &[Binding] = &[$(Binding {
            keys: &[$($key),+],
            action: Action::$action,
            group: Group::$group,
            views: $views,
        }),*];
    };
}

const NOTHING: &[View] = &[View::Nothing];
const LISTS: &[View] = &[View::Overview, View::Verdicts];
const OUTER: &[View] = &[View::Overview, View::Device, View::Meter];
const OVERVIEW: &[View] = &[View::Overview];
const METER: &[View] = &[View::Meter];
const VERDICTS: &[View] = &[View::Verdicts];
// Billing goes on where no device can be seen.
const MONEY: &[View] = &[
    View::Overview,
    View::Device,
    View::Verdicts,
    View::Meter,
    View::Nothing,
];
const INNER: &[View] = &[View::Device, View::Verdicts, View::Meter, View::Help];

bind! {
    Up Move SCROLL [Key::Up, Key::Char('k')];
    Down Move SCROLL [Key::Down, Key::Char('j')];
    PageUp Move SCROLL [Key::PageUp, Key::Ctrl('b')];
    PageDown Move SCROLL [Key::PageDown, Key::Ctrl('f')];
    First Move SCROLL [Key::Char('g')];
    Last Move SCROLL [Key::Char('G')];
    First Move TEXT [Key::Home];
    Last Move TEXT [Key::End];
    Open Views LISTS [Key::Enter];
    Sort Views OVERVIEW [Key::Char('s')];
    Filter Views OVERVIEW [Key::Char('/')];
    EpisodeBegin Past VERDICTS [Key::Char('c')];
    Verdicts Views OUTER [Key::Char('v')];
    Meter Views MONEY [Key::Char('$')];
    MeterHours Views METER [Key::Char('h')];
    MeterDevices Views METER [Key::Char('d')];
    MeterStarts Views METER [Key::Char('s')];
    Back Views INNER [Key::Escape, Key::Backspace];
    MeterBudget Views METER [Key::Char('b')];
    Demo Views NOTHING [Key::Char('d')];
    Retry Views NOTHING [Key::Char('r')];
    Pause Stream PICTURES [Key::Char(' ')];
    Faster Stream PICTURES [Key::Char('+'), Key::Char('=')];
    Slower Stream PICTURES [Key::Char('-')];
    Copy Stream PICTURES [Key::Char('y')];
    StepBack Past PICTURES [Key::Char('[')];
    StepForward Past PICTURES [Key::Char(']')];
    StepShorter Past PICTURES [Key::Char('{')];
    StepLonger Past PICTURES [Key::Char('}')];
    TickBack Past PICTURES [Key::Char(',')];
    TickForward Past PICTURES [Key::Char('.')];
    EventBefore Past PICTURES [Key::Char('N')];
    EventAfter Past PICTURES [Key::Char('n')];
    Begin Past PICTURES [Key::Home];
    End Past PICTURES [Key::End];
    GoTo Past PICTURES [Key::Char('t')];
    Mark Stream DEVICES [Key::Char('m')];
    Help Program ALL [Key::Char('?')];
    Redraw Program ALL [Key::Ctrl('l')];
    Suspend Program ALL [Key::Ctrl('z')];
    Quit Program ALL [Key::Char('q'), Key::Ctrl('c')];
}

/// What a key asks for in a view.
#[must_use]
pub fn action_of(key: Key, view: View) -> Option<Action> {
    BINDINGS
        .iter()
        .find(|b| b.keys.contains(&key) && b.views.contains(&view))
        .map(|b| b.action)
}

/// The sentence of an action for the help page.
#[must_use]
pub fn describe(action: Action, t: Catalogue) -> Cow<'static, str> {
    match action {
        Action::Up => t.help_up(),
        Action::Down => t.help_down(),
        Action::PageUp => t.help_page_up(),
        Action::PageDown => t.help_page_down(),
        Action::First => t.help_first(),
        Action::Last => t.help_last(),
        Action::Open => t.help_open(),
        Action::Verdicts => t.help_verdicts(),
        Action::Meter => t.help_meter(),
        Action::MeterHours => t.help_meter_hours(),
        Action::MeterDevices => t.help_meter_devices(),
        Action::MeterStarts => t.help_meter_starts(),
        Action::Sort => t.help_sort(),
        Action::Filter => t.help_filter(),
        Action::MeterBudget => t.help_meter_budget(),
        Action::Back => t.help_back(),
        Action::Pause => t.help_pause(),
        Action::Faster => t.help_faster(),
        Action::Slower => t.help_slower(),
        Action::Copy => t.help_copy(),
        Action::StepBack => t.help_step_back(),
        Action::StepForward => t.help_step_forward(),
        Action::StepShorter => t.help_step_shorter(),
        Action::StepLonger => t.help_step_longer(),
        Action::TickBack => t.help_tick_back(),
        Action::TickForward => t.help_tick_forward(),
        Action::EventBefore => t.help_event_before(),
        Action::EventAfter => t.help_event_after(),
        Action::Begin => t.help_begin(),
        Action::End => t.help_end(),
        Action::EpisodeBegin => t.help_episode_begin(),
        Action::GoTo => t.help_go_to(),
        Action::Mark => t.help_mark(),
        Action::Demo => t.help_demo(),
        Action::Retry => t.help_retry(),
        Action::Help => t.help_help(),
        Action::Redraw => t.help_redraw(),
        Action::Suspend => t.help_suspend(),
        Action::Quit => t.help_quit(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Lang;

    #[test]
    fn no_key_means_two_things_in_one_view() {
        for view in ALL {
            for (n, a) in BINDINGS.iter().enumerate() {
                for b in &BINDINGS[n + 1..] {
                    if a.views.contains(view) && b.views.contains(view) {
                        assert!(
                            !a.keys.iter().any(|k| b.keys.contains(k)),
                            "{:?} {:?} in {view:?}",
                            a.action,
                            b.action
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_binding_has_a_sentence_and_quit_works_everywhere() {
        for lang in [Lang::En, Lang::ZhCn] {
            for binding in BINDINGS {
                assert!(!describe(binding.action, Catalogue::new(lang)).is_empty());
            }
        }
        for view in ALL {
            assert_eq!(action_of(Key::Char('q'), *view), Some(Action::Quit));
            assert_eq!(action_of(Key::Ctrl('c'), *view), Some(Action::Quit));
        }
    }
}
