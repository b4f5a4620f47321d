//! Answers that are none, and paths that are never asked.

use super::{Host, POD, pod, report_at, results, view};
use crate::support::http::{How, Reply, Server};
use nameplate::model::{PlatformStatus, StepResult};
use nameplate::text::{Catalogue, Lang};

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
        let trouble = view.platform.trouble.as_deref().unwrap();
        // On a Chinese screen nothing of it stays English but the request.
        let chinese = Catalogue::new(Lang::ZhCn).trouble(trouble);
        let (request, why) = chinese.split_once(": ").unwrap();
        assert_eq!(request, "GET /v2/pods/{instance}", "{what}");
        let word = |why: &str| {
            why.split(|c: char| !c.is_ascii_alphabetic())
                .any(|w| w.len() > 4)
        };
        assert!(!word(why), "{what}: {chinese}");
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
    // Metadata services take no chunks.
    assert_eq!(put.headers["content-length"], "0");
    assert!(!put.headers.contains_key("transfer-encoding"));
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
