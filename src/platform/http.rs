//! One request and its answer, with manners: short time-outs, no redirects, a bounded body, and no proxy on the way to
//! metadata addresses.

use super::secret::Secret;
use secrecy::ExposeSecret as _;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Error};

/// A platform's API has this long for everything, name and body included.
const API: Duration = Duration::from_secs(4);
/// A metadata address has this long: it is one hop away.
pub(super) const NEAR: Duration = Duration::from_millis(1000);
/// Bodies beyond this are refused.
const LARGEST: u64 = 1 << 20;
/// Bodies of metadata beyond this are refused.
const LARGEST_NEAR: u64 = 64 << 10;
/// Where systems keep the certificates that they trust. A container without any gets the ones built in.
const TRUSTED: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];

/// What a header is given.
#[derive(Clone)]
pub(super) enum HeaderValue {
    /// Anybody may see it.
    Plain(String),
    /// A key, with what stands before it (`Bearer `).
    Key(String, Secret),
}

/// The few methods that are ever used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Method {
    Get,
    Post,
    /// For tokens of metadata services only.
    Put,
}

impl Method {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// One request.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: Vec<(String, HeaderValue)>,
    pub(super) body: Option<String>,
    /// To a metadata address.
    pub(super) near: bool,
    /// Another limit than the usual one.
    pub(super) limit: Option<Duration>,
}

/// What came back.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A header of the answer by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Why nothing came back. The texts never have a header, a body or a query in them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum HttpError {
    #[error("no answer within {0:.1} s")]
    TimedOut(f64),
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("the answer is larger than {0} KiB")]
    TooLarge(u64),
    #[error("the answer broke off: {0}")]
    Broken(String),
    #[error("the key would go over plain HTTP to another host; next: give an https address")]
    PlainKey,
    #[error("a header cannot be written: a key has characters that no key has")]
    BadHeader,
}

/// Nobody whom this system trusts vouches for the server, or not for now.
const UNTRUSTED: &str = "the certificate is not trusted, or the clock is wrong";

/// The name has no address here.
const UNNAMED: &str = "the name is not known";

/// Sends requests; one for the platform's thread.
#[derive(Clone)]
pub(super) struct Client {
    near: Agent,
    far: Agent,
}

impl Client {
    pub(super) fn new() -> Self {
        let base = || {
            Config::builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .save_redirect_history(false)
                .max_response_header_size(32 << 10)
                .max_idle_age(Duration::from_secs(90))
                .user_agent(concat!("nameplate/", env!("CARGO_PKG_VERSION")))
        };
        let tls = TlsConfig::builder().root_certs(trusted()).build();
        Self {
            near: base()
                .proxy(None)
                .tls_config(tls.clone())
                .build()
                .new_agent(),
            far: base().tls_config(tls).build().new_agent(),
        }
    }

    /// Sends one request and reads its answer.
    pub(super) fn send(&self, call: &Call) -> Result<Answer, HttpError> {
        let limit = call.limit.unwrap_or(if call.near { NEAR } else { API });
        let local = host_of(&call.url).is_some_and(is_local);
        let has_key = call
            .headers
            .iter()
            .any(|(_, value)| matches!(value, HeaderValue::Key(..)));
        if has_key && !call.url.starts_with("https://") && !local {
            return Err(HttpError::PlainKey);
        }
        let mut builder = http_request(call)?;
        for (name, value) in &call.headers {
            builder = match value {
                HeaderValue::Plain(text) => builder.header(name, text),
                HeaderValue::Key(before, key) => {
                    let text = format!("{before}{}", key.expose_secret());
                    let mut value = ureq::http::HeaderValue::from_str(&text)
                        .map_err(|_| HttpError::BadHeader)?;
                    value.set_sensitive(true);
                    builder.header(name, value)
                }
            };
        }
        let agent = if call.near || local {
            &self.near
        } else {
            &self.far
        };
        let begun = Instant::now();
        let failed = |error: &Error| meaning(error, begun.elapsed());
        let bad = |_| HttpError::BadHeader;
        // What is not a GET says how long its body is, an empty one too: metadata services do not take chunks.
        let sent = match call.method {
            Method::Get => {
                let request = agent.configure_request(builder.body(()).map_err(bad)?);
                agent.run(request.timeout_global(Some(limit)).build())
            }
            Method::Post | Method::Put => {
                let body = call.body.clone().unwrap_or_default();
                let builder = builder.header("content-length", body.len());
                let request = agent.configure_request(builder.body(body).map_err(bad)?);
                agent.run(request.timeout_global(Some(limit)).build())
            }
        };
        let mut response = sent.map_err(|e| failed(&e))?;
        let most = if call.near { LARGEST_NEAR } else { LARGEST };
        let headers = kept_headers(&response);
        let status = response.status().as_u16();
        let body = read(response.body_mut(), most, begun)?;
        Ok(Answer {
            status,
            headers,
            body,
        })
    }
}

fn http_request(call: &Call) -> Result<ureq::http::request::Builder, HttpError> {
    let uri: ureq::http::Uri = call
        .url
        .parse()
        .map_err(|_| HttpError::Unreachable("the address is none".to_owned()))?;
    Ok(ureq::http::Request::builder()
        .method(call.method.word())
        .uri(uri))
}

/// The certificates to trust: the system's, else those that are built in.
fn trusted() -> RootCerts {
    let named = std::env::var_os("SSL_CERT_FILE").is_some_and(|file| Path::new(&file).is_file());
    if named || TRUSTED.iter().any(|file| Path::new(file).is_file()) {
        RootCerts::PlatformVerifier
    } else {
        RootCerts::WebPki
    }
}

/// The answer's headers that mean something to us.
fn kept_headers(response: &ureq::http::Response<Body>) -> Vec<(String, String)> {
    const KEPT: [&str; 6] = [
        "content-type",
        "etag",
        "metadata-flavor",
        "ratelimit",
        "retry-after",
        "location",
    ];
    KEPT.iter()
        .filter_map(|name| {
            let value = response.headers().get(*name)?.to_str().ok()?;
            Some(((*name).to_owned(), value.to_owned()))
        })
        .collect()
}

fn read(body: &mut Body, most: u64, begun: Instant) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    let mut reader = body.with_config().limit(most + 2).reader().take(most + 1);
    match reader.read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > most => Err(HttpError::TooLarge(most >> 10)),
        Ok(_) => Ok(bytes),
        Err(error) => Err(reading(error, begun.elapsed())),
    }
}

fn reading(error: io::Error, passed: Duration) -> HttpError {
    if let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
        return match inner {
            Error::Timeout(_) => HttpError::TimedOut(passed.as_secs_f64()),
            _ => HttpError::Broken("it is not whole".to_owned()),
        };
    }
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            HttpError::TimedOut(passed.as_secs_f64())
        }
        _ => HttpError::Broken("it is not whole".to_owned()),
    }
}

/// What a failure means, without anything of the request in it.
fn meaning(error: &Error, passed: Duration) -> HttpError {
    let unreachable = |why: &str| HttpError::Unreachable(why.to_owned());
    match error {
        Error::Timeout(_) => HttpError::TimedOut(passed.as_secs_f64()),
        Error::HostNotFound => unreachable(UNNAMED),
        Error::Io(error) => match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                HttpError::TimedOut(passed.as_secs_f64())
            }
            io::ErrorKind::ConnectionRefused => unreachable("nobody listens there"),
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => {
                HttpError::Broken("the connection was closed".to_owned())
            }
            // What rustls refuses in the handshake, in its words: "invalid peer certificate: UnknownIssuer".
            io::ErrorKind::InvalidData if error.to_string().contains("certificate") => {
                unreachable(UNTRUSTED)
            }
            io::ErrorKind::InvalidData => unreachable("TLS is not spoken there"),
            // A resolver's failure has no kind of its own: "failed to lookup address information".
            _ if error.to_string().contains("lookup") => unreachable(UNNAMED),
            // No route, nothing permitted: the system's words for it are many, and say no more.
            _ => unreachable("no connection"),
        },
        Error::ConnectionFailed => unreachable("no connection"),
        Error::Tls(_) | Error::Pem(_) | Error::Rustls(_) => unreachable(UNTRUSTED),
        Error::Protocol(_) => HttpError::Broken("it is not HTTP".to_owned()),
        _ => unreachable("the request failed"),
    }
}

/// Host of an address, without port and brackets.
pub(super) fn host_of(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    if let Some(v6) = authority.strip_prefix('[') {
        return v6.split(']').next();
    }
    authority.split(':').next()
}

/// Whether a host is this machine itself, where nobody else listens in.
pub(super) fn is_local(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_becomes_one_of_our_sentences() {
        let of = |error: io::Error| meaning(&Error::Io(error), Duration::ZERO).to_string();
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        for (error, said) in [
            (
                io::Error::other("failed to lookup address information: Name or service not known"),
                UNNAMED,
            ),
            (
                io::Error::from(io::ErrorKind::NetworkUnreachable),
                "no connection",
            ),
            (
                io::Error::from(io::ErrorKind::PermissionDenied),
                "no connection",
            ),
            (
                io::Error::from(io::ErrorKind::ConnectionRefused),
                "nobody listens there",
            ),
            (invalid("invalid peer certificate: Expired"), UNTRUSTED),
            (
                invalid("received corrupt message"),
                "TLS is not spoken there",
            ),
        ] {
            assert_eq!(of(error), format!("cannot be reached: {said}"));
        }
    }

    #[test]
    fn hosts_are_found_in_addresses() {
        for (url, host) in [
            ("http://127.0.0.1:8080/x", Some("127.0.0.1")),
            ("https://api.example.com", Some("api.example.com")),
            ("http://[fd00:ec2::254]/latest", Some("fd00:ec2::254")),
            ("http://user@[::1]:80/?a=b@c", Some("::1")),
            ("nothing", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
        assert!(is_local("127.9.0.1") && is_local("::1") && is_local("localhost"));
        assert!(!is_local("169.254.169.254") && !is_local("localhost.example"));
    }
}
