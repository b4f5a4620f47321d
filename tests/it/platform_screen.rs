//! The screen beside a scripted platform, for as long as it takes: how often each path is asked whatever it answers, what
//! waits for a change, and what the header says of a notice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::pty::{Terminal, size, wait_for};
use crate::support::http::{How, Reply, Server};
use crate::support::nvml::FakeNvml;
use jiff::{SignedDuration, Timestamp};

/// The screen on a fake driver, asking this server in a platform's place.
fn screen(platform: &str, server: &Server, fake: &FakeNvml, lang: &str) -> Terminal {
    let (url, library) = (server.url(), fake.library());
    let library = library.to_str().unwrap();
    let arguments = [
        "--platform",
        platform,
        "--platform-url",
        &url,
        "--nvml-library",
        library,
    ];
    let variables = [("NAMEPLATE_NO_PLATFORM", ""), ("NAMEPLATE_LANG", lang)];
    let arguments: Vec<&str> = arguments.into_iter().chain(["--no-record"]).collect();
    let mut terminal = Terminal::run_with(&arguments, size(160, 40), &variables);
    terminal.until_says("7  A100");
    terminal
}

fn quit(mut terminal: Terminal) {
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
}

/// Seconds that the header says are left.
fn left(screen: &vt100::Screen) -> Option<u32> {
    let text = screen.contents();
    let (_, rest) = text.split_once("taken back in ")?;
    let (minutes, seconds) = match rest.split_once("m ") {
        Some((minutes, rest)) if minutes.len() < 3 => (minutes.parse().ok()?, rest),
        _ => (0, rest),
    };
    let end = seconds.find(|c: char| !c.is_ascii_digit())?;
    Some(minutes * 60 + seconds[..end].parse::<u32>().ok()?)
}

/// Four paths of one platform, each with its own fate, asked by one screen for as long as the slowest takes.
#[test]
fn each_path_is_asked_at_its_own_pace_and_a_notice_counts_down_in_the_header() {
    const ACTION: &str = "GET /latest/meta-data/spot/instance-action";
    const LIMITED: &str = "GET /latest/meta-data/events/recommendations/rebalance";
    const BROKEN: &str = "GET /latest/meta-data/events/maintenance/scheduled";
    const SELDOM: &str = "GET /latest/meta-data/instance-id";
    let due = Timestamp::now() + SignedDuration::from_secs(110);
    let html = "<html>404 - Not Found</html>";
    let server = Server::start()
        .on("PUT /latest/api/token", Reply::text("t"))
        .on(SELDOM, Reply::text("i-1"))
        .on(
            "GET /latest/meta-data/instance-type",
            Reply::text("p4d.24xlarge"),
        )
        .on(ACTION, Reply::of(404, "text/html", html))
        .on(
            ACTION,
            Reply::json(&format!(r#"{{"action":"terminate","time":"{due:.0}"}}"#)),
        )
        .on(
            LIMITED,
            Reply::of(429, "text/plain", "slow down").header("Retry-After", "8"),
        )
        .on(LIMITED, Reply::of(404, "text/html", html))
        .on(BROKEN, Reply::of(503, "text/html", html));
    let fake = FakeNvml::named("steady-a100-8");
    let mut terminal = screen("aws", &server, &fake, "en");
    terminal.until_says("taken back in ");
    let mut first = None;
    terminal.until("a time that is left", |screen| {
        first = left(screen);
        first.is_some()
    });
    let first = first.unwrap();
    assert!((1..=110).contains(&first), "{first}");
    terminal.until("less of it", |screen| {
        left(screen).is_some_and(|left| left + 3 <= first)
    });
    wait_for("the third try of what fails", || {
        server.gaps(BROKEN).len() >= 2
    });
    wait_for("what was asked too often, again", || {
        server.gaps(LIMITED).len() >= 2
    });
    quit(terminal);
    // Answered, with nothing or something: every five seconds, never sooner.
    assert!(
        server.gaps(ACTION).iter().all(|gap| *gap > 4.9),
        "{:?}",
        server.gaps(ACTION)
    );
    // Told to wait: so long at least, and then at its own pace again.
    let limited = server.gaps(LIMITED);
    assert!(limited[0] > 7.9 && limited[0] < 20.0, "{limited:?}");
    assert!(limited[1] > 4.9 && limited[1] < limited[0], "{limited:?}");
    // A failure waits longer each time.
    let broken = server.gaps(BROKEN);
    assert!(broken[0] > 4.9 && broken[1] > 9.9, "{broken:?}");
    assert_eq!(server.count(SELDOM), 1, "once in five minutes");
    assert_eq!(
        server.count("PUT /latest/api/token"),
        1,
        "one token for all"
    );
}

/// Google Cloud answers when something changes: each answer's tag is what the next request waits on, one request at a time.
#[test]
fn a_waiting_request_goes_on_from_answer_to_answer_alone() {
    const PREEMPTED: &str = "GET /computeMetadata/v1/instance/preempted";
    const MAINTENANCE: &str = "GET /computeMetadata/v1/instance/maintenance-event";
    let google = |reply: Reply| reply.header("Metadata-Flavor", "Google");
    let tagged = |body: &str, tag: &str| google(Reply::text(body)).header("ETag", tag);
    let path = |last: &str| format!("/computeMetadata/v1/instance/{last}");
    let server = Server::start()
        .on(
            &format!("GET {}", path("id")),
            google(Reply::text("7123456789012345678")),
        )
        .on(
            &format!("GET {}", path("machine-type")),
            google(Reply::text("projects/1/machineTypes/a2-highgpu-8g")),
        )
        .on(
            &format!("GET {}", path("zone")),
            google(Reply::text("projects/1/zones/europe-west4-a")),
        )
        .on(PREEMPTED, tagged("FALSE", "a1"))
        .on(PREEMPTED, tagged("FALSE", "b2"))
        .on(PREEMPTED, tagged("TRUE", "c3"))
        .on(PREEMPTED, Reply::text("").how(How::Never))
        // What fails is asked again in turn, which must not begin a second wait beside the first.
        .on(MAINTENANCE, google(Reply::of(503, "text/plain", "")))
        .on(MAINTENANCE, tagged("NONE", "m1"))
        .on(MAINTENANCE, tagged("TERMINATE_ON_HOST_MAINTENANCE", "m2"))
        .on(MAINTENANCE, Reply::text("").how(How::Never));
    let fake = FakeNvml::named("steady-a100-8");
    let mut terminal = screen("gcp", &server, &fake, "en");
    terminal.until_says("is being taken back");
    let waits = |path: &str, tag: &str| {
        format!("{path}?wait_for_change=true&timeout_sec=60&last_etag={tag}")
    };
    wait_for("the wait for another maintenance", || {
        server.count(&waits(MAINTENANCE, "m2")) > 0
    });
    wait_for("the wait for more", || {
        server.count(&waits(PREEMPTED, "c3")) > 0
    });
    quit(terminal);
    let lines = |path: &str| -> Vec<String> {
        let seen = server.seen().into_iter().map(|seen| seen.line);
        seen.filter(|line| line.starts_with(path)).collect()
    };
    assert_eq!(
        lines(PREEMPTED),
        [
            PREEMPTED.to_owned(),
            waits(PREEMPTED, "a1"),
            waits(PREEMPTED, "b2"),
            waits(PREEMPTED, "c3"),
        ]
    );
    assert_eq!(
        lines(MAINTENANCE),
        [
            MAINTENANCE.to_owned(),
            MAINTENANCE.to_owned(),
            waits(MAINTENANCE, "m1"),
            waits(MAINTENANCE, "m2"),
        ]
    );
}
