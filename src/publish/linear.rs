//! A snapshot one line after another, for screen readers, simple terminals and logs. Each figure stands behind its name,
//! because nothing stands above it:
//!
//! ```text
//! gpu-7f3, 2026-03-01T12:04:33.000Z  live  every 1 s
//!   0  H100 80GB HBM3  working  power 612 W, of plate 87 %  headroom 28 °C
//!      PCIe down 3 %, up 1 %  busy 98 %  work 70 %  memory 61.0 GiB
//!      Nothing wrong is known: 87 % of plate, 28 °C left, 98 % busy.
//! $865.90 so far at $23.92/h  compute 33h 12m  idle 3h 00m
//! ```
//!
//! Between two of these only what has changed is said.

use super::Words;
use super::text::{ABSENT, Page, TextOptions, around, banner, header, probe_lines, source};
use crate::model::{Cause, Confidence, DeviceView, Figure, Notice, Snapshot, StateWord};
use crate::text::{Catalogue, clean};
use crate::units::{Bytes, Celsius, Ratio, Watts};

/// All of a snapshot in the language of the catalogue; no line is wider than the options say.
#[must_use]
pub fn linear_text(
    snapshot: &Snapshot,
    words: &dyn Words,
    t: &Catalogue,
    options: TextOptions,
) -> String {
    let mut page = Page::new(options);
    banner(&mut page, snapshot, t);
    page.flow("", &header(snapshot, t));
    for view in &snapshot.devices {
        page.flow(
            &lead(snapshot, view),
            &figures(view, words, t, options.ascii),
        );
        page.wrap("     ", &words.verdict(view));
    }
    if snapshot.devices.is_empty() {
        page.line(&t.probe_none_title());
    }
    around(&mut page, snapshot, words, t, options.ascii);
    page.finish()
}

/// What is otherwise than in an earlier snapshot of the same source: devices that came, went, or are in another state for
/// another reason; probes and notices of the platform. `time` stands first. `None`: all is as it was, figures aside.
#[must_use]
pub fn linear_changes(
    before: &Snapshot,
    now: &Snapshot,
    time: &str,
    words: &dyn Words,
    t: &Catalogue,
    options: TextOptions,
) -> Option<String> {
    let mut page = Page::new(options);
    for view in &now.devices {
        let known = before
            .devices
            .iter()
            .find(|b| b.device.id == view.device.id);
        if known.is_none_or(|known| mood(known) != mood(view)) {
            let state = words.state(view.word);
            page.wrap(
                &lead(now, view),
                &format!("{state}: {}", words.verdict(view)),
            );
        }
    }
    for view in &before.devices {
        if now.devices.iter().all(|n| n.device.id != view.device.id) {
            let name = clean(&view.device.name);
            page.wrap(&lead(before, view), &format!("{name} {}", t.linear_gone()));
        }
    }
    for probe in &now.probes {
        let known = before
            .probes
            .iter()
            .find(|b| (b.vendor, &b.library) == (probe.vendor, &probe.library));
        if known.is_none_or(|k| (k.status, &k.message) != (probe.status, &probe.message)) {
            probe_lines(&mut page, probe, words, t);
        }
    }
    if let Some(platform) = now
        .platform
        .as_ref()
        .filter(|_| rented(before) != rented(now))
    {
        page.flow("", &words.platform(platform, now.at));
    }
    let said = page.finish();
    let mut head = Page::new(options);
    head.flow("", &[time.to_owned(), source(now, t)]);
    (!said.is_empty()).then(|| head.finish() + &said)
}

/// The device's number, in the columns that its further lines are indented by.
fn lead(snapshot: &Snapshot, view: &DeviceView) -> String {
    format!("{:>3}  ", snapshot.number(view))
}

/// What makes a device's sentence another one; the numbers in it change all the time.
fn mood(view: &DeviceView) -> (StateWord, Cause, Confidence) {
    (view.word, view.verdict.cause, view.verdict.confidence)
}

/// What the platform says that somebody has to hear of.
fn rented(snapshot: &Snapshot) -> Option<(&[Notice], bool, Option<&str>)> {
    snapshot.platform.as_ref().map(|view| {
        let platform = &view.platform;
        (
            platform.notices.as_slice(),
            view.still_bills,
            platform.state.as_deref(),
        )
    })
}

/// Name, state, and the figures of the overview's row behind their names.
fn figures(view: &DeviceView, words: &dyn Words, t: &Catalogue, ascii: bool) -> Vec<String> {
    let number = |figure: Figure, write: &dyn Fn(f64) -> String| {
        let value = view.figures.get(figure).ok();
        value.map_or_else(|| ABSENT.to_owned(), write)
    };
    let share = |figure| number(figure, &|ratio| Ratio(ratio).to_string());
    let degrees = |degrees| {
        let text = Celsius(degrees).to_string();
        if ascii { text.replace('°', "") } else { text }
    };
    let known = |figure| view.figures.get(figure).reading.is_ok();
    let watts = number(Figure::Power, &|watts| Watts(watts).to_string());
    let pcie = if known(Figure::PcieBothSaturation) && !known(Figure::PcieRx) {
        t.linear_pcie_both(share(Figure::PcieBothSaturation))
    } else {
        t.linear_pcie(
            share(Figure::PcieRxSaturation),
            share(Figure::PcieTxSaturation),
        )
    };
    let used = number(Figure::MemoryUsed, &|bytes| Bytes(bytes).to_string());
    let name = clean(view.device.short_name());
    let told = [
        t.linear_power(watts, share(Figure::PowerRatio)),
        t.linear_headroom(number(Figure::Headroom, &degrees)),
        pcie,
        t.linear_busy(share(Figure::Utilization)),
        t.linear_work(share(Figure::Work)),
        t.linear_memory(used),
    ];
    [name.into_owned(), words.state(view.word)]
        .into_iter()
        .chain(told.into_iter().map(Into::into))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{self, PlainWords};
    use super::*;
    use crate::text::Lang;
    use unicode_width::UnicodeWidthStr as _;

    fn options(ascii: bool) -> TextOptions {
        TextOptions { width: 80, ascii }
    }

    #[test]
    fn every_figure_stands_behind_its_name() {
        let text = linear_text(
            &sample::snapshot(),
            &PlainWords,
            &Catalogue::new(Lang::En),
            options(true),
        );
        assert!(text.is_ascii(), "{text}");
        insta::assert_snapshot!(text, @r"
        gpu-7f3, 2026-03-01T12:04:33.120Z  live  every 1 s
          0  H100 80GB HBM3  working  power 612 W, of plate 87 %  headroom 28 C
             PCIe down 3 %, up --  busy 98 %  work 30 %  memory 61.0 GiB
             The link runs x8 of x16 since boot (bridge 0000:17:00.0) and it has been at
             12.6 of 13.0 GB/s for three minutes.
          1  H100 80GB HBM3  silent  power --, of plate --  headroom --
             PCIe down --, up --  busy --  work --  memory --
             A call has not answered since 30 s; the others go on.
        nvidia  libnvidia-ml.so.1  library not found
            libnvidia-ml.so.1 could not be opened: no such file
            next: install the driver
        cpu 34 %  load 3.20  memory 56.8 GiB of 468 GiB
        AWS
        about $38.40 so far at $12.80/h (estimated)  compute 1h 42m  io-wait 35m 22s
        energy 1.25 kWh
        ");
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        for lang in [Lang::En, Lang::ZhCn] {
            let t = Catalogue::new(lang);
            let text = linear_text(&sample::snapshot(), &PlainWords, &t, options(false));
            for line in text.lines() {
                assert!(line.width() <= 80, "{} columns: {line}", line.width());
            }
        }
    }

    #[test]
    fn only_what_changed_is_said() {
        let t = Catalogue::new(Lang::En);
        let changes = |before: &Snapshot, now: &Snapshot| {
            linear_changes(before, now, "12:04:34", &PlainWords, &t, options(false))
        };
        let before = sample::snapshot();
        assert_eq!(changes(&before, &before), None);
        let mut now = sample::snapshot();
        now.devices[0]
            .figures
            .set(Figure::Power, crate::model::Value::fresh(1.0));
        assert_eq!(changes(&before, &now), None, "a figure is no change");
        now.devices[0].word = StateWord::Lost;
        let gone = now.devices.remove(1);
        let said = changes(&before, &now).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "12:04:34  live");
        assert!(lines[1].starts_with("  0  lost: "), "{said}");
        assert!(
            said.ends_with("  1  NVIDIA H100 80GB HBM3 is listed no more\n"),
            "{said}"
        );
        now.devices.push(gone);
        now.probes[0].message = Some("device 5: gone".into());
        let said = changes(&before, &now).unwrap_or_default();
        assert!(
            said.contains("device 5: gone") && !said.contains("listed no more"),
            "{said}"
        );
    }

    #[test]
    fn a_demo_is_never_taken_for_live() {
        let before = sample::snapshot();
        let mut now = sample::snapshot();
        now.source = crate::model::SourceKind::Demo("hang".to_owned());
        now.devices[0].word = StateWord::Lost;
        let t = Catalogue::new(Lang::En);
        let said = linear_changes(&before, &now, "1", &PlainWords, &t, options(false));
        assert!(said.unwrap_or_default().starts_with("1  DEMO hang: "));
    }
}
