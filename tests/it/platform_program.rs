//! The running program beside a scripted platform: what it says, what it asks, and where keys never are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::contract::{DEADLINE, Program, Schema};
use crate::support::http::{Reply, Server};
use crate::support::nvml::FakeNvml;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Instant;

fn json(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap()
}

const POD: &str = "GET /v2/pods/p1";

fn pod(cost: &str) -> Reply {
    Reply::json(&format!(
        r#"{{"id":"p1","status":"RUNNING","cost":{cost},"dataCenterId":"EU-SE-1","gpu":{{"id":"NVIDIA A40","count":2}},
        "runtime":null,"createdAt":"2026-01-02T03:00:00Z","startedAt":"2026-01-02T03:04:05Z"}}"#
    ))
}

/// A program in a RunPod pod, with a root that has nothing else in it.
fn in_a_pod(args: &[&str], server: &Server) -> Program {
    Program::new(args)
        .beside(server)
        .env("RUNPOD_POD_ID", "p1")
        .env("RUNPOD_API_KEY", "rp-needle-1")
}

#[test]
fn once_says_where_it_is_and_what_it_costs() {
    let server = Server::start()
        .demand("Authorization", "Bearer rp-needle-1")
        .on(POD, pod("0.79"));
    let fake = FakeNvml::named("idle");
    let document = json(
        &in_a_pod(&["once", "--format", "json"], &server)
            .on(&fake, 0.0)
            .output(),
    );
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let platform = &document["platform"];
    for (name, value) in [
        ("name", json!("runpod")),
        ("instance_id", json!("p1")),
        ("instance_type", json!("NVIDIA A40")),
        ("region", json!("EU-SE-1")),
        ("detected_by", json!("environment")),
        ("state", json!("RUNNING")),
        ("billed_by_state", json!(true)),
        ("status", json!("fresh")),
        ("notices", json!([])),
    ] {
        assert_eq!(platform[name], value, "{name}");
    }
    assert!(platform["age_s"].as_f64().unwrap() < 60.0);
    let cost = &document["cost"];
    assert_eq!(cost["price_per_hour"], "0.79");
    assert_eq!(
        (&cost["price_source"], &cost["currency"]),
        (&json!("platform"), &json!("USD"))
    );
    assert_eq!(cost["billing_started"], "2026-01-02T03:04:05.000Z");
    assert_eq!(cost["billing_started_source"], "platform");
    assert_eq!(server.count(POD), 1);
    // A price by flag goes first, and a begin by flag too.
    let args = [
        "once",
        "--format",
        "json",
        "--price",
        "3",
        "--since",
        "2026-01-02T00:00:00Z",
    ];
    let document = json(&in_a_pod(&args, &server).on(&fake, 0.0).output());
    assert_eq!(document["cost"]["price_source"], "flag");
    assert_eq!(document["cost"]["billing_started_source"], "flag");
    assert_eq!(document["platform"]["name"], "runpod");
    let text = in_a_pod(&["once"], &server).on(&fake, 0.0).output();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("RunPod  p1  NVIDIA A40  EU-SE-1  RUNNING, billed"),
        "{text}"
    );
}

#[test]
fn a_platform_that_refuses_or_fails_stops_nothing() {
    let fake = FakeNvml::named("idle");
    for (status, word) in [
        (401, "refused"),
        (403, "refused"),
        (404, "stale"),
        (429, "stale"),
        (500, "stale"),
    ] {
        let body = r#"{"detail":"the key rp-needle-1 is bad"}"#;
        let server = Server::start().on(POD, Reply::of(status, "application/problem+json", body));
        let output = in_a_pod(&["once", "--format", "json"], &server)
            .on(&fake, 0.0)
            .output();
        assert_eq!(output.status.code(), Some(0), "{status}");
        let document = json(&output);
        assert_eq!(document["platform"]["status"], word, "{status}");
        assert_eq!(document["platform"]["instance_id"], "p1");
        assert_eq!(document["cost"]["price_source"], "none");
        let events = document["events"].as_array().unwrap();
        let stale = events
            .iter()
            .filter(|event| event["kind"] == "platform_stale");
        assert_eq!(stale.count(), 1, "{status}: {events:?}");
        assert!(!document.to_string().contains("needle"), "{status}");
        assert_eq!(server.count(POD), 1);
    }
}

#[test]
fn nothing_is_asked_where_nothing_may_be() {
    let server = Server::start().on(POD, pod("0.79"));
    let root = tempfile::tempdir().unwrap();
    let root = root.path().to_str().unwrap();
    // --no-platform asks nobody, whatever else is said.
    let output = in_a_pod(
        &["once", "--format", "json", "--no-platform", "--root", root],
        &server,
    )
    .output();
    assert_eq!(json(&output)["platform"], Json::Null);
    // A platform by name alone: its tariff, and no request.
    let args = [
        "once",
        "--format",
        "json",
        "--no-platform",
        "--platform",
        "lambda",
        "--root",
        root,
    ];
    let document = json(&in_a_pod(&args, &server).output());
    assert_eq!(document["platform"]["name"], "lambda");
    assert_eq!(document["platform"]["detected_by"], "flag");
    assert_eq!(document["platform"]["age_s"], Json::Null);
    // Under another root only an address that was given by hand is asked.
    let rooted = Program::new(&["platforms", "check", "--format", "json", "--root", root])
        .env("NAMEPLATE_NO_PLATFORM", "")
        .env("RUNPOD_POD_ID", "p1")
        .output();
    let document = json(&rooted);
    assert_eq!(
        (&document["asked_network"], &document["chosen"]),
        (&json!(false), &json!("runpod"))
    );
    assert_eq!(server.seen().len(), 0);
    let document = json(
        &in_a_pod(
            &["platforms", "check", "--format", "json", "--root", root],
            &server,
        )
        .output(),
    );
    assert_eq!(document["asked_network"], json!(true));
    assert_eq!(server.count(POD), 1);
}

#[test]
fn platforms_says_what_it_knows_and_what_was_found() {
    let server = Server::start().on(POD, pod("0.79"));
    let output = in_a_pod(&["platforms", "check", "--format", "json"], &server)
        .env("LANG", "zh_CN.UTF-8")
        .output();
    assert!(output.status.success() && output.stdout.is_ascii());
    let document = json(&output);
    assert_eq!(Schema::of("platforms").check(&document), [""; 0]);
    assert_eq!(
        (&document["chosen"], &document["chosen_by"]),
        (&json!("runpod"), &json!("environment"))
    );
    let candidates = document["candidates"].as_array().unwrap();
    let names: Vec<&str> = candidates
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    for name in [
        "aws",
        "azure",
        "gcp",
        "alibaba",
        "tencent",
        "huawei",
        "runpod",
        "vast",
        "lambda",
        "autodl",
        "paperspace",
        "shadeform",
        "tensordock",
        "fluidstack",
        "kaggle",
        "modal",
        "colab",
        "generic",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let runpod = candidates.iter().find(|c| c["name"] == "runpod").unwrap();
    let api = runpod["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["step"] == "api")
        .unwrap();
    assert_eq!(
        (&api["result"], &api["http_status"]),
        (&json!("match"), &json!(200))
    );
    assert_eq!(
        runpod["needs"][0],
        json!({"key": "RUNPOD_API_KEY", "found": true, "where": "environment"})
    );
    assert_eq!(runpod["detected"], json!(true));
    let text = in_a_pod(&["platforms", "check"], &server).output();
    let text = String::from_utf8(text.stdout).unwrap();
    for part in [
        "RunPod, known by the environment",
        "$0.79 an hour",
        "GET /v2/pods/{instance}",
        "key RUNPOD_API_KEY",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The list asks nobody.
    let before = server.seen().len();
    let list = in_a_pod(&["platforms"], &server).output();
    let list = String::from_utf8(list.stdout).unwrap();
    for part in ["by detection and tariff only", "Lambda", "tensordock"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert_eq!(server.seen().len(), before);
    let wrong = Program::new(&["once", "--platform", "runpot"]).output();
    assert_eq!(wrong.status.code(), Some(2));
    let stderr = String::from_utf8(wrong.stderr).unwrap();
    assert!(stderr.contains("did you mean runpod?"), "{stderr}");
    let wrong = Program::new(&[
        "once",
        "--platform-url",
        "http://me:rp-needle-1@example.org",
    ])
    .output();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(!String::from_utf8(wrong.stderr).unwrap().contains("needle"));
}

#[test]
fn why_it_does_not_answer_is_said_in_chinese_and_in_documents_in_english() {
    let refusing = || Server::start().on(POD, Reply::of(403, "application/json", "{}"));
    let check = |format: &str| {
        let args = ["platforms", "check", "--format", format, "--lang", "zh-CN"];
        let output = in_a_pod(&args, &refusing()).env("TERM", "xterm").output();
        String::from_utf8(output.stdout).unwrap()
    };
    let (text, json) = (check("text"), check("json"));
    let (english, chinese) = ("403: the key may not read this", "403：该密钥无权读取");
    assert!(text.contains(chinese) && !text.contains(english), "{text}");
    assert!(json.contains(english) && !json.contains(chinese), "{json}");
}

#[test]
fn a_users_descriptor_beside_the_configuration_is_found() {
    let server = Server::start().on("GET /me", Reply::json(r#"{"hourly":"1.25"}"#));
    let program = Program::new(&["platforms", "check", "--format", "json"])
        .beside(&server)
        .env("OWNCLOUD_ID", "x");
    let folder = program.home.path().join(".config/nameplate/platforms");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "name = \"own\"\ntitle = \"Own\"\nsource = \"me\"\napi = \"https://own.example\"\ndetect = { environment = [[\"OWNCLOUD_ID\"]] }\n\
        [[request]]\nplace = \"api\"\npath = \"/me\"\nform = \"json\"\nvalue = [{ is = \"price\", at = [\"/hourly\"] }]\n";
    std::fs::write(folder.join("own.toml"), text).unwrap();
    std::fs::write(folder.join("broken.toml"), "name = ").unwrap();
    let document = json(&program.output());
    assert_eq!(document["chosen"], "own");
    let own = &document["candidates"][0];
    assert!(own["descriptor"].as_str().unwrap().ends_with("own.toml"));
    assert_eq!(own["gives"], json!(["price"]));
    assert_eq!(server.count("GET /me"), 1);
}

/// Every file below a folder.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|child| parent(*child) == Some(pid))
        .collect()
}

/// Keys are asked for with, and stand nowhere else: not in arguments, addresses, output, logs, recordings, nor in the
/// probe's environment.
#[test]
fn keys_are_nowhere() {
    let server = Server::start()
        .on(
            POD,
            Reply::of(
                403,
                "application/json",
                r#"{"detail":"rp-needle-1 may not"}"#,
            ),
        )
        .on("GET /v1/billing/usage", Reply::json(r#"{"unit_price":1}"#));
    let fake = FakeNvml::named("idle");
    for (platform, header) in [
        ("runpod", "Bearer rp-needle-1"),
        ("generic", "Bearer kf-needle-3"),
    ] {
        let mut program = in_a_pod(&["record"], &server);
        let home = program.home.path().to_owned();
        let key_file = home.join("platform.key");
        std::fs::write(&key_file, "kf-needle-3\n").unwrap();
        std::fs::set_permissions(&key_file, std::fs::Permissions::from_mode(0o600)).unwrap();
        program.command.arg("-o").arg(home.join("run.nmp")).args([
            "--interval",
            "0.2s",
            "--platform",
            platform,
        ]);
        program = program
            .file(&format!(
                "[platform]\nkey_file = \"{}\"\n",
                key_file.display()
            ))
            .env("NAMEPLATE_PLATFORM_KEY", "np-needle-2")
            .env("MODAL_TOKEN_ID", "mo-needle-4")
            .env("NAMEPLATE_INSTANCE_ID", "p1")
            .env("NAMEPLATE_LOG", "trace")
            .on(&fake, 0.0);
        let asked_before = server.seen().len();
        let command = program
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let begun = Instant::now();
        let mut probe = None;
        while probe.is_none() || server.seen().len() == asked_before {
            assert!(begun.elapsed() < DEADLINE, "no probe, or nobody was asked");
            // Before it runs the program anew a child still shows its parent's environment.
            let is_probe = |pid: &u32| {
                std::fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|words| words.split(|b| *b == 0).any(|word| word == b"probe"))
            };
            probe = children(child.id()).into_iter().find(is_probe);
        }
        let of = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
        let probe = probe.unwrap();
        let mut places = vec![
            ("the probe's environment".to_owned(), of(probe, "environ")),
            ("the probe's arguments".to_owned(), of(probe, "cmdline")),
            ("the arguments".to_owned(), of(child.id(), "cmdline")),
        ];
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        while !home.join("run.nmp").exists() {
            assert!(begun.elapsed() < DEADLINE, "no recording");
        }
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        places.push(("stdout".to_owned(), output.stdout));
        places.push(("stderr".to_owned(), output.stderr));
        let mut all = Vec::new();
        files(&home, &mut all);
        all.retain(|path| *path != key_file);
        assert!(
            all.iter().any(|path| path.ends_with("nameplate.log")),
            "{all:?}"
        );
        for path in all {
            places.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
        for seen in server.seen() {
            places.push((
                "an address".to_owned(),
                format!("{} {}", seen.line, seen.body).into_bytes(),
            ));
        }
        for (place, bytes) in places {
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains("needle"),
                "{platform}: a key stands in {place}"
            );
        }
        let last = server.seen().pop().unwrap();
        assert_eq!(
            last.headers.get("authorization").map(String::as_str),
            Some(header)
        );
    }
}

/// Starts and stops that only the platform saw: short lives are named with what they cost, and told once.
#[test]
fn short_lives_in_the_platforms_events_are_flapping() {
    let now = Timestamp::now();
    let mut events = Vec::new();
    // Of started minutes each of these wastes 20 s, and 100 s until it computes.
    for ago in [3600, 2700, 1800] {
        let at = |second: i64| (now + SignedDuration::from_secs(second - ago)).to_string();
        for (kind, second) in [
            ("queue_start", 0),
            ("queue_end", 100),
            ("compute_start", 100),
            ("compute_end", 400),
        ] {
            events.push(json!({"event_type": kind, "ts": at(second)}));
        }
    }
    let begun = (now + SignedDuration::from_secs(-600)).to_string();
    events.push(json!({"event_type": "compute_start", "ts": begun}));
    let answer = json!({"instance_id": "i-1", "currency": "CNY", "unit_price": 36, "unit": "hour", "events": events});
    let server = Server::start().on("GET /v1/billing/usage", Reply::json(&answer.to_string()));
    let fake = FakeNvml::named("idle");
    let args = [
        "stream",
        "--count",
        "3",
        "--platform",
        "generic",
        "--granularity",
        "minute",
    ];
    let output = Program::new(&args)
        .beside(&server)
        .env("NAMEPLATE_INSTANCE_ID", "i-1")
        .env("NAMEPLATE_PLATFORM_KEY", "gen-needle")
        .on(&fake, 0.0)
        .output();
    let text = String::from_utf8(output.stdout).unwrap();
    let document: Json = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(Schema::of("snapshot").check(&document), [""; 0]);
    let [flapping] = document["cost"]["flapping"].as_array().unwrap().as_slice() else {
        panic!("{}", document["cost"])
    };
    assert_eq!(flapping["kind"], "starts");
    assert_eq!(flapping["cycles"], 3);
    assert_eq!(flapping["wasted_seconds"], 3.0 * (20.0 + 100.0));
    assert_eq!(flapping["wasted_amount"], "3.60");
    // The bill is this life's.
    let begun = document["cost"]["billing_started"].as_str().unwrap();
    let since: Timestamp = begun.parse().unwrap();
    assert_eq!(now.duration_since(since).as_secs(), 600);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let told: Vec<Json> = lines
        .flat_map(|line: Json| line["events"].as_array().unwrap().clone())
        .filter(|event| event["kind"] == "platform_run")
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    let earlier = document["startup"]["earlier"].as_array();
    assert_eq!(earlier.map(Vec::len), Some(3), "{}", document["startup"]);
}
