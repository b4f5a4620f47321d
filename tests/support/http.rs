//! A scripted HTTP server on loopback: what it answers is set beforehand, what it was asked can be looked at.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// How an answer is sent.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum How {
    #[default]
    Whole,
    /// Half of the body that was announced, then the end.
    Cut,
    /// Nothing, until the asker goes.
    Never,
}

/// One answer.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) how: How,
}

impl Reply {
    pub(crate) fn of(status: u16, kind: &str, body: &str) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), kind.to_owned())],
            body: body.to_owned(),
            how: How::Whole,
        }
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::of(200, "application/json", body)
    }

    pub(crate) fn text(body: &str) -> Self {
        Self::of(200, "text/plain", body)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn how(mut self, how: How) -> Self {
        self.how = how;
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `GET /path?query`
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    /// When.
    pub(crate) at: Instant,
}

#[derive(Default)]
struct Script {
    /// By `GET /path` (with the query, else without); each answer once, the last again and again.
    routes: HashMap<String, Vec<Reply>>,
    /// Requests without this header and value are answered with 401.
    demands: Option<(String, String)>,
    seen: Vec<Seen>,
}

/// A server that ends with the test's process.
#[derive(Clone)]
pub(crate) struct Server {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            script: Arc::default(),
        };
        let script = server.script.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = script.clone();
                std::thread::spawn(move || while answer(&stream, &script).is_some() {});
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds an answer to a route.
    pub(crate) fn on(self, route: &str, reply: Reply) -> Self {
        self.add(route, reply);
        self
    }

    pub(crate) fn add(&self, route: &str, reply: Reply) {
        let mut script = self.script.lock().unwrap();
        script
            .routes
            .entry(route.to_owned())
            .or_default()
            .push(reply);
    }

    /// Only requests with this header are answered, except `PUT`.
    pub(crate) fn demand(self, name: &str, value: &str) -> Self {
        self.script.lock().unwrap().demands = Some((name.to_lowercase(), value.to_owned()));
        self
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.script.lock().unwrap().seen.clone()
    }

    /// Seconds between one request of a path and the next, whatever its query.
    pub(crate) fn gaps(&self, path: &str) -> Vec<f64> {
        let of = |seen: &Seen| seen.line.split('?').next() == Some(path);
        let at: Vec<Instant> = self.seen().into_iter().filter(of).map(|s| s.at).collect();
        at.windows(2)
            .map(|pair| pair[1].duration_since(pair[0]).as_secs_f64())
            .collect()
    }

    /// How often a route was asked.
    pub(crate) fn count(&self, line: &str) -> usize {
        self.seen().iter().filter(|seen| seen.line == line).count()
    }
}

/// Reads one request and answers it; `None` at the end of the connection.
fn answer(mut stream: &TcpStream, script: &Mutex<Script>) -> Option<()> {
    let seen = request(stream)?;
    let reply = {
        let mut script = script.lock().unwrap();
        script.seen.push(seen.clone());
        let demanded = script.demands.as_ref().is_none_or(|(name, value)| {
            seen.line.starts_with("PUT ") || seen.headers.get(name) == Some(value)
        });
        let bare = seen.line.split('?').next().unwrap_or_default().to_owned();
        let route = [&seen.line, &bare]
            .into_iter()
            .find(|line| script.routes.contains_key(*line))
            .cloned();
        match route.and_then(|route| script.routes.get_mut(&route)) {
            _ if !demanded => Reply::of(401, "text/html", "<html>401 - Unauthorized</html>"),
            Some(replies) if replies.len() > 1 => replies.remove(0),
            Some(replies) => replies.first().cloned().unwrap_or_default(),
            None => Reply::of(404, "text/html", "<html><h1>404 - Not Found</h1></html>"),
        }
    };
    if reply.how == How::Never {
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        return None;
    }
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\nContent-Length: {}\r\n",
        reply.status,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = match reply.how {
        How::Cut => &reply.body.as_bytes()[..reply.body.len() / 2],
        _ => reply.body.as_bytes(),
    };
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    if reply.how == How::Cut {
        let _ = stream.shutdown(std::net::Shutdown::Both);
        return None;
    }
    Some(())
}

fn request(mut stream: &TcpStream) -> Option<Seen> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 || head.len() > 65_536 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let first = lines.next()?;
    let line = first
        .rsplit_once(' ')
        .map_or(first, |(line, _)| line)
        .to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Seen {
        line,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        at: Instant::now(),
    })
}
