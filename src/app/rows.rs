//! Which devices stand in the table, and in what order.

use super::App;
use super::keymap::Key;
use crate::model::{DeviceView, Figure};
use crate::session::worse;
use crate::text::Catalogue;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Characters that a filter may have.
const LONGEST: usize = 40;

/// The order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// As the drivers list them.
    #[default]
    Listed,
    /// The worst state first.
    Worst,
    /// By vendor and name.
    Vendor,
    /// The highest draw first.
    Power,
    /// The least headroom first.
    Headroom,
    /// The busiest first.
    Utilization,
    /// The least work first.
    Work,
    /// The fullest memory first.
    Memory,
}

impl Sort {
    const ALL: [Self; 8] = [
        Self::Listed,
        Self::Worst,
        Self::Vendor,
        Self::Power,
        Self::Headroom,
        Self::Utilization,
        Self::Work,
        Self::Memory,
    ];

    fn next(self) -> Self {
        let place = Self::ALL.iter().position(|sort| *sort == self);
        let next = place.map_or(0, |place| (place + 1) % Self::ALL.len());
        Self::ALL.get(next).copied().unwrap_or_default()
    }

    /// In words.
    #[must_use]
    pub fn name(self, t: Catalogue) -> Cow<'static, str> {
        match self {
            Self::Listed => t.overview_sort_listed(),
            Self::Worst => t.overview_sort_worst(),
            Self::Vendor => t.overview_sort_vendor(),
            Self::Power => t.overview_sort_power(),
            Self::Headroom => t.overview_sort_headroom(),
            Self::Utilization => t.overview_sort_utilization(),
            Self::Work => t.overview_sort_work(),
            Self::Memory => t.overview_sort_memory(),
        }
    }

    fn compare(self, a: &DeviceView, b: &DeviceView) -> Ordering {
        let figure = |view: &DeviceView, figure| view.figures.get(figure).ok();
        let highest = |of| known_first(figure(b, of), figure(a, of), a, b, of);
        let lowest = |of| known_first(figure(a, of), figure(b, of), a, b, of);
        match self {
            Self::Listed => Ordering::Equal,
            Self::Worst => match (worse(a.word, b.word), worse(b.word, a.word)) {
                (true, _) => Ordering::Less,
                (_, true) => Ordering::Greater,
                _ => Ordering::Equal,
            },
            Self::Vendor => {
                let key = |view: &DeviceView| (view.device.vendor.word(), view.device.name.clone());
                key(a).cmp(&key(b))
            }
            Self::Power => highest(Figure::Power),
            Self::Headroom => lowest(Figure::Headroom),
            Self::Utilization => highest(Figure::Utilization),
            Self::Work => lowest(Figure::Work),
            Self::Memory => highest(Figure::MemoryUsed),
        }
    }
}

/// Compares two figures; devices that do not say theirs stand last, whichever way it goes.
fn known_first(
    first: Option<f64>,
    second: Option<f64>,
    a: &DeviceView,
    b: &DeviceView,
    of: Figure,
) -> Ordering {
    match (first, second) {
        (Some(first), Some(second)) => first.total_cmp(&second),
        _ => {
            let unknown = |view: &DeviceView| view.figures.get(of).ok().is_none();
            unknown(a).cmp(&unknown(b))
        }
    }
}

/// Whether a device is meant: its vendor, name, number, state, id or address has each word of the text in it.
fn is_meant(view: &DeviceView, text: &str) -> bool {
    let device = &view.device;
    let index = device.index.to_string();
    let address = device.pci_address.map(|address| address.to_string());
    let name = device.name.to_lowercase();
    let id = device.id.0.to_lowercase();
    text.to_lowercase().split_whitespace().all(|word| {
        device.vendor.word().contains(word)
            || name.contains(word)
            || index == word
            || id.contains(word)
            || address.as_ref().is_ok_and(|address| address.contains(word))
    })
}

impl App {
    /// Places in the picture's list of the devices that the table shows, in its order.
    #[must_use]
    pub fn rows(&self) -> Vec<usize> {
        let devices = self.picture().map_or(&[][..], |picture| &picture.devices);
        let shown = |view: &DeviceView| self.filter.is_empty() || is_meant(view, &self.filter);
        let mut rows: Vec<usize> = (0..devices.len())
            .filter(|place| devices.get(*place).is_some_and(shown))
            .collect();
        if self.sort != Sort::Listed {
            rows.sort_by(|a, b| match (devices.get(*a), devices.get(*b)) {
                (Some(a), Some(b)) => self.sort.compare(a, b),
                _ => Ordering::Equal,
            });
        }
        rows
    }

    /// The table's order.
    #[must_use]
    pub const fn sort(&self) -> Sort {
        self.sort
    }

    /// Only devices with these words stand in the table; empty: all.
    #[must_use]
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether the filter is being typed.
    #[must_use]
    pub const fn is_filtering(&self) -> bool {
        self.filtering
    }

    /// The next order; what it is now is said.
    pub(super) fn sort_otherwise(&mut self, t: Catalogue) {
        self.sort = self.sort.next();
        self.notify(t.overview_sorted(self.sort.name(t)).into_owned());
    }

    pub(super) fn begin_filter(&mut self) {
        self.filtering = true;
    }

    /// The table follows while it is typed.
    pub(super) fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char(c) if self.filter.chars().count() < LONGEST => self.filter.push(c),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Escape => {
                self.filter.clear();
                self.filtering = false;
            }
            Key::Enter => self.filtering = false,
            _ => {}
        }
        self.settle();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::{Config, Plates, SourceKind};
    use crate::session::{Session, Start};
    use crate::simulate::Simulation;
    use crate::text::Lang;
    use std::sync::Arc;
    use std::time::Duration;

    /// Nine devices of five vendors.
    fn app() -> App {
        let plates = Arc::new(Plates::embedded().unwrap());
        let source = SourceKind::Demo("mixed".to_owned());
        let session = Session::new(Start::new(Config::default()), plates, source);
        let mut app = App::new(session, Duration::from_secs(1), Duration::from_secs(900));
        let mut simulation = Simulation::case("mixed", 1).unwrap();
        (0..20).for_each(|_| app.fold(&simulation.tick()));
        app.refresh();
        app
    }

    fn vendors(app: &App) -> Vec<&'static str> {
        let devices = &app.picture().unwrap().devices;
        let rows = app.rows().into_iter();
        rows.map(|place| devices[place].device.vendor.word())
            .collect()
    }

    #[test]
    fn orders_go_round_and_what_is_not_known_stands_last() {
        let mut app = app();
        let listed = app.rows();
        assert_eq!(listed, (0..9).collect::<Vec<_>>());
        for sort in &Sort::ALL[1..] {
            app.press(Key::Char('s'), Catalogue::new(Lang::En));
            assert_eq!(app.sort(), *sort);
            assert!(app.notice().is_some());
            assert_eq!(app.rows().len(), 9);
            let devices = &app.picture().unwrap().devices;
            let of = |figure| -> Vec<Option<f64>> {
                let rows = app.rows().into_iter();
                rows.map(|place| devices[place].figures.get(figure).ok())
                    .collect()
            };
            let figure = match sort {
                Sort::Power => Figure::Power,
                Sort::Headroom => Figure::Headroom,
                Sort::Utilization => Figure::Utilization,
                Sort::Work => Figure::Work,
                Sort::Memory => Figure::MemoryUsed,
                _ => continue,
            };
            let values = of(figure);
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            assert!(
                values[known.len()..].iter().all(Option::is_none),
                "{sort:?}"
            );
            let falls = matches!(sort, Sort::Power | Sort::Utilization | Sort::Memory);
            let right = |pair: &[f64]| {
                if falls {
                    pair[0] >= pair[1]
                } else {
                    pair[0] <= pair[1]
                }
            };
            assert!(known.windows(2).all(right), "{sort:?} {known:?}");
        }
        app.press(Key::Char('s'), Catalogue::new(Lang::En));
        assert_eq!(app.rows(), listed);
    }

    #[test]
    fn a_filter_is_typed_and_left() {
        let mut app = app();
        app.press(Key::Char('/'), Catalogue::new(Lang::En));
        assert!(app.is_filtering());
        "amd".chars().for_each(|c| {
            app.press(Key::Char(c), Catalogue::new(Lang::En));
        });
        assert_eq!(vendors(&app), ["amd", "amd"]);
        assert_eq!(app.selection().unwrap().device.vendor.word(), "amd");
        app.press(Key::Enter, Catalogue::new(Lang::En));
        // Keys mean what they mean again, and the selection stays among the rows.
        app.press(Key::Char('G'), Catalogue::new(Lang::En));
        assert_eq!(app.selection().unwrap().device.vendor.word(), "amd");
        app.press(Key::Char('/'), Catalogue::new(Lang::En));
        app.press(Key::Char('x'), Catalogue::new(Lang::En));
        assert!(app.rows().is_empty());
        app.press(Key::Backspace, Catalogue::new(Lang::En));
        assert_eq!(app.rows().len(), 2);
        app.press(Key::Escape, Catalogue::new(Lang::En));
        assert_eq!((app.rows().len(), app.filter()), (9, ""));
    }
}
