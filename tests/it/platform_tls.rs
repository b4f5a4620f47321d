//! Platforms over TLS: whose certificates are trusted, and that no key goes where others can read it.
//!
//! The server is Python's `ssl` with certificates that `openssl` makes here. Where either is not installed, the tests
//! that need them say so and are ignored.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, reason = "a test that is ignored says why")]

use crate::contract::{Program, Schema};
use crate::support::nvml::FakeNvml;
use serde_json::Value as Json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use tempfile::TempDir;

/// Says its port on its first line, then each request that came through the handshake, with its key.
const SERVER: &str = r#"
import http.server, ssl, sys
class Pod(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        open(sys.argv[3], "a").write(self.path + " " + self.headers.get("Authorization", "-") + "\n")
        body = b'{"id":"p1","status":"RUNNING","cost":0.79,"runtime":null,"createdAt":"2026-01-02T03:00:00Z","startedAt":"2026-01-02T03:04:05Z"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *arguments):
        pass
server = Quiet(("127.0.0.1", 0), Pod)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// A server for `localhost`, and the authority that signed for it.
struct Secure {
    folder: TempDir,
    child: Child,
    port: u16,
}

impl Drop for Secure {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn openssl(folder: &Path, line: &str) -> Option<()> {
    let mut command = Command::new("openssl");
    command.args(line.split(' ')).current_dir(folder);
    command.stdin(Stdio::null());
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.spawn().ok()?.wait().ok()?;
    status.success().then_some(())
}

impl Secure {
    /// `None` where this machine has not what it takes.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        std::fs::write(
            at.join("names"),
            "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n",
        )
        .unwrap();
        for line in [
            "req -x509 -newkey rsa:2048 -nodes -days 3 -subj /CN=nobodys-authority -keyout ca.key -out ca.pem",
            "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout own.key -out own.csr",
            "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3 -extfile names -out own.pem",
        ] {
            openssl(at, line)?;
        }
        let mut command = Command::new("python3");
        command
            .args(["-c", SERVER, "own.pem", "own.key", "asked"])
            .current_dir(at)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take()?);
        let read = said.read_line(&mut line);
        let port = line.trim().parse().ok().filter(|_| read.is_ok());
        if port.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        Some(Self {
            port: port?,
            folder,
            child,
        })
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The requests that it was sent.
    fn asked(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("asked"));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

fn in_a_pod(args: &[&str], url: &str) -> Program {
    let args = [args, &["--no-record", "--platform-url", url]].concat();
    let mut program = Program::new(&args)
        .env("RUNPOD_POD_ID", "p1")
        .env("RUNPOD_API_KEY", "rp-needle-1");
    program.command.env_remove("NAMEPLATE_NO_PLATFORM");
    program
}

fn json(output: &Output) -> Json {
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What `platforms check` says of RunPod's own answer.
fn step(url: &str, authority: Option<&Path>) -> Json {
    let mut program = in_a_pod(&["platforms", "check", "--format", "json"], url);
    if let Some(file) = authority {
        program.command.env("SSL_CERT_FILE", file);
    }
    let output = program.output();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("needle"));
    let document = json(&output);
    assert_eq!(Schema::of("platforms").check(&document), [""; 0]);
    let candidates = document["candidates"].as_array().unwrap();
    let runpod = candidates.iter().find(|one| one["name"] == "runpod");
    let steps = runpod.unwrap()["steps"].as_array().unwrap();
    steps
        .iter()
        .find(|one| one["step"] == "api")
        .unwrap()
        .clone()
}

const UNTRUSTED: &str = "cannot be reached: the certificate is not trusted, or the clock is wrong";

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_and_the_meter_goes_on() {
    let Some(server) = Secure::start() else {
        eprintln!("ignored: python3 and openssl are not both installed");
        return;
    };
    let step = step(&server.url(), None);
    assert_eq!(step["text"], UNTRUSTED);
    let fake = FakeNvml::named("idle");
    let args = ["once", "--format", "json", "--price", "3"];
    let document = json(&in_a_pod(&args, &server.url()).on(&fake, 0.0).output());
    assert_eq!(document["platform"]["status"], "stale");
    assert_eq!(document["cost"]["price_per_hour"], "3.00");
    assert!(document["cost"]["billed_seconds"].as_f64().unwrap() > 0.0);
    let events = document["events"].as_array().unwrap();
    let stale: Vec<&Json> = events
        .iter()
        .filter(|event| event["kind"] == "platform_stale")
        .collect();
    let [event] = stale.as_slice() else {
        panic!("{stale:?}")
    };
    let text = event["text"].as_str().unwrap();
    assert!(
        text.contains(UNTRUSTED) && text.lines().count() == 1,
        "{text}"
    );
    // No request, and so no key, came through, neither then nor over anything else.
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
fn a_certificate_of_a_trusted_authority_is_taken() {
    let Some(server) = Secure::start() else {
        eprintln!("ignored: python3 and openssl are not both installed");
        return;
    };
    let step = step(&server.url(), Some(&server.authority()));
    assert_eq!(step["result"], "match", "{step}");
    let fake = FakeNvml::named("idle");
    let authority = server.authority();
    let document = json(
        &in_a_pod(&["once", "--format", "json"], &server.url())
            .on(&fake, 0.0)
            .env("SSL_CERT_FILE", authority.to_str().unwrap())
            .output(),
    );
    assert_eq!(document["platform"]["status"], "fresh");
    assert_eq!(document["cost"]["price_per_hour"], "0.79");
    assert_eq!(document["cost"]["price_source"], "platform");
    let asked = ["/v2/pods/p1 Bearer rp-needle-1"; 2];
    assert_eq!(server.asked(), asked);
    // The same authority does not vouch for another name.
    let by_number = format!("https://127.0.0.1:{}", server.port);
    let refused = self::step(&by_number, Some(&server.authority()));
    assert_eq!(refused["text"], UNTRUSTED);
    assert_eq!(server.asked().len(), 2);
}

/// An answer in the clear where TLS was wanted is none, and nothing is asked again without it.
#[test]
fn who_speaks_no_tls_is_not_asked_without_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 64];
            let count = stream.read(&mut bytes).unwrap();
            sender.send(bytes[..count].to_vec()).unwrap();
            let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(refusal);
        }
    });
    let said = step(&url, None);
    assert_eq!(said["text"], "cannot be reached: TLS is not spoken there");
    let heard: Vec<Vec<u8>> = heard.try_iter().collect();
    // A handshake (RFC 8446), and no word of HTTP.
    assert!(
        !heard.is_empty() && heard.iter().all(|bytes| bytes[0] == 22),
        "{heard:?}"
    );
}

/// 192.0.2.1 is nobody's (RFC 5737): it would take the whole time-out to find out that nobody answers.
#[test]
fn no_key_goes_over_plain_http_to_another_host() {
    for url in [
        "http://192.0.2.1",
        "http://192.0.2.1:8080",
        "http://[2001:db8::1]",
    ] {
        let step = step(url, None);
        assert_eq!(step["result"], "refused", "{url}");
        assert_eq!(
            step["text"],
            "the key would go over plain HTTP to another host; next: give an https address",
            "{url}"
        );
        assert!(
            step["ms"].as_f64().unwrap_or_default() < 500.0,
            "{url}: {step}"
        );
    }
}
