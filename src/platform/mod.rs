//! Where this instance is rented, what it costs, and since when.
//!
//! Platforms are data (`assets/platforms/*.toml`, and the user's own): how each is recognised, what it is asked, and where
//! in its answers things stand. One engine reads them; what data cannot say is an adapter in code, named in its
//! descriptor. [`Beside`] stands beside a live source: a thread of its own asks, the newest answer goes into the next
//! tick, and nothing ever waits for it. [`report`] tells what was looked for and what came of it.
//!
//! Manners: link-local addresses without proxy and redirects, only the paths that descriptors name, never one with
//! credentials; an API's path at most once in 30 s, and as it asks for; keys from their usual places, in a type that
//! cannot be shown, never in an address or a text.

mod adapter;
mod ask;
mod beside;
mod catalogue;
mod descriptor;
mod detect;
mod engine;
mod http;
mod pace;
mod reader;
mod secret;
mod surroundings;
mod value;

pub use beside::Beside;
pub use catalogue::Catalogue;
pub use secret::OWN_VARIABLE;
pub use surroundings::{Home, Surroundings};

use crate::model::{Candidate, DetectedBy, Need, PlatformReport, PlatformStatus, PlatformView};
use ask::Asker;
use detect::{Detection, Means, detect};
use engine::Engine;
use http::Client;
use jiff::Timestamp;
use std::sync::Arc;

/// What the user wants, and what may be looked at.
pub struct PlatformOptions {
    /// The platforms that are known.
    pub catalogue: Catalogue,
    /// The one that the user named, and where.
    pub wanted: Option<(String, DetectedBy)>,
    /// Scheme, host and port that stand for the platform's own.
    pub url: Option<String>,
    /// This instance, where its platform does not say.
    pub instance_id: Option<String>,
    /// When billing began, where the user said so.
    pub since: Option<Timestamp>,
    /// Anything may be sent at all; else why not.
    pub network: Result<(), &'static str>,
    /// What of this host may be looked at.
    pub here: Surroundings,
}

impl PlatformOptions {
    fn detection(&self, client: &Client, now: Timestamp) -> Detection {
        let wanted = self.wanted.as_ref().map(|(name, by)| (name.as_str(), *by));
        let means = Means {
            here: &self.here,
            client,
            url: self.url.as_deref(),
            network: self.network.is_ok(),
            why_not: self.network.err().unwrap_or_default(),
            now,
        };
        detect(self.catalogue.known(), wanted, &means)
    }

    /// What a platform's calls need, and where it was looked for.
    fn keys(&self, place: usize) -> secret::Keys {
        let known = self.catalogue.known().get(place);
        let places = known.map_or(&[][..], |known| &known.descriptor.keys);
        secret::find(places, &self.here)
    }

    fn engine(&self, place: usize, by: DetectedBy, client: &Client) -> Option<Engine> {
        let known = self.catalogue.known().get(place)?;
        let keys = self.keys(place);
        let own = known
            .descriptor
            .instance
            .iter()
            .find_map(|name| self.here.either(name));
        let instance = own.or_else(|| self.instance_id.clone()).map(Arc::from);
        let asker = Asker::new(
            known.descriptor.clone(),
            client.clone(),
            self.url.clone(),
            self.since,
        )
        .with(keys.key, instance, &self.here);
        let silent = self.network.is_err();
        Some(Engine::new(asker, by, &self.here, silent, keys.trouble))
    }
}

/// Looks for the platform, and asks it once where `ask`; how, step by step.
#[must_use]
pub fn report(options: &PlatformOptions, ask: bool, now: Timestamp) -> PlatformReport {
    let client = Client::new();
    let detection = options.detection(&client, now);
    let mut asked_network = detection.asked_network;
    let mut engine = detection
        .chosen
        .and_then(|(place, by)| options.engine(place, by, &client));
    if let Some(engine) = engine.as_mut().filter(|_| ask) {
        engine.turn(now);
        asked_network |= engine.has_asked();
    }
    let chosen_at = detection.chosen.map(|(place, _)| place);
    let candidates = options.catalogue.known().iter().enumerate();
    let candidates = candidates
        .map(|(place, known)| {
            let mut steps = detection
                .tried
                .get(place)
                .map(|tried| tried.steps.clone())
                .unwrap_or_default();
            if let Some(engine) = engine.as_ref().filter(|_| chosen_at == Some(place)) {
                steps.extend(engine.steps());
            }
            let descriptor = &known.descriptor;
            let adapter = descriptor.adapter.as_deref().and_then(adapter::of);
            Candidate {
                name: descriptor.name.clone(),
                title: descriptor.title.clone(),
                descriptor: known.origin.clone(),
                source: descriptor.source.clone(),
                detected: detection.is_detected(place),
                steps,
                gives: descriptor.gives(),
                adapter: adapter.map(adapter::Adapter::name),
                needs: needs(options, place),
            }
        })
        .collect();
    PlatformReport {
        asked_network,
        chosen: detection.chosen.and_then(|(place, by)| {
            let known = options.catalogue.known().get(place)?;
            Some((known.descriptor.name.clone(), by))
        }),
        platform: engine.map(|engine| view(&engine, ask, now)),
        candidates,
    }
}

fn needs(options: &PlatformOptions, place: usize) -> Vec<Need> {
    options.keys(place).needs
}

/// The answer as sinks see it.
fn view(engine: &Engine, asked: bool, now: Timestamp) -> PlatformView {
    let platform = Arc::new(engine.platform());
    let age_s = platform
        .answered
        .map(|at| now.duration_since(at).as_secs_f64().max(0.0));
    PlatformView {
        // A list that asks nobody has nothing that could be stale.
        status: if asked {
            platform.status
        } else {
            PlatformStatus::Fresh
        },
        age_s,
        disagreements: Vec::new(),
        still_bills: platform.still_bills(),
        platform,
    }
}
