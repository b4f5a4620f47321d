//! What a configuration file may say.

use super::Problem;
use super::table::{Problems, Table, one_line};
use crate::cli::libraries::Libraries;
use crate::cli::value;
use crate::model::{
    CarbonTable, Extra, ExtraKind, Granularity, Grid, Phase, PhasePrice, Prepaid, PriceScope,
    Threshold, Thresholds, Tier, Upfront,
};
use crate::text::Lang;
use crate::ui::theme::ColorChoice;
use crate::units::Currency;
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What becomes of a recording when the screen that keeps it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLogout {
    /// A recorder in the background goes on with it.
    Record,
    /// It ends.
    Stop,
}

/// All that a file says; what it does not say is absent.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)] // the names are the file's own; sample.rs explains each
pub struct FileSettings {
    pub price_per_hour: Option<Decimal>,
    pub price_scope: Option<PriceScope>,
    pub currency: Option<Currency>,
    pub granularity: Option<Granularity>,
    pub since: Option<Timestamp>,
    pub rule: Option<String>,
    pub stopped_per_hour: Option<Decimal>,
    pub tiers: Vec<Tier>,
    pub phases: [Option<PhasePrice>; 5],
    pub prepaid: Option<Prepaid>,
    pub upfront: Option<Upfront>,
    pub extras: Vec<Extra>,
    pub grid: Grid,
    pub budget: Option<Decimal>,
    pub interval: Option<Duration>,
    pub history: Option<Duration>,
    pub theme: Option<String>,
    pub ascii: Option<bool>,
    pub color: Option<ColorChoice>,
    pub linear: Option<bool>,
    pub lang: Option<Lang>,
    pub tz: Option<String>,
    pub compute_utilization: Option<f64>,
    pub max_idle: Option<Duration>,
    pub thresholds: Thresholds,
    pub libraries: Libraries,
    /// Whether PCIe traffic of Ascend devices is measured.
    pub dcmi_pcie: Option<bool>,
    pub platform_enabled: Option<bool>,
    pub platform_name: Option<String>,
    pub platform_url: Option<String>,
    pub platform_key_file: Option<PathBuf>,
    pub platform_instance_id: Option<String>,
    pub record_enabled: Option<bool>,
    pub state_dir: Option<PathBuf>,
    pub after_logout: Option<AfterLogout>,
}

impl FileSettings {
    /// Makes relative paths belong to a folder.
    pub(super) fn resolve_paths(&mut self, folder: &Path) {
        for path in self.libraries.named().chain(&mut self.platform_key_file) {
            // A bare file name of a library is looked up by the loader, as everywhere else.
            if path.is_relative() && path.components().count() > 1 {
                *path = folder.join(&path);
            }
        }
        if let Some(state) = self.state_dir.as_mut().filter(|path| path.is_relative()) {
            *state = folder.join(&state);
        }
    }
}

/// Reads a file's text.
///
/// # Errors
/// All problems with their lines.
pub fn parse(text: &str) -> Result<FileSettings, Vec<Problem>> {
    let mut problems = Problems::new(text);
    let mut settings = FileSettings::default();
    match toml::de::DeTable::parse(text) {
        Ok(document) => {
            let mut root = Table::new("", document.get_ref());
            sections(&mut root, &mut settings, &mut problems);
            root.finish(&mut problems);
        }
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            problems.note(
                at,
                format!("this is not TOML: {}", one_line(error.message())),
                None,
            );
        }
    }
    let problems = problems.into_sorted();
    if problems.is_empty() {
        Ok(settings)
    } else {
        Err(problems)
    }
}

fn sections(root: &mut Table<'_, '_>, settings: &mut FileSettings, problems: &mut Problems<'_>) {
    type Read = fn(&mut Table<'_, '_>, &mut FileSettings, &mut Problems<'_>);
    let known: [(&'static str, Read); 12] = [
        ("price", price),
        ("budget", budget),
        ("carbon", carbon),
        ("screen", screen),
        ("thresholds", thresholds),
        ("verdict", verdict),
        ("nvidia", nvidia),
        ("ascend", ascend),
        ("cambricon", cambricon),
        ("gaudi", gaudi),
        ("platform", platform),
        ("record", record),
    ];
    for (name, read) in known {
        if let Some(mut section) = root.table(problems, name) {
            read(&mut section, settings, problems);
            section.finish(problems);
        }
    }
}

fn price(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.price_per_hour = t.take(p, "per_hour", value::amount);
    s.price_scope = t.take(p, "scope", value::scope);
    s.currency = t.take(p, "currency", |text| text.parse());
    s.granularity = t.take(p, "granularity", value::granularity);
    s.since = t.take(p, "since", value::time);
    s.rule = t.take(p, "rule", rule);
    s.stopped_per_hour = t.take(p, "stopped_per_hour", value::amount);
    for mut tier in t.tables(p, "tiers") {
        let after = tier.take(p, "after", value::span);
        let factor = tier.take(p, "factor", value::amount);
        tier.finish(p);
        if let (Some(after), Some(factor)) = (after, factor) {
            s.tiers.push(Tier { after, factor });
        }
    }
    if let Some(mut phases) = t.table(p, "phases") {
        for (price, phase) in s.phases.iter_mut().zip(Phase::ALL) {
            *price = phases.take(p, phase.word(), value::phase_price);
        }
        phases.finish(p);
    }
    if let Some(mut prepaid) = t.table(p, "prepaid") {
        let time = prepaid.take(p, "time", value::span);
        let amount = prepaid.take(p, "amount", value::amount);
        prepaid.finish(p);
        s.prepaid = time.map(|time| Prepaid {
            time,
            amount: amount.unwrap_or_default(),
        });
    }
    if let Some(mut upfront) = t.table(p, "upfront") {
        let amount = upfront.take(p, "amount", value::amount);
        let term = upfront.take(p, "term", value::span);
        upfront.finish(p);
        s.upfront = amount
            .zip(term)
            .map(|(amount, term)| Upfront { amount, term });
    }
    for mut extra in t.tables(p, "extras") {
        let storage = extra.take(p, "storage_per_hour", value::amount);
        let traffic = extra.take(p, "traffic_per_gb", value::amount);
        extra.finish(p);
        let line = |kind| move |price| Extra { kind, price };
        s.extras.extend(storage.map(line(ExtraKind::Storage)));
        s.extras.extend(traffic.map(line(ExtraKind::Traffic)));
    }
}

/// A rule that is known.
fn rule(text: &str) -> Result<String, String> {
    let rules = crate::model::BillingRules::embedded().map_err(|e| e.to_string())?;
    if rules.find(text).is_some() {
        return Ok(text.to_owned());
    }
    let nearest = crate::text::nearest(text, rules.iter().map(|rule| &*rule.id));
    let meant = nearest.map_or(String::new(), |name| format!("; did you mean {name}?"));
    Err(format!("no billing rule is called \"{text}\"{meant}"))
}

fn carbon(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    let zone = t.take(p, "zone", |text| {
        if CarbonTable::shared().has_grid(text) {
            Ok(std::sync::Arc::from(text))
        } else {
            Err(format!(
                "\"{text}\" is not a grid such as gcp:us-central1 or country:DEU"
            ))
        }
    });
    s.grid = Grid {
        zone,
        intensity_g_per_kwh: t.take(p, "intensity_g_per_kwh", value::intensity),
        pue: t.take(p, "pue", value::pue),
    };
}

fn budget(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.budget = t.take(p, "amount", value::amount);
}

fn screen(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.interval = t.take(p, "interval", value::interval);
    s.history = t.take(p, "history", value::history);
    s.theme = t.take(p, "theme", plain);
    s.ascii = t.take_bool(p, "ascii");
    s.color = t.take(p, "color", |text| {
        text.parse::<ColorChoice>().map_err(|e| e.to_string())
    });
    s.linear = t.take_bool(p, "linear");
    s.lang = t.take(p, "lang", |text| {
        text.parse::<Lang>().map_err(|e| e.to_string())
    });
    s.tz = t.take(p, "tz", |text| value::zone(text).map(|_| text.to_owned()));
}

fn thresholds(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.compute_utilization = t.take(p, "compute_utilization", value::share);
    s.max_idle = t.take(p, "max_idle", value::span);
}

/// What the rules compare with: a section for each cause.
fn verdict(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    let mut causes: Vec<_> = Threshold::ALL.iter().map(|t| t.cause()).collect();
    causes.dedup();
    for cause in causes {
        let Some(mut section) = t.table(p, cause.word()) else {
            continue;
        };
        for threshold in Threshold::ALL.iter().filter(|t| t.cause() == cause) {
            let read = |text: &str| value::threshold(text, threshold.key());
            if let Some(number) = section.take(p, threshold.key(), read) {
                s.thresholds.set(*threshold, number);
            }
        }
        section.finish(p);
    }
}

fn nvidia(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.libraries.nvml = t.take(p, "library", path);
}

fn ascend(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.libraries.dcmi = t.take(p, "library", path);
    s.dcmi_pcie = t.take_bool(p, "measure_pcie");
}

fn cambricon(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.libraries.cndev = t.take(p, "library", path);
}

fn gaudi(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.libraries.hlml = t.take(p, "library", path);
}

fn platform(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.platform_enabled = t.take_bool(p, "enabled");
    s.platform_name = t.take(p, "name", plain);
    s.platform_url = t.take(p, "url", plain);
    s.platform_key_file = t.take(p, "key_file", path);
    s.platform_instance_id = t.take(p, "instance_id", plain);
}

fn record(t: &mut Table<'_, '_>, s: &mut FileSettings, p: &mut Problems<'_>) {
    s.record_enabled = t.take_bool(p, "enabled");
    s.state_dir = t.take(p, "state_dir", path);
    s.after_logout = t.take(p, "after_logout", after_logout);
}

fn after_logout(text: &str) -> Result<AfterLogout, String> {
    match text {
        "record" => Ok(AfterLogout::Record),
        "stop" => Ok(AfterLogout::Stop),
        _ => Err(format!("\"{text}\" is neither \"record\" nor \"stop\"")),
    }
}

/// Text that is not empty.
fn plain(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("it is empty".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

fn path(text: &str) -> Result<PathBuf, String> {
    plain(text).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prices_are_read_as_text_and_as_numbers() {
        for text in [
            "[price]\nper_hour = \"2.99\"",
            "[price]\nper_hour = 2.99",
            "price.per_hour = 2.99",
        ] {
            assert_eq!(
                parse(text).unwrap().price_per_hour,
                Some(Decimal::new(299, 2)),
                "{text}"
            );
        }
        assert_eq!(
            parse("[price]\nper_hour = 3").unwrap().price_per_hour,
            Some(Decimal::from(3))
        );
    }

    #[test]
    fn dates_are_read_as_text_and_as_dates() {
        let expected = value::time("2026-03-01T12:00:00Z").unwrap();
        for text in [
            "\"2026-03-01T12:00:00Z\"",
            "2026-03-01T12:00:00Z",
            "2026-03-01T20:00:00+08:00",
        ] {
            let settings = parse(&format!("[price]\nsince = {text}")).unwrap();
            assert_eq!(settings.since, Some(expected), "{text}");
        }
    }

    /// Each text with the line and the message that it must give.
    #[test]
    fn problems_name_their_line() {
        let cases: &[(&str, usize, &str)] = &[
            ("[prise]\n", 1, "unknown key prise; did you mean price?"),
            (
                "\n[screen]\nthem = \"dark\"",
                3,
                "unknown key them in [screen]; did you mean theme?",
            ),
            (
                "[screen]\ninterval = \"90s\"",
                2,
                "interval in [screen]: \"90s\" is not between 0.1s and 60s",
            ),
            (
                "[screen]\nascii = \"yes\"",
                2,
                "ascii in [screen]: it is text, where true or false is needed",
            ),
            (
                "[screen]\ntheme = []",
                2,
                "theme in [screen]: it is a list, where a value in quotes is needed",
            ),
            ("price = 3", 1, "price is a section: write [price]"),
            (
                "[price]\ntiers = 3",
                2,
                "tiers is a list of sections: write [[price.tiers]]",
            ),
            (
                "[[price.tiers]]\nafter = \"720h\"\nfacter = \"0.85\"",
                3,
                "unknown key facter in [price.tiers]; did you mean factor?",
            ),
            (
                "[price]\nper_hour = -1",
                2,
                "per_hour in [price]: \"-1\" is not between 0 and 1000000000",
            ),
            (
                "[price]\nqqqqqqqqq = 1",
                2,
                "unknown key qqqqqqqqq in [price]",
            ),
        ];
        for (text, line, what) in cases {
            let problems = parse(text).unwrap_err();
            assert_eq!(
                (problems[0].line, problems[0].to_string().as_str()),
                (*line, *what),
                "{text}"
            );
        }
        let broken = parse("[price]\nper_hour = ").unwrap_err();
        assert_eq!(broken[0].line, 2);
        assert!(broken[0].what.starts_with("this is not TOML"), "{broken:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\n){0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_line_in_a_section_is_read_or_refused(
            section in "(price|screen|thresholds|platform|budget|\\[price\\.tiers\\])",
            key in "(per_hour|since|interval|ascii|amount|after|x)",
            value in "(\"\\PC{0,9}\"|[-+0-9.e_:TZx]{1,12}|true|\\[.{0,4}\\])",
        ) {
            let text = format!("[{section}]\n{key} = {value}\n");
            if let Err(problems) = parse(&text) {
                prop_assert!(!problems.is_empty());
                prop_assert!(problems.iter().all(|problem| !problem.to_string().contains('\n')));
            }
        }
    }
}
