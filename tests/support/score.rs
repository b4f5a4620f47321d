//! The score of the verdicts against what is really so.
//!
//! A scenario's ticks go through a whole session; the verdict of every device is read after every tick. What was named
//! while a label held becomes a record, and a table is a pure function of records, so that shuffled labels give another
//! table of the same verdicts.
//!
//! A label is *hit* if its cause is named while it holds (and counts, where such a cause can). A name is *false* if it
//! counts and is neither the label's cause, nor one that the label calls as right, nor a mere suspicion of what is just
//! below its threshold.

use nameplate::model::{Cause, Confidence, Config, DeviceId, Plates, SourceKind, Verdict};
use nameplate::session::{Session, Start};
use nameplate::simulate::families::{Family, Label, Scenario, families};
use nameplate::verdict::RuleSet;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// So long after a fault its verdict may still stand: the fault has to be seen to be over.
const AFTER_S: f64 = 120.0;
/// Edges of the curve by severity.
const EDGES: [f64; 4] = [0.75, 1.0, 1.25, 2.0];

/// What was said of a cause while a label held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Named {
    /// Seconds after the label's begin.
    pub(crate) first_s: f64,
    /// The same, for `sure`.
    pub(crate) sure_s: Option<f64>,
    /// The most that was said.
    pub(crate) most: Confidence,
}

/// What was said while a label held.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) family: &'static str,
    pub(crate) label: Label,
    pub(crate) named: BTreeMap<Cause, Named>,
}

impl Record {
    /// The first that was said of the label's cause, or of one that is as right.
    fn hit(&self) -> Option<&Named> {
        let right = self.label.also.iter().filter(|cause| cause.can_count());
        let right = right.chain([&self.label.cause]);
        right
            .filter_map(|cause| self.named.get(cause))
            .min_by(|a, b| a.first_s.total_cmp(&b.first_s))
    }

    /// Whether the label's cause must be named: not where saying nothing is as right.
    fn wanted(&self) -> bool {
        let nothing_is_right = self.label.also.contains(&Cause::None);
        self.label.cause != Cause::None
            && (!nothing_is_right || !self.label.cause.can_count() || self.hit().is_some())
    }

    /// What was named and is not so.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = (Cause, Confidence)> + '_ {
        let Label {
            cause,
            also,
            hint,
            most,
            ..
        } = &self.label;
        self.named.iter().filter_map(move |(named, said)| {
            let right = (named == cause && said.most <= *most)
                || also.contains(named)
                || (*hint == Some(*named) && said.most < Confidence::Sure);
            (named.can_count() && !right).then_some((*named, said.most))
        })
    }
}

/// A session on a scenario's devices.
pub(crate) fn session(plates: &Arc<Plates>) -> Session {
    let kind = SourceKind::Demo("truth".to_owned());
    Session::new(Start::new(Config::default()), plates.clone(), kind)
}

/// The same with one cause's rule left out.
pub(crate) fn session_without(plates: &Arc<Plates>, cause: Cause) -> Session {
    session(plates).with_rules(RuleSet::all().without(cause))
}

/// Calls `see` with the verdict of each device.
pub(crate) fn verdicts(session: &Session, mut see: impl FnMut(&DeviceId, &Verdict)) {
    for (id, verdict) in session.verdicts() {
        see(id, &verdict);
    }
}

/// Folds a scenario and records what is said.
pub(crate) fn records(mut scenario: Scenario, mut session: Session) -> Vec<Record> {
    let devices = scenario.devices();
    let mut records: Vec<Record> = scenario
        .labels
        .iter()
        .map(|label| Record {
            family: scenario.family,
            label: label.clone(),
            named: BTreeMap::new(),
        })
        .collect();
    let labels = records.len();
    // Where no label holds, nothing is wrong.
    records.extend((0..devices.len()).map(|device| Record {
        family: scenario.family,
        label: Label {
            device: device as u32,
            from_s: 0.0,
            until_s: scenario.seconds,
            about: Cause::None,
            cause: Cause::None,
            severity: 1.0,
            most: Confidence::Sure,
            also: Vec::new(),
            hint: None,
        },
        named: BTreeMap::new(),
    }));
    while let Some((second, tick)) = scenario.tick() {
        session.fold(&tick);
        verdicts(&session, |id, verdict| {
            let Some(device) = devices.iter().position(|d| d == id) else {
                return;
            };
            if verdict.cause.can_count() && !verdict.counts {
                return;
            }
            let holds = |r: &Record| r.label.device as usize == device && r.label.from_s <= second;
            let place = records[..labels]
                .iter()
                .rposition(|r| holds(r) && second <= r.label.until_s)
                .or_else(|| {
                    records[..labels]
                        .iter()
                        .rposition(|r| holds(r) && second <= r.label.until_s + AFTER_S)
                })
                .unwrap_or(labels + device);
            note(&mut records[place], second, verdict);
        });
    }
    records
}

fn note(record: &mut Record, second: f64, verdict: &Verdict) {
    let since = second - record.label.from_s;
    let sure = (verdict.confidence == Confidence::Sure).then_some(since);
    let named = record.named.entry(verdict.cause).or_insert(Named {
        first_s: since,
        sure_s: sure,
        most: verdict.confidence,
    });
    named.sure_s = named.sure_s.or(sure);
    named.most = named.most.max(verdict.confidence);
}

/// A counting verdict where nothing is wrong, from begin to end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FalseAlarm {
    pub(crate) device: DeviceId,
    pub(crate) cause: Cause,
    /// Simulated seconds.
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
    pub(crate) most: Confidence,
}

/// False alarms of one machine's clean days: names of the same cause on the same device that are less than this apart
/// are one alarm.
const ONE_ALARM_S: f64 = 300.0;

/// Folds clean work and gives its false alarms.
pub(crate) fn false_alarms(mut scenario: Scenario, mut session: Session) -> Vec<FalseAlarm> {
    let devices = scenario.devices();
    let mut alarms: Vec<FalseAlarm> = Vec::new();
    while let Some((second, tick)) = scenario.tick() {
        session.fold(&tick);
        verdicts(&session, |id, verdict| {
            if !verdict.counts {
                return;
            }
            let Some(device) = devices.iter().position(|d| d == id) else {
                return;
            };
            let allowed = scenario.labels.iter().any(|label| {
                label.device as usize == device
                    && (label.from_s..=label.until_s + AFTER_S).contains(&second)
                    && label.also.contains(&verdict.cause)
            });
            if allowed {
                return;
            }
            let open = alarms.iter_mut().rev().find(|a| {
                a.cause == verdict.cause && a.device == *id && second - a.until_s < ONE_ALARM_S
            });
            match open {
                Some(alarm) => {
                    alarm.until_s = second;
                    alarm.most = alarm.most.max(verdict.confidence);
                }
                None => alarms.push(FalseAlarm {
                    device: id.clone(),
                    cause: verdict.cause,
                    from_s: second,
                    until_s: second,
                    most: verdict.confidence,
                }),
            }
        });
    }
    alarms
}

/// False alarms by cause, and per device-day.
pub(crate) fn alarms_text(alarms: &[FalseAlarm], device_days: f64) -> String {
    let mut by: BTreeMap<(Cause, &str), usize> = BTreeMap::new();
    for alarm in alarms {
        *by.entry((alarm.cause, alarm.most.word())).or_default() += 1;
    }
    let mut out = format!(
        "clean work: {} false alarms that count in {device_days:.0} device-days, {:.5} per device-day\n",
        alarms.len(),
        alarms.len() as f64 / device_days
    );
    for ((cause, most), n) in by {
        let _ = writeln!(out, "{n:>5}  {} ({most})", cause.word());
    }
    out
}

/// Hours until a drift was suspected and until it was likely or sure, by run of the articles' ramp.
pub(crate) fn ramp(
    runs: u64,
    make: &(impl Fn() -> Session + Sync),
) -> Vec<(Option<f64>, Option<f64>)> {
    let Some(family) = families().iter().find(|f| f.name == "power_drift_ramp") else {
        return Vec::new();
    };
    let jobs: Vec<u64> = (0..runs).collect();
    in_threads(&jobs, |seed| {
        let mut scenario = family.scenario(*seed);
        let mut session = make();
        let (mut suspect, mut verdict) = (None, None);
        while let Some((second, tick)) = scenario.tick() {
            session.fold(&tick);
            verdicts(&session, |_, v| {
                if v.cause == Cause::PowerDrift {
                    suspect = suspect.or(Some(second / 3600.0));
                    if v.confidence > Confidence::Suspect {
                        verdict = verdict.or(Some(second / 3600.0));
                    }
                }
            });
        }
        vec![(suspect, verdict)]
    })
}

/// Records of so many scenarios of each family, by seed.
pub(crate) fn drawn(
    families: &[&Family],
    seeds: std::ops::Range<u64>,
    make: &(impl Fn() -> Session + Sync),
) -> Vec<Record> {
    let jobs: Vec<(&Family, u64)> = families
        .iter()
        .flat_map(|family| seeds.clone().map(move |seed| (*family, seed)))
        .collect();
    in_threads(&jobs, |(family, seed)| {
        records(family.scenario(*seed), make())
    })
}

/// Runs jobs on all cores, and gives their outcomes in the order of the jobs.
pub(crate) fn in_threads<J: Sync, O: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Vec<O> + Sync,
) -> Vec<O> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return done };
            done.push((at, run(job)));
        }
    };
    let mut done: Vec<(usize, Vec<O>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter()
        .flat_map(|(_, outcomes)| outcomes)
        .collect()
}

/// The score of one cause.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// Labels that hold, and how many of them were hit.
    pub(crate) held: (usize, usize),
    /// The same at 1.25 times the threshold or beyond.
    pub(crate) beyond: (usize, usize),
    /// Times that it was named falsely, and those of them not within 25 % of its threshold.
    pub(crate) falsely: (usize, usize),
    /// Seconds from the begin to a first name and to `sure`.
    pub(crate) to_suspect: Vec<f64>,
    pub(crate) to_sure: Vec<f64>,
    /// Labels about it and how many were named, by severity: under 0.75, to 1, to 1.25, to 2, beyond.
    pub(crate) curve: [(usize, usize); 5],
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The lower bound of a share at 95 % (Wilson): what so many cases prove.
pub(crate) fn at_least((part, whole): (usize, usize)) -> Option<f64> {
    const Z: f64 = 1.96;
    let (share, n) = (ratio(part, whole)?, whole as f64);
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(((middle - half) / (1.0 + Z * Z / n)).max(0.0))
}

impl Row {
    pub(crate) fn recall(&self) -> Option<f64> {
        ratio(self.held.1, self.held.0)
    }

    pub(crate) fn precision(&self) -> Option<f64> {
        ratio(self.held.1, self.held.1 + self.falsely.0)
    }

    /// Precision and recall on what is not near the threshold, as cases: right of named, right of those to be named.
    pub(crate) fn clear(&self) -> [(usize, usize); 2] {
        let hit = self.beyond.1;
        [(hit, hit + self.falsely.1), (hit, self.beyond.0)]
    }

    pub(crate) fn f1(&self) -> Option<f64> {
        let (p, r) = (self.precision()?, self.recall()?);
        (p + r > 0.0).then(|| 2.0 * p * r / (p + r))
    }
}

/// The table of some records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table(pub BTreeMap<Cause, Row>);

impl Table {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut rows: BTreeMap<Cause, Row> = BTreeMap::new();
        for record in records {
            let label = &record.label;
            if label.about != Cause::None {
                let row = rows.entry(label.about).or_default();
                let named = record.named.contains_key(&label.about);
                let place = EDGES.iter().filter(|edge| label.severity >= **edge).count();
                let (all, hit) = &mut row.curve[place];
                (*all, *hit) = (*all + 1, *hit + usize::from(named));
            }
            if record.wanted() {
                let row = rows.entry(label.cause).or_default();
                let hit = record.hit();
                let count = |pair: &mut (usize, usize)| {
                    *pair = (pair.0 + 1, pair.1 + usize::from(hit.is_some()));
                };
                count(&mut row.held);
                // What is not graded has a severity of 1 and is no case near a threshold.
                let graded = label.severity != 1.0 && label.cause == label.about;
                if label.severity >= 1.25 || !graded {
                    count(&mut row.beyond);
                }
                row.to_suspect.extend(hit.map(|n| n.first_s));
                row.to_sure.extend(hit.and_then(|n| n.sure_s));
            }
            for (cause, _) in record.wrong() {
                let row = rows.entry(cause).or_default();
                row.falsely.0 += 1;
                let near = label.about == cause && (0.75..1.25).contains(&label.severity);
                row.falsely.1 += usize::from(!near);
            }
        }
        Self(rows)
    }

    /// F1 over all causes that can count, each with the same weight.
    pub(crate) fn mean_f1(&self) -> f64 {
        let rows: Vec<f64> = self
            .0
            .iter()
            .filter(|(cause, row)| cause.can_count() && row.held.0 > 0)
            .map(|(_, row)| row.f1().unwrap_or(0.0))
            .collect();
        rows.iter().fold(0.0, |sum, f1| sum + f1) / rows.len().max(1) as f64
    }

    /// As text, a line per cause.
    pub(crate) fn text(&self, title: &str) -> String {
        let mut out = format!(
            "{title}\n{:<17}{:>5}{:>7}{:>7}{:>7} |{:>6}{:>15}{:>15} |{:>8}{:>8}{:>8}{:>8} | {:<40}| false\n",
            "cause",
            "n",
            "prec",
            "recall",
            "F1",
            "n>1.25",
            "prec (95 % >=)",
            "recall (>=)",
            "susp50",
            "susp95",
            "sure50",
            "sure95",
            "named by severity <.75 <1 <1.25 <2 more"
        );
        let share = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
        for (cause, row) in &self.0 {
            let [clear_p, clear_r] = row.clear().map(|cases| {
                let bound = at_least(cases).map(|bound| format!(" ({bound:.2})"));
                share(ratio(cases.0, cases.1)) + &bound.unwrap_or_default()
            });
            let curve: Vec<String> = row
                .curve
                .iter()
                .map(|(all, hit)| {
                    if *all == 0 {
                        "-".to_owned()
                    } else {
                        format!("{hit}/{all}")
                    }
                })
                .collect();
            let _ = writeln!(
                out,
                "{:<17}{:>5}{:>7}{:>7}{:>7} |{:>6}{:>15}{:>15} |{:>8}{:>8}{:>8}{:>8} | {:<40}| {}",
                cause.word(),
                row.held.0,
                share(row.precision()),
                share(row.recall()),
                share(row.f1()),
                row.beyond.0,
                clear_p,
                clear_r,
                quantile(&row.to_suspect, 0.5),
                quantile(&row.to_suspect, 0.95),
                quantile(&row.to_sure, 0.5),
                quantile(&row.to_sure, 0.95),
                curve.join(" "),
                row.falsely.0
            );
        }
        let _ = writeln!(
            out,
            "mean F1 over causes that can count: {:.3}",
            self.mean_f1()
        );
        let ([of_named, of_held], [worst_p, worst_r]) = self.beyond();
        let _ = writeln!(
            out,
            "at 1.25 or beyond, causes that can count: precision {} ({}/{}), recall {} ({}/{}); least {worst_p}, {worst_r}",
            share(ratio(of_named.0, of_named.1)),
            of_named.0,
            of_named.1,
            share(ratio(of_held.0, of_held.1)),
            of_held.0,
            of_held.1,
        );
        out
    }

    /// Precision and recall beyond the threshold over all cases of causes that can count, and the worst cause of each.
    fn beyond(&self) -> ([(usize, usize); 2], [String; 2]) {
        let rows = || {
            self.0
                .iter()
                .filter(|(cause, row)| cause.can_count() && row.beyond.0 > 0)
        };
        let both = [0, 1];
        let sums = both.map(|which| {
            rows().fold((0, 0), |sum, (_, row)| {
                let (part, whole) = row.clear()[which];
                (sum.0 + part, sum.1 + whole)
            })
        });
        let worst = both.map(|which| {
            let share = |row: &Row| {
                let (part, whole) = row.clear()[which];
                ratio(part, whole).unwrap_or(0.0)
            };
            rows()
                .min_by(|a, b| share(a.1).total_cmp(&share(b.1)))
                .map_or_else(String::new, |(cause, row)| {
                    format!("{:.3} ({})", share(row), cause.word())
                })
        });
        (sums, worst)
    }
}

fn quantile(values: &[f64], at: f64) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = ((sorted.len() as f64 - 1.0) * at).round().max(0.0) as usize;
    sorted
        .get(place)
        .map_or("-".to_owned(), |v| format!("{v:.0}"))
}

/// The median, where there is any.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// The same records with the labels of one given to another: a score that stays is none.
pub(crate) fn shuffled(records: &[Record]) -> Vec<Record> {
    let labels: Vec<&Label> = records.iter().map(|r| &r.label).collect();
    // A stride that shares no factor with the number of records reaches every one of them.
    let mut stride = labels.len() * 5 / 13 + 1;
    while gcd(stride, labels.len()) != 1 {
        stride += 1;
    }
    let pairs = records.iter().enumerate();
    pairs
        .map(|(i, record)| Record {
            label: labels[(i * stride + 7) % labels.len()].clone(),
            ..record.clone()
        })
        .collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What was said falsely, by family: for whoever looks into a score.
pub(crate) fn mistakes(records: &[Record]) -> String {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for record in records {
        let label = &record.label;
        for (cause, most) in record.wrong() {
            let what = format!("false {} ({})", cause.word(), most.word());
            *counts.entry((record.family, what)).or_default() += 1;
        }
        if record.wanted() && record.hit().is_none() {
            let named: Vec<&str> = record.named.keys().map(|c| c.word()).collect();
            let what = format!("missed {}, said {}", label.cause.word(), named.join(" "));
            *counts.entry((record.family, what)).or_default() += 1;
        }
    }
    let mut out = String::new();
    for ((family, what), n) in counts {
        let _ = writeln!(out, "{n:>5}  {family:<26} {what}");
    }
    out
}
