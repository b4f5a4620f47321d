//! The platforms: what each answers in its real shape and what is made of it (`tests/scenarios/platforms`), answers that
//! are none, and how a platform is recognised. Servers are scripted, on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]
mod detection;
mod failures;

use crate::support::http::{Reply, Server};
use jiff::Timestamp;
use nameplate::model::{DetectedBy, PlatformReport, PlatformStatus, PlatformView, StepResult};
use nameplate::platform::{Catalogue, Home, PlatformOptions, Surroundings, report};
use nameplate::publish::platforms_json;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

/// A host of a test: its variables, its files, and who is asked in the platform's place.
struct Host {
    root: TempDir,
    env: BTreeMap<String, String>,
    platform: Option<String>,
    instance: Option<String>,
    home: Home,
    key_file: Option<std::path::PathBuf>,
    descriptors: Option<TempDir>,
}

impl Host {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            env: BTreeMap::new(),
            platform: None,
            instance: None,
            home: Home::default(),
            key_file: None,
            descriptors: None,
        }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn file(self, path: &str, text: &str) -> Self {
        let full = self.root.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
        self
    }

    fn named(mut self, platform: &str) -> Self {
        self.platform = Some(platform.to_owned());
        self
    }

    fn options(&self, url: Option<String>) -> PlatformOptions {
        let folder = self.descriptors.as_ref().map(TempDir::path);
        let catalogue = Catalogue::load(folder);
        assert_eq!(catalogue.problems(), [""; 0]);
        let env = |name: &str| self.env.get(name).cloned();
        let here = Surroundings::look(
            &catalogue.variables(),
            &env,
            self.root.path(),
            self.home.clone(),
            self.key_file.clone(),
        );
        PlatformOptions {
            catalogue,
            wanted: self.platform.clone().map(|name| (name, DetectedBy::Flag)),
            network: if url.is_some() { Ok(()) } else { Err("a test") },
            url,
            instance_id: self.instance.clone(),
            since: None,
            here,
        }
    }

    /// Asks a server in the platform's place.
    fn ask(&self, server: &Server) -> PlatformReport {
        report(&self.options(Some(server.url())), true, now())
    }

    /// Looks without any network.
    fn look(&self) -> PlatformReport {
        report(&self.options(None), false, now())
    }
}

fn now() -> Timestamp {
    "2029-12-31T23:59:00Z".parse().unwrap()
}

fn view(report: &PlatformReport) -> &PlatformView {
    report.platform.as_ref().expect("a platform was found")
}

/// The results of the requests to the chosen platform.
fn results(report: &PlatformReport) -> Vec<StepResult> {
    let (name, _) = report.chosen.as_ref().unwrap();
    let candidate = report.candidates.iter().find(|c| c.name == *name).unwrap();
    let steps = candidate.steps.iter();
    steps
        .filter(|step| step.what.starts_with("GET ") || step.what.starts_with("POST "))
        .map(|step| step.result)
        .collect()
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    platform: Option<String>,
    instance: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    demand: Option<[String; 2]>,
    #[serde(default)]
    route: Vec<Route>,
    #[serde(default)]
    is: BTreeMap<String, Json>,
    #[serde(default)]
    claims: BTreeMap<String, Json>,
    #[serde(default)]
    notices: Vec<BTreeMap<String, Json>>,
    price: Option<String>,
    currency: Option<String>,
    billing_started: Option<String>,
    #[serde(default)]
    still_bills: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    on: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: String,
}

fn ok() -> u16 {
    200
}

/// `"null"` stands for null, which TOML lacks; numbers are compared as numbers.
fn misses(place: &str, wanted: &BTreeMap<String, Json>, is: &Json) -> Vec<String> {
    let mut misses = Vec::new();
    for (key, wanted) in wanted {
        let found = &is[key];
        let same = match (wanted, found) {
            (Json::String(text), Json::Null) => text == "null",
            (Json::Number(a), Json::Number(b)) => {
                (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9
            }
            _ => wanted == found,
        };
        if !same {
            misses.push(format!("{place}{key} is {found}, not {wanted}"));
        }
    }
    misses
}

impl Case {
    fn run(&self) -> Vec<String> {
        let mut server = Server::start();
        if let Some([name, value]) = &self.demand {
            server = server.demand(name, value);
        }
        for route in &self.route {
            let kind = if route.body.starts_with(['{', '[']) {
                "application/json"
            } else {
                "text/plain"
            };
            let mut reply = Reply::of(route.status, kind, &route.body);
            for (name, value) in &route.headers {
                reply = reply.header(name, value);
            }
            server.add(&route.on, reply);
        }
        let mut host = Host::new();
        host.env.clone_from(&self.env);
        host.platform.clone_from(&self.platform);
        host.instance.clone_from(&self.instance);
        for (path, text) in &self.files {
            host = host.file(path, text);
        }
        let report = host.ask(&server);
        let document = platforms_json(&report, now());
        let mut misses = misses("", &self.is, &document["platform"]);
        misses.extend(self::misses(
            "claims.",
            &self.claims,
            &document["platform"]["claims"],
        ));
        let notices = document["platform"]["notices"].as_array().unwrap();
        if notices.len() != self.notices.len() {
            misses.push(format!("{} notices: {notices:?}", notices.len()));
        }
        for (wanted, found) in self.notices.iter().zip(notices) {
            misses.extend(self::misses("notice.", wanted, found));
        }
        let view = view(&report);
        let price = view.platform.price.as_ref();
        let text = price.map(|price| price.per_hour.normalize().to_string());
        if text != self.price && self.price.is_some() {
            misses.push(format!("the price is {text:?}"));
        }
        let currency = price.map(|price| price.currency.code().to_owned());
        if self.currency.is_some() && currency != self.currency {
            misses.push(format!("the currency is {currency:?}"));
        }
        let begun = view.platform.billing_started.map(|at| at.to_string());
        if self.billing_started.is_some() && begun != self.billing_started {
            misses.push(format!("billing began at {begun:?}"));
        }
        if view.still_bills != self.still_bills {
            misses.push(format!("still_bills is {}", view.still_bills));
        }
        // What is in an answer and nobody's business is nowhere.
        let all = format!("{document} {report:?}");
        for secret in ["-secret", "-test-key"] {
            if all.contains(secret) {
                misses.push(format!("{secret} is told"));
            }
        }
        let places = misses.iter().map(|miss| format!("{}: {miss}", self.name));
        places.collect()
    }
}

#[test]
fn each_platform_is_read_in_its_real_shape() {
    let cases: Cases = toml::from_str(include_str!("../scenarios/platforms/answers.toml")).unwrap();
    let misses: Vec<String> = cases.case.iter().flat_map(Case::run).collect();
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

/// The real answers that the captures hold, where that folder is.
#[test]
fn the_captures_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures/platforms");
    if !folder.is_dir() {
        eprintln!("ignored: {} is not there", folder.display());
        return;
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let runpod = |file: &str| {
        let server = Server::start().on("GET /v2/pods/podexample01", Reply::json(&read(file)));
        let host = Host::new()
            .env("RUNPOD_POD_ID", "podexample01")
            .env("RUNPOD_API_KEY", "k");
        view(&host.ask(&server)).clone()
    };
    let running = runpod("runpod_v2_pod_running.json").platform;
    assert_eq!(running.price.as_ref().unwrap().per_hour.to_string(), "0.44");
    assert_eq!(
        running.billing_started.unwrap().to_string(),
        "2026-06-01T12:02:00Z"
    );
    assert_eq!(running.claims.utilization_ratio, Some(0.94));
    assert_eq!(runpod("runpod_v2_pod_exited.json").platform.price, None);
    for file in ["vast_v0_instance.json", "vast_v0_instance_stopped.json"] {
        let server = Server::start().on("GET /api/v0/instances/883/", Reply::json(&read(file)));
        let host = Host::new()
            .env("CONTAINER_ID", "883")
            .env("VAST_CONTAINERLABEL", "C.883")
            .env("CONTAINER_API_KEY", "k");
        let view = view(&host.ask(&server)).clone();
        assert_eq!(
            (view.status, view.platform.claims.pcie_width),
            (PlatformStatus::Fresh, Some(16))
        );
        assert_eq!(
            view.platform.region.as_deref(),
            Some("California, United States")
        );
        let running = file == "vast_v0_instance.json";
        assert_eq!(view.platform.billed_by_state, Some(running), "{file}");
    }
    let server = Server::start().on(
        "GET /api/v1/instances",
        Reply::json(&read("lambda_v1_instances.json")),
    );
    let host = Host::new()
        .named("lambda")
        .env("LAMBDA_API_KEY", "k")
        .file("proc/sys/kernel/hostname", "training-node-1\n");
    let lambda = view(&host.ask(&server)).platform.clone();
    assert_eq!(lambda.price.as_ref().unwrap().per_hour.to_string(), "1.10");
    let server = Server::start()
        .on(
            "GET /metadata/instance",
            Reply::json(&read("azure_imds_instance.json")),
        )
        .on(
            "GET /metadata/scheduledevents",
            Reply::json(&read("azure_scheduled_events.json")),
        );
    let azure = view(&Host::new().named("azure").ask(&server))
        .platform
        .clone();
    assert_eq!(
        (azure.claims.device_count, azure.notices.len()),
        (Some(8), 1)
    );
    let server = Server::start();
    let paths: BTreeMap<String, Json> =
        serde_json::from_str(&read("gcp_metadata_paths.json")).unwrap();
    for (path, body) in paths.iter().filter(|(path, _)| path.starts_with('/')) {
        let reply = Reply::text(body.as_str().unwrap()).header("Metadata-Flavor", "Google");
        server.add(&format!("GET {path}"), reply);
    }
    let gcp = view(&Host::new().named("gcp").ask(&server))
        .platform
        .clone();
    assert_eq!(
        (gcp.region.as_deref(), gcp.notices.len()),
        (Some("us-central1"), 0)
    );
    let server = Server::start().on(
        "GET /v1/billing/usage",
        Reply::json(&read("article_usage_events.json")),
    );
    let mut host = Host::new()
        .named("generic")
        .env("NAMEPLATE_PLATFORM_KEY", "k");
    host.instance = Some("i-example".to_owned());
    let generic = view(&host.ask(&server)).platform.clone();
    assert_eq!(generic.state.as_deref(), Some("ended"));
    assert_eq!(generic.price.as_ref().unwrap().per_hour.to_string(), "12.8");
}

fn pod() -> Host {
    Host::new()
        .env("RUNPOD_POD_ID", "p1")
        .env("RUNPOD_API_KEY", "rp-test-key")
}

const POD: &str = "GET /v2/pods/p1";

fn report_at(host: &Host, url: &str) -> PlatformReport {
    report(&host.options(Some(url.to_owned())), true, now())
}

/// moto's server is an independent AWS metadata server (`pip install 'moto[server]'`).
#[test]
fn motos_metadata_server_is_read_as_aws() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let program = std::env::var("MOTO_SERVER").unwrap_or_else(|_| "moto_server".to_owned());
    let mut command = std::process::Command::new(&program);
    command
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let Ok(mut moto) = command.spawn() else {
        eprintln!("ignored: {program} is not installed (pip install 'moto[server]')");
        return;
    };
    let url = format!("http://127.0.0.1:{port}");
    let begun = std::time::Instant::now();
    let up = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    while !up() && begun.elapsed() < std::time::Duration::from_secs(60) {
        std::thread::yield_now();
    }
    let report = report_at(&Host::new(), &url);
    let _ = moto.kill();
    let _ = moto.wait();
    assert_eq!(
        report.chosen,
        Some(("aws".to_owned(), DetectedBy::Metadata))
    );
    let platform = &view(&report).platform;
    assert_eq!(platform.instance_id.as_deref(), Some("i-fake"));
    assert_eq!(platform.instance_type.as_deref(), Some("moto.virtual"));
    // It answers 500 for notices, which stops nothing.
    assert_eq!(
        (view(&report).status, platform.notices.len()),
        (PlatformStatus::Fresh, 0)
    );
}

#[test]
fn documents_of_all_these_fit_their_schema() {
    let server = Server::start().on(
        POD,
        Reply::json(r#"{"id":"p1","status":"RUNNING","cost":0.5}"#),
    );
    let document = platforms_json(&pod().ask(&server), now());
    let schema = crate::contract::Schema::of("platforms");
    assert_eq!(schema.check(&document), [""; 0]);
    assert_eq!(document["chosen_by"], json!("environment"));
}
