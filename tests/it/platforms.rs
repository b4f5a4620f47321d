//! The platforms: what each answers in its real shape and what is made of it (`tests/scenarios/platforms`), answers that
//! are none, and how a platform is recognised. Servers are scripted, on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::http::{How, Reply, Server};
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
    assert_eq!(lambda.price.as_ref().unwrap().per_hour.to_string(), "1.1");
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

/// Whatever comes instead of an answer: what is told is true, and nothing of it is a value.
#[test]
fn an_answer_that_is_none_is_said_to_be_none() {
    let html = "<html><body>Not Found</body></html>";
    let giant = format!("{{\"cost\": 1.5, \"x\": \"{}\"}}", "y".repeat(2 << 20));
    let good = r#"{"id":"p1","status":"RUNNING","cost":0.5,"gpu":{"id":"A40","count":1}}"#;
    for (what, reply, status, result) in [
        (
            "401",
            Reply::json("{\"title\":\"Unauthorized\"}").status(401),
            PlatformStatus::Refused,
            StepResult::Refused,
        ),
        (
            "403",
            Reply::json("{}").status(403),
            PlatformStatus::Refused,
            StepResult::Refused,
        ),
        (
            "404 html",
            Reply::of(404, "text/html", html),
            PlatformStatus::Stale,
            StepResult::Absent,
        ),
        (
            "429",
            Reply::json("{}").status(429).header("Retry-After", "12"),
            PlatformStatus::Stale,
            StepResult::Error,
        ),
        (
            "500",
            Reply::text("oops").status(500),
            PlatformStatus::Stale,
            StepResult::Error,
        ),
        (
            "nothing",
            Reply::json(""),
            PlatformStatus::Stale,
            StepResult::NoMatch,
        ),
        (
            "html with 200",
            Reply::of(200, "text/html", html),
            PlatformStatus::Stale,
            StepResult::NoMatch,
        ),
        (
            "half of a text",
            Reply::json(good).how(How::Cut),
            PlatformStatus::Stale,
            StepResult::Error,
        ),
        (
            "half of a document",
            Reply::json(&good[..20]),
            PlatformStatus::Stale,
            StepResult::NoMatch,
        ),
        (
            "2 MiB",
            Reply::json(&giant),
            PlatformStatus::Stale,
            StepResult::Error,
        ),
    ] {
        let server = Server::start().on(POD, reply);
        let report = pod().ask(&server);
        let view = view(&report);
        assert_eq!(view.status, status, "{what}: {:?}", view.platform.trouble);
        assert_eq!(results(&report), [result], "{what}");
        assert_eq!(
            (&view.platform.price, &view.platform.state),
            (&None, &None),
            "{what}"
        );
        assert_eq!(
            view.platform.instance_id.as_deref(),
            Some("p1"),
            "{what}: the environment said so"
        );
        assert!(view.platform.trouble.is_some(), "{what}");
        assert_eq!(server.count(POD), 1, "{what}: once");
    }
    let garbage = r#"{"id":[1],"status":{"a":1},"cost":"NaN","gpu":{"id":"A\u001b[31m40","count":4294967295},"runtime":{"gpus":[{"util":1e308}]},"startedAt":"yesterday"}"#;
    let report = pod().ask(&Server::start().on(POD, Reply::json(garbage)));
    let platform = &view(&report).platform;
    assert_eq!(
        (&platform.price, &platform.state, platform.billing_started),
        (&None, &None, None)
    );
    assert_eq!(
        (
            platform.claims.device_count,
            platform.claims.utilization_ratio
        ),
        (None, None)
    );
    assert!(!platform.claims.model.as_deref().unwrap().contains('\u{1b}'));
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = Server::start().on(POD, Reply::json(r#"{"cost":99}"#));
    let place = format!("{}/v2/pods/p1", elsewhere.url());
    for status in [301, 302, 307, 308] {
        let server = Server::start().on(
            POD,
            Reply::text("").status(status).header("Location", &place),
        );
        let report = pod().ask(&server);
        assert_eq!(view(&report).status, PlatformStatus::Stale);
        let trouble = view(&report).platform.trouble.clone().unwrap();
        assert!(trouble.contains("not followed"), "{trouble}");
    }
    assert_eq!(elsewhere.seen().len(), 0);
    // A metadata address that is a captive portal.
    let portal = Server::start().on(
        "GET /latest/meta-data/instance-id",
        Reply::text("").status(302).header("Location", &place),
    );
    let report = Host::new().named("alibaba").ask(&portal);
    assert_eq!(
        (view(&report).status, elsewhere.seen().len()),
        (PlatformStatus::Stale, 0)
    );
}

/// A metadata address has a second; what is not reached there is not asked for the rest.
#[test]
fn a_metadata_address_that_says_nothing_is_left_alone() {
    let never = Reply::text("").how(How::Never);
    let server = Server::start().on("GET /latest/meta-data/instance-id", never);
    let report = Host::new().named("tencent").ask(&server);
    assert_eq!(view(&report).status, PlatformStatus::Stale);
    assert_eq!(server.seen().len(), 1, "{:?}", server.seen());
    assert!(
        results(&report)
            .iter()
            .all(|result| *result == StepResult::TimedOut)
    );
    let nobody = Host::new().named("tencent");
    let report = report_at(&nobody, "http://127.0.0.1:1");
    assert!(
        results(&report)
            .iter()
            .all(|result| *result == StepResult::Absent)
    );
}

fn report_at(host: &Host, url: &str) -> PlatformReport {
    report(&host.options(Some(url.to_owned())), true, now())
}

#[test]
fn a_token_that_is_not_taken_any_more_is_renewed_once() {
    let path = "GET /latest/meta-data/instance-id";
    let server = Server::start()
        .on("PUT /latest/api/token", Reply::text("first"))
        .on("PUT /latest/api/token", Reply::text("second"))
        .on(path, Reply::of(401, "text/html", "<html>401</html>"))
        .on(path, Reply::text("i-1"));
    let report = Host::new().named("aws").ask(&server);
    assert_eq!(view(&report).platform.instance_id.as_deref(), Some("i-1"));
    assert_eq!(
        (server.count("PUT /latest/api/token"), server.count(path)),
        (2, 2)
    );
    let seen = server.seen();
    let put = seen
        .iter()
        .find(|seen| seen.line.starts_with("PUT"))
        .unwrap();
    assert!(
        put.headers["x-aws-ec2-metadata-token-ttl-seconds"]
            .parse::<u32>()
            .unwrap()
            <= 21_600
    );
    let read = seen.iter().rfind(|seen| seen.line == path).unwrap();
    assert_eq!(read.headers["x-aws-ec2-metadata-token"], "second");
    assert!(
        seen.iter()
            .all(|seen| !seen.headers.contains_key("x-forwarded-for"))
    );
}

/// Only the paths that descriptors name, and an instance's name is nothing but a name.
#[test]
fn no_other_paths_are_asked_than_those_of_the_descriptor() {
    let server = Server::start();
    let host = Host::new()
        .env("RUNPOD_POD_ID", "../../latest/meta-data/iam?x=")
        .env("RUNPOD_API_KEY", "k");
    host.ask(&server);
    let lines: Vec<String> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(
        lines,
        ["GET /v2/pods/..%2F..%2Flatest%2Fmeta-data%2Fiam%3Fx%3D"]
    );
    for name in ["aws", "azure", "gcp", "alibaba", "tencent", "huawei"] {
        let server = Server::start().on("PUT /latest/api/token", Reply::text("t"));
        Host::new().named(name).ask(&server);
        for seen in server.seen() {
            for part in [
                "iam",
                "ram/",
                "cam/",
                "credential",
                "securitykey",
                "user-data",
                "oauth2",
                "service-accounts",
            ] {
                assert!(!seen.line.contains(part), "{}", seen.line);
            }
        }
    }
}

impl Reply {
    fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

#[test]
fn a_platform_is_recognised_by_what_this_host_has() {
    let environ = |pairs: &[&str]| pairs.join("\0");
    for (what, host, expected) in [
        ("nothing", Host::new(), None),
        (
            "environment",
            Host::new().env("MODAL_TASK_ID", "t"),
            Some(("modal", DetectedBy::Environment)),
        ),
        (
            "one of several sets",
            Host::new().env("PAPERSPACE_FQDN", "x"),
            Some(("paperspace", DetectedBy::Environment)),
        ),
        ("half of a set", Host::new().env("CONTAINER_ID", "1"), None),
        (
            "the first process's environment",
            Host::new().file(
                "proc/1/environ",
                &environ(&["A=b", "CONTAINER_ID=1", "VAST_CONTAINERLABEL=C.1"]),
            ),
            Some(("vast", DetectedBy::Pid1Environment)),
        ),
        (
            "firmware",
            Host::new().file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            Some(("aws", DetectedBy::Dmi)),
        ),
        (
            "another firmware",
            Host::new().file("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
            None,
        ),
        (
            "the other place of the firmware's strings",
            Host::new().file(
                "sys/devices/virtual/dmi/id/product_name",
                "Alibaba Cloud ECS\n",
            ),
            Some(("alibaba", DetectedBy::Dmi)),
        ),
        (
            "a container on another cloud's host",
            Host::new()
                .env("RUNPOD_POD_ID", "p")
                .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            Some(("runpod", DetectedBy::Environment)),
        ),
        (
            "an empty variable",
            Host::new().env("RUNPOD_POD_ID", ""),
            None,
        ),
        (
            "what the user says",
            Host::new().env("RUNPOD_POD_ID", "p").named("kaggle"),
            Some(("kaggle", DetectedBy::Flag)),
        ),
    ] {
        let report = host.look();
        let expected = expected.map(|(name, by)| (name.to_owned(), by));
        assert_eq!(report.chosen, expected, "{what}");
        assert!(!report.asked_network, "{what}");
        if let Some((name, by)) = &report.chosen {
            let found = report.candidates.iter().find(|c| c.name == *name).unwrap();
            assert_eq!(found.detected, *by != DetectedBy::Flag, "{what}");
        }
    }
}

/// All metadata addresses at once; each platform knows its own answer from the others' at the same address.
#[test]
fn one_address_is_told_from_another() {
    let azure = r#"{"compute":{"vmId":"v-1","vmSize":"x","location":"y","name":"z"}}"#;
    for (name, routes) in [
        (
            "azure",
            vec![("GET /metadata/instance", Reply::json(azure))],
        ),
        (
            "gcp",
            vec![(
                "GET /computeMetadata/v1/instance/id",
                Reply::text("77").header("Metadata-Flavor", "Google"),
            )],
        ),
        (
            "aws",
            vec![
                ("PUT /latest/api/token", Reply::text("t")),
                ("GET /latest/meta-data/instance-id", Reply::text("i-1")),
            ],
        ),
        (
            "tencent",
            vec![("GET /latest/meta-data/instance-id", Reply::text("ins-1"))],
        ),
        (
            "huawei",
            vec![(
                "GET /openstack/latest/meta_data.json",
                Reply::json(r#"{"uuid":"u","meta":{"vpc_id":"v"}}"#),
            )],
        ),
    ] {
        let server = Server::start();
        for (route, reply) in routes {
            server.add(route, reply);
        }
        let report = Host::new().ask(&server);
        assert_eq!(report.chosen, Some((name.to_owned(), DetectedBy::Metadata)));
        assert!(report.asked_network);
    }
    // A cloud of the same form that is none of them.
    let server = Server::start().on(
        "GET /openstack/latest/meta_data.json",
        Reply::json(r#"{"uuid":"u"}"#),
    );
    assert_eq!(Host::new().ask(&server).chosen, None);
}

/// A new platform of the common shape needs a file and no code.
#[test]
fn a_users_own_descriptor_is_all_that_a_new_platform_needs() {
    let mut host = Host::new()
        .env("MYCLOUD_NODE", "n-5")
        .env("MYCLOUD_TOKEN", "my-test-key");
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
name = "mycloud"
title = "My Cloud"
source = "its own pages"
api = "https://api.mycloud.example"
instance = ["MYCLOUD_NODE"]
keys = [{ environment = "MYCLOUD_TOKEN" }]
price = { currency = "EUR", scope = "device" }
detect = { environment = [["MYCLOUD_NODE"]] }
states = { up = { runs = true, billed = true } }

[[request]]
place = "api"
path = "/nodes/{instance}"
headers = { X-Auth = "{key}" }
form = "json"
value = [
    { is = "state", at = ["/node/power"] },
    { is = "price", at = ["/node/rate"], scale = "cents" },
    { is = "region", at = ["/node/zone"] },
]
"#;
    std::fs::write(folder.path().join("mycloud.toml"), text).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not TOML").unwrap();
    host.descriptors = Some(folder);
    let server = Server::start().demand("X-Auth", "my-test-key").on(
        "GET /nodes/n-5",
        Reply::json(r#"{"node":{"power":"UP","rate":250,"zone":"fra"}}"#),
    );
    let report = host.ask(&server);
    let view = view(&report);
    let price = view.platform.price.as_ref().unwrap();
    assert_eq!(
        (price.per_hour.to_string().as_str(), price.currency.code()),
        ("2.5", "EUR")
    );
    assert_eq!(
        (
            view.platform.billed_by_state,
            view.platform.region.as_deref()
        ),
        (Some(true), Some("fra"))
    );
    let candidate = &report.candidates[0];
    assert!(candidate.descriptor.ends_with("mycloud.toml") && candidate.detected);
}

#[test]
fn a_key_file_that_others_can_read_is_refused_with_the_command_to_type() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".runpod/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "apikey = \"rp-test-key\"\n").unwrap();
    let server = Server::start()
        .demand("Authorization", "Bearer rp-test-key")
        .on(
            POD,
            Reply::json(r#"{"id":"p1","status":"RUNNING","cost":0.5}"#),
        );
    let mut host = Host::new().env("RUNPOD_POD_ID", "p1");
    host.home.home = Some(home.path().to_owned());
    for (mode, taken) in [(0o644, false), (0o600, true)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let report = host.ask(&server);
        let view = view(&report);
        assert_eq!(view.status == PlatformStatus::Fresh, taken, "{mode:o}");
        if !taken {
            let trouble = view.platform.trouble.clone().unwrap();
            assert!(
                trouble.ends_with(&format!("next: chmod 600 {}", file.display())),
                "{trouble}"
            );
            assert_eq!(server.seen().len(), 0, "nothing is asked without a key");
        }
    }
    // The user's own file comes after the platform's.
    std::fs::remove_file(&file).unwrap();
    let own = home.path().join("key");
    std::fs::write(&own, "rp-test-key").unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o600)).unwrap();
    host.key_file = Some(own);
    assert_eq!(view(&host.ask(&server)).status, PlatformStatus::Fresh);
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
    let started = std::process::Command::new(&program)
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut moto) = started else {
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
