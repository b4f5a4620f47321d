//! The lines of `nameplate stream` and of `nameplate export --to jsonl`: snapshots whose raw readings are taken back, so
//! that everything derived is derived anew.

use super::entry::{Entry, Identity, Row, Warnings, Whole};
use super::error::{ImportError, KNOWN};
use super::format::{Format, Head, Recognised, is_blank};
use super::lines::Line;
use super::order::mono;
use super::stream_device::{device, hops, processes, silence, values};
use super::time::Zoned;
use crate::model::{
    BillingStart, BillingStartSource, Change, Config, DeviceId, DeviceProcess, Event, EventKind,
    Hop, Host, HostSample, Price, PriceScope, PriceSource, Process, PsiScope, Reading,
};
use jiff::Timestamp;
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// What happens in the devices follows from their readings again; these do not.
const TAKEN: [EventKind; 6] = [
    EventKind::Xid,
    EventKind::Notice,
    EventKind::Mark,
    EventKind::Hook,
    EventKind::Recording,
    EventKind::Probe,
];

/// Snapshots, one a line.
#[derive(Default)]
struct Stream {
    config: Option<Config>,
    begun: bool,
    host: Option<Host>,
    listed: HashMap<DeviceId, Reading<Vec<DeviceProcess>>>,
    hosted: BTreeMap<u32, Process>,
    paths: HashMap<DeviceId, Vec<Hop>>,
}

/// Documents of our own schema.
pub(super) fn recognise(head: &Head<'_>) -> Recognised {
    let Some(first) = head.said().next() else {
        return Ok(None);
    };
    let Ok(document) = serde_json::from_str::<Json>(&first.text) else {
        return Ok(None);
    };
    let word = |key: &str| document.get(key).and_then(Json::as_str);
    match (word("schema"), word("document")) {
        (Some("nameplate/1"), Some("snapshot")) => Ok(Some(Box::new(Stream {
            config: config(&document),
            ..Stream::default()
        }))),
        (Some(schema), document) if schema.starts_with("nameplate/") => {
            let why = format!(
                "a document {} of {schema}, not the snapshots of nameplate/1",
                document.unwrap_or("without a name")
            );
            Err(ImportError::at(first.number, why, KNOWN))
        }
        _ => Ok(None),
    }
}

impl Format for Stream {
    fn name(&self) -> &'static str {
        "nameplate_stream"
    }

    fn line(
        &mut self,
        line: &Line,
        out: &mut Vec<Entry>,
        warnings: &mut Warnings,
    ) -> Result<(), ImportError> {
        if is_blank(&line.text) {
            return Ok(());
        }
        let document: Json = match serde_json::from_str(&line.text) {
            Ok(document) => document,
            Err(_) if !line.whole => {
                warnings.add(line.number, "the last line is cut off: left out");
                return Ok(());
            }
            Err(error) => {
                return Err(ImportError::at(
                    line.number,
                    format!("not JSON: {error}"),
                    KNOWN,
                ));
            }
        };
        let entry = self
            .entry(&document, line.number)
            .ok_or_else(|| ImportError::at(line.number, "not a snapshot of nameplate/1", KNOWN))?;
        if !self.begun {
            self.begun = true;
            if document.get("source").and_then(Json::as_str) == Some("demo") {
                warnings.add(line.number, "these snapshots are of a simulation");
            }
        }
        out.push(entry);
        Ok(())
    }

    fn zoned(&self) -> Option<Zoned> {
        self.begun.then_some(Zoned::Itself)
    }

    fn config(&self) -> Option<&Config> {
        self.config.as_ref()
    }
}

impl Stream {
    fn entry(&mut self, document: &Json, line: u64) -> Option<Entry> {
        let text = |key: &str| document.get(key).and_then(Json::as_str);
        if text("schema") != Some("nameplate/1") || text("document") != Some("snapshot") {
            return None;
        }
        let at: Timestamp = text("at")?.parse().ok()?;
        let interval = document.get("interval_s").and_then(Json::as_f64)?;
        let mut entry = Entry {
            line,
            at: Some(at),
            whole: Some(Whole {
                seq: document.get("seq").and_then(Json::as_u64)?,
                interval: Duration::try_from_secs_f64(interval).ok()?,
                dropped: document.get("dropped").and_then(Json::as_u64).unwrap_or(0),
            }),
            events: events(document),
            ..Entry::default()
        };
        self.host(document, &mut entry);
        let mut hosted = BTreeMap::new();
        for json in document.get("devices")?.as_array()? {
            let described = device(json)?;
            let id = described.id.clone();
            if let Some((why, since)) = silence(json) {
                let since = since.unwrap_or(at).min(at);
                entry
                    .changes
                    .push(Change::Silent(id.clone(), why, mono(since)));
            }
            let (listed, by_host) = processes(json);
            hosted.extend(by_host.into_iter().map(|process| (process.pid, process)));
            if self.listed.get(&id) != Some(&listed) {
                entry
                    .changes
                    .push(Change::Processes(id.clone(), listed.clone()));
                self.listed.insert(id.clone(), listed);
            }
            let path = hops(json);
            if self
                .paths
                .get(&id)
                .map_or(!path.is_empty(), |before| *before != path)
            {
                entry.changes.push(Change::Path(id.clone(), path.clone()));
                self.paths.insert(id.clone(), path);
            }
            entry.rows.push(Row {
                id,
                identity: Identity::default(),
                values: values(json),
                device: Some(described.into()),
                silent: None,
            });
        }
        // A device that does not answer has no sample.
        let silent: Vec<DeviceId> = entry
            .changes
            .iter()
            .filter_map(|change| match change {
                Change::Silent(id, ..) => Some(id.clone()),
                _ => None,
            })
            .collect();
        for row in entry.rows.iter_mut().filter(|row| silent.contains(&row.id)) {
            row.values.clear();
        }
        if hosted != self.hosted {
            entry
                .changes
                .push(Change::HostProcesses(hosted.values().cloned().collect()));
            self.hosted = hosted;
        }
        Some(entry)
    }

    fn host(&mut self, document: &Json, entry: &mut Entry) {
        let Some(json) = document.get("host") else {
            return;
        };
        let mut sample = HostSample::default();
        for (name, _) in HostSample::default().figures() {
            let number = json.get(name).and_then(Json::as_f64);
            if let (Some(slot), Some(number)) = (sample.figure_mut(name), number) {
                *slot = Ok(number);
            }
        }
        sample.psi_scope = match json.get("psi_scope").and_then(Json::as_str) {
            Some("cgroup") => Ok(PsiScope::Cgroup),
            Some("host") => Ok(PsiScope::Host),
            _ => sample.psi_scope,
        };
        entry.host = Some(Box::new(sample));
        let mut host = Host::default();
        if let Some(name) = json.get("name").and_then(Json::as_str) {
            host.name = Ok(crate::text::clean(name).into());
        }
        let boot = document.pointer("/startup/boot").and_then(Json::as_str);
        if let Some(boot) = boot.and_then(|boot| boot.parse().ok()) {
            host.boot = Ok(boot);
        }
        if self.host.as_ref() != Some(&host) {
            entry.changes.push(Change::Host(host.clone()));
            self.host = Some(host);
        }
    }
}

fn events(document: &Json) -> Vec<Event> {
    let list = document.get("events").and_then(Json::as_array);
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    let event = |json: &Json| {
        let word = text(json, "kind")?;
        let kind = TAKEN.into_iter().find(|kind| kind.word() == word)?;
        let data = json.get("data").and_then(Json::as_object);
        let data = data
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.as_str().into(), value.as_str()?.into())));
        Some(Event {
            at: text(json, "at")?.parse().ok()?,
            device: text(json, "device").map(|id| DeviceId(id.into())),
            kind,
            text: text(json, "text").unwrap_or_default().into(),
            data: data.collect(),
        })
    };
    list.into_iter().flatten().filter_map(event).collect()
}

/// Price and begin of billing as the first snapshot says them.
fn config(document: &Json) -> Option<Config> {
    let cost = document.get("cost")?;
    let text = |key: &str| cost.get(key).and_then(Json::as_str);
    let mut config = Config::default();
    if let Some(currency) = text("currency").and_then(|code| code.parse().ok()) {
        config.currency = currency;
    }
    let scope = match text("price_scope") {
        Some("device") => PriceScope::Device,
        _ => PriceScope::Instance,
    };
    let sources = [
        PriceSource::Flag,
        PriceSource::Config,
        PriceSource::Platform,
        PriceSource::Catalogue,
    ];
    let source = sources
        .into_iter()
        .find(|s| Some(s.word()) == text("price_source"));
    let boards = document
        .get("boards")
        .and_then(Json::as_array)
        .map_or(1, Vec::len);
    if let (Some(per_hour), Some(source)) =
        (text("price_per_hour").and_then(|p| p.parse().ok()), source)
    {
        // The document's price is of the whole instance, whatever it was given as.
        let boards = rust_decimal::Decimal::from(boards.max(1));
        let per_hour: rust_decimal::Decimal = per_hour;
        config.price = Some(Price {
            per_hour: match scope {
                PriceScope::Device => per_hour / boards,
                PriceScope::Instance => per_hour,
            },
            scope,
            source,
        });
    }
    let begins = [
        BillingStartSource::Flag,
        BillingStartSource::Config,
        BillingStartSource::Platform,
        BillingStartSource::Container,
        BillingStartSource::Boot,
        BillingStartSource::FirstSample,
    ];
    let begin = begins
        .into_iter()
        .find(|b| Some(b.word()) == text("billing_started_source"));
    if let (Some(at), Some(source)) = (text("billing_started").and_then(|t| t.parse().ok()), begin)
    {
        config.since = Some(BillingStart { at, source });
    }
    Some(config)
}
