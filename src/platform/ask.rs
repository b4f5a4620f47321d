//! Asking one thing of a platform: the request as its descriptor has it, the token before it, and what its answer means.

use super::adapter::{self, Adapter};
use super::descriptor::{Descriptor, Form, Pick, Place, Request, Token};
use super::http::{Answer, Call, Client, HeaderValue, HttpError, Method};
use super::reader::{About, Facts, Read};
use super::secret::{Secret, secret};
use super::surroundings::Surroundings;
use super::value::{Said, short, text};
use crate::model::StepResult;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A token is renewed this long before it ends.
const TOKEN_EARLY: Duration = Duration::from_secs(15);
/// How far back usage is asked for where nobody said when billing began.
const USAGE_BACK: SignedDuration = SignedDuration::from_hours(31 * 24);

/// Who is asked, with what.
pub(super) struct Asker {
    pub(super) descriptor: Arc<Descriptor>,
    client: Client,
    /// Scheme, host and port that stand for all of the platform's own.
    url: Option<String>,
    key: Option<Secret>,
    pub(super) instance: Option<Arc<str>>,
    since: Option<Timestamp>,
    host: Option<String>,
    addresses: Vec<String>,
    token: Option<(Secret, Instant)>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// A good answer.
    Facts(Box<Facts>),
    /// A good answer: there is nothing.
    Nothing,
    /// 401 or 403.
    Refused(String),
    /// It failed for another reason.
    Failed(StepResult, String),
    /// It cannot be asked: something is missing here.
    NotAsked(String),
}

/// One request that was made, with what came back.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) outcome: Outcome,
    pub(super) status: Option<u16>,
    pub(super) ms: Option<f64>,
    /// `Retry-After` and `RateLimit`, as they came.
    pub(super) retry_after: Option<String>,
    pub(super) rate_limit: Option<String>,
    pub(super) etag: Option<String>,
    /// Nobody was reached at all: others at the same place fare no better.
    pub(super) unreached: bool,
}

impl Asked {
    fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            status: None,
            ms: None,
            retry_after: None,
            rate_limit: None,
            etag: None,
            unreached: false,
        }
    }

    pub(super) fn not_asked(why: &str) -> Self {
        Self::of(Outcome::NotAsked(why.to_owned()))
    }
}

impl Asker {
    pub(super) fn new(
        descriptor: Arc<Descriptor>,
        client: Client,
        url: Option<String>,
        since: Option<Timestamp>,
    ) -> Self {
        Self {
            descriptor,
            client,
            url,
            key: None,
            instance: None,
            since,
            host: None,
            addresses: Vec::new(),
            token: None,
        }
    }

    /// With the key and the instance that belong to it, and what this host is called.
    pub(super) fn with(
        mut self,
        key: Option<Secret>,
        instance: Option<Arc<str>>,
        here: &Surroundings,
    ) -> Self {
        self.key = key;
        self.instance = instance;
        self.host = here.host_name();
        self.addresses = here.addresses();
        self
    }

    /// Another one for a thread of its own.
    pub(super) fn twin(&self) -> Self {
        Self {
            descriptor: self.descriptor.clone(),
            client: self.client.clone(),
            url: self.url.clone(),
            key: self.key.clone(),
            instance: self.instance.clone(),
            since: self.since,
            host: self.host.clone(),
            addresses: self.addresses.clone(),
            token: None,
        }
    }

    /// Whether a request is meant for an instance of this name at all.
    pub(super) fn concerns(&self, request: &Request) -> bool {
        let begins = |prefix: &Option<String>| -> Option<bool> {
            let prefix = prefix.as_deref()?;
            Some(
                self.instance
                    .as_deref()
                    .is_some_and(|id| id.starts_with(prefix)),
            )
        };
        begins(&request.instance_begins).unwrap_or(true)
            && !begins(&request.instance_begins_not).unwrap_or(false)
    }

    /// What is missing before a request can be made.
    fn missing(&self, request: &Request) -> Option<String> {
        let needs = |what: &str| {
            request.path.contains(what)
                || request
                    .body
                    .as_ref()
                    .is_some_and(|body| body.contains(what))
        };
        if needs("{instance}") && self.instance.is_none() {
            return Some(
                "this instance's name is not known; next: set platform.instance_id, or NAMEPLATE_INSTANCE_ID"
                    .to_owned(),
            );
        }
        if request
            .headers
            .values()
            .any(|value| value.contains("{key}"))
            && self.key.is_none()
        {
            return Some(
                "no key was found; next: see `needs` in `nameplate platforms check`".to_owned(),
            );
        }
        if self.base(request.place).is_none() {
            return Some("it has no address of its own; next: give --platform-url".to_owned());
        }
        None
    }

    fn base(&self, place: Place) -> Option<&str> {
        let own = match place {
            Place::Metadata => self.descriptor.metadata.as_deref(),
            Place::Api => self.descriptor.api.as_deref(),
        };
        self.url.as_deref().or(own)
    }

    /// Asks; a token that is not taken any more is renewed once. `limit` is another time-out than the usual one, `etag`
    /// makes a waiting request wait for something newer.
    pub(super) fn ask(
        &mut self,
        request: &Request,
        about: &About<'_>,
        limit: Option<Duration>,
        etag: Option<&str>,
    ) -> Asked {
        if let Some(why) = self.missing(request) {
            return Asked::not_asked(&why);
        }
        let asked = self.try_once(request, about, limit, etag);
        if asked.status == Some(401) && self.token.take().is_some() {
            return self.try_once(request, about, limit, etag);
        }
        asked
    }

    fn try_once(
        &mut self,
        request: &Request,
        about: &About<'_>,
        limit: Option<Duration>,
        etag: Option<&str>,
    ) -> Asked {
        let begun = Instant::now();
        let mut headers = self.headers(request);
        if request.place == Place::Metadata
            && let Some(token) = self.descriptor.clone().token.as_ref()
        {
            match self.token(token, limit) {
                Ok(Some(key)) => {
                    headers.push((token.header.clone(), HeaderValue::Key(String::new(), key)));
                }
                Ok(None) => {}
                Err(mut asked) => {
                    asked.ms = Some(begun.elapsed().as_secs_f64() * 1000.0);
                    return *asked;
                }
            }
        }
        let call = Call {
            method: request.method,
            url: self.url(request, about.now, etag),
            headers,
            body: request
                .body
                .as_ref()
                .map(|body| self.fill(body, about.now, json_text)),
            near: request.place == Place::Metadata,
            limit,
        };
        let sent = self.client.send(&call);
        let ms = begun.elapsed().as_secs_f64() * 1000.0;
        let mut asked = match sent {
            Ok(answer) => self.answered(request, &answer, about),
            Err(error) => failed(&error),
        };
        asked.ms = Some(ms);
        asked
    }

    fn headers(&self, request: &Request) -> Vec<(String, HeaderValue)> {
        let mut headers: Vec<(String, HeaderValue)> = request
            .headers
            .iter()
            .map(|(name, value)| {
                let value = match (value.split_once("{key}"), &self.key) {
                    (Some((before, _)), Some(key)) => {
                        HeaderValue::Key(before.to_owned(), key.clone())
                    }
                    _ => HeaderValue::Plain(value.clone()),
                };
                (name.clone(), value)
            })
            .collect();
        if request.form == Form::Json && request.place == Place::Api {
            headers.push((
                "accept".to_owned(),
                HeaderValue::Plain("application/json".to_owned()),
            ));
        }
        if request.body.is_some() {
            headers.push((
                "content-type".to_owned(),
                HeaderValue::Plain("application/json".to_owned()),
            ));
        }
        headers
    }

    fn url(&self, request: &Request, now: Timestamp, etag: Option<&str>) -> String {
        let base = self.base(request.place).unwrap_or_default();
        let mut url = format!(
            "{}{}",
            base.trim_end_matches('/'),
            self.fill(&request.path, now, percent)
        );
        if let (Some(waits), Some(etag)) = (request.waits_s, etag) {
            let sign = if url.contains('?') { '&' } else { '?' };
            url.push_str(&format!(
                "{sign}wait_for_change=true&timeout_sec={waits}&last_etag={}",
                percent(etag)
            ));
        }
        url
    }

    /// A text with its braces filled, each value written so that it can be nothing but a value.
    fn fill(&self, text: &str, now: Timestamp, write: fn(&str) -> String) -> String {
        let from = self
            .since
            .or_else(|| now.checked_sub(USAGE_BACK).ok())
            .unwrap_or(now);
        let second = |at: Timestamp| {
            Timestamp::from_second(at.as_second())
                .map_or_else(|_| String::new(), |at| at.to_string())
        };
        text.replace(
            "{instance}",
            &write(self.instance.as_deref().unwrap_or_default()),
        )
        .replace("{from}", &write(&second(from)))
        .replace("{to}", &write(&second(now)))
    }

    /// The token of the metadata service: the kept one, else a new one. `None` where it has none and needs none.
    fn token(
        &mut self,
        token: &Token,
        limit: Option<Duration>,
    ) -> Result<Option<Secret>, Box<Asked>> {
        let now = Instant::now();
        if let Some((key, until)) = &self.token
            && *until > now
        {
            return Ok(Some(key.clone()));
        }
        let base = self.base(Place::Metadata).unwrap_or_default();
        let call = Call {
            method: Method::Put,
            url: format!("{}{}", base.trim_end_matches('/'), token.path),
            headers: token
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), HeaderValue::Plain(value.clone())))
                .collect(),
            body: None,
            near: true,
            limit,
        };
        let answer = self
            .client
            .send(&call)
            .map_err(|error| Box::new(failed(&error)))?;
        let key = std::str::from_utf8(&answer.body).ok().and_then(secret);
        match (answer.status, key) {
            (200, Some(key)) => {
                let lasts = Duration::from_secs(token.lasts_s).saturating_sub(TOKEN_EARLY);
                self.token = Some((key.clone(), now + lasts));
                Ok(Some(key))
            }
            (404 | 405 | 501, _) if token.optional => Ok(None),
            (status, _) => {
                let mut asked = by_status(&answer, false);
                if let Outcome::Facts(_) | Outcome::Nothing = asked.outcome {
                    asked.outcome =
                        Outcome::Failed(StepResult::NoMatch, "the token is none".to_owned());
                }
                asked.status = Some(status);
                Err(Box::new(asked))
            }
        }
    }

    fn answered(&self, request: &Request, answer: &Answer, about: &About<'_>) -> Asked {
        let mut asked = by_status(answer, request.may_be_missing);
        if asked.outcome != good() {
            return asked;
        }
        if request.may_be_missing && answer.body.iter().all(u8::is_ascii_whitespace) {
            asked.outcome = Outcome::Nothing;
            return asked;
        }
        asked.outcome = match said(request, answer).and_then(|said| self.picked(request, said)) {
            Ok(said) => {
                let reader: &dyn Read = match self.adapter() {
                    Some(adapter) => adapter,
                    None => request,
                };
                Outcome::Facts(Box::new(reader.read(&said, about)))
            }
            Err(why) => Outcome::Failed(StepResult::NoMatch, why),
        };
        asked
    }

    fn adapter(&self) -> Option<&'static dyn Adapter> {
        self.descriptor.adapter.as_deref().and_then(adapter::of)
    }

    /// This instance's item of a list.
    fn picked(&self, request: &Request, said: Said) -> Result<Said, String> {
        let (Some(pick), Said::Json(json)) = (&request.pick, &said) else {
            return Ok(said);
        };
        let items = json
            .pointer(&pick.list)
            .and_then(Json::as_array)
            .ok_or_else(|| "the answer has no list of instances".to_owned())?;
        let item = items
            .iter()
            .find(|item| self.is_this(pick, item))
            .ok_or_else(|| match &self.instance {
                Some(_) => format!("none of {} instances has this one's name", items.len()),
                None => format!(
                    "none of {} instances has this host's name or address; next: set platform.instance_id, or \
                     NAMEPLATE_INSTANCE_ID",
                    items.len()
                ),
            })?;
        Ok(Said::Json(item.clone()))
    }

    fn is_this(&self, pick: &Pick, item: &Json) -> bool {
        let word = |pointer: &str| item.pointer(pointer).and_then(text);
        if let Some(instance) = &self.instance {
            return word(&pick.id).is_some_and(|id| id == *instance);
        }
        let host = self.host.as_deref();
        let by_name = pick
            .hosts
            .iter()
            .filter_map(|pointer| word(pointer))
            .any(|name| host.is_some_and(|host| name.eq_ignore_ascii_case(host)));
        let by_address = pick
            .addresses
            .iter()
            .filter_map(|pointer| word(pointer))
            .any(|address| self.addresses.iter().any(|own| **own == *address));
        by_name || by_address
    }
}

/// A good answer, before its body is read.
fn good() -> Outcome {
    Outcome::Facts(Box::default())
}

/// What an answer's status means, whatever its body says.
fn by_status(answer: &Answer, may_be_missing: bool) -> Asked {
    let fail = |text: &str| Outcome::Failed(StepResult::Error, text.to_owned());
    let outcome = match answer.status {
        200..=299 => good(),
        404 | 410 if may_be_missing => Outcome::Nothing,
        401 => Outcome::Refused("401: the key is not valid, or missing".to_owned()),
        403 => Outcome::Refused("403: the key may not read this".to_owned()),
        404 | 410 => Outcome::Failed(
            StepResult::Absent,
            format!(
                "{}: there is no such thing, or the key is not valid",
                answer.status
            ),
        ),
        429 => fail("429: asked too often"),
        300..=399 => Outcome::Failed(
            StepResult::Error,
            format!(
                "{}: it leads elsewhere, which is not followed",
                answer.status
            ),
        ),
        status => Outcome::Failed(StepResult::Error, format!("{status}: the platform failed")),
    };
    let header = |name: &str| answer.header(name).map(str::to_owned);
    Asked {
        status: Some(answer.status),
        retry_after: header("retry-after"),
        rate_limit: header("ratelimit"),
        etag: header("etag"),
        ..Asked::of(outcome)
    }
}

fn failed(error: &HttpError) -> Asked {
    let result = match error {
        HttpError::TimedOut(_) => StepResult::TimedOut,
        HttpError::Unreachable(_) => StepResult::Absent,
        HttpError::PlainKey => StepResult::Refused,
        _ => StepResult::Error,
    };
    Asked {
        unreached: matches!(error, HttpError::TimedOut(_) | HttpError::Unreachable(_)),
        ..Asked::of(Outcome::Failed(result, error.to_string()))
    }
}

/// The body as the request says that it is written, where it is what a good answer has. An error's page of HTML is never
/// a value.
pub(super) fn said(request: &Request, answer: &Answer) -> Result<Said, String> {
    if let Some([name, value]) = &request.answer_header {
        let is = answer.header(&name.to_ascii_lowercase());
        if is != Some(value) {
            return Err(format!("the answer has no header {name}: {value}"));
        }
    }
    let text = std::str::from_utf8(&answer.body).map_err(|_| "the answer is no text".to_owned())?;
    match request.form {
        Form::Text => {
            let line = text.trim();
            // Not by its content type: there are metadata services that call every text a page.
            if line.starts_with('<') || line.lines().count() > 1 {
                return Err("the answer is a page, not a value".to_owned());
            }
            short(line).ok_or_else(|| "the answer is empty".to_owned())?;
            let proof = &request.proof;
            if !proof.is_empty() && !proof.iter().any(|begin| line.starts_with(begin)) {
                return Err(format!(
                    "the answer does not begin with {}",
                    proof.join(" or ")
                ));
            }
            Ok(Said::Text(line.to_owned()))
        }
        Form::Json => {
            let json: Json =
                serde_json::from_str(text).map_err(|_| "the answer is not JSON".to_owned())?;
            if let Some(success) = &request.success {
                let code = json.pointer(&success.at).and_then(self::text);
                if code.as_deref() != Some(&success.is) {
                    return Err("the platform says that the request failed".to_owned());
                }
            }
            let proof = &request.proof;
            let has =
                |pointer: &String| json.pointer(pointer).is_some_and(|found| !found.is_null());
            if !proof.is_empty() && !proof.iter().any(has) {
                return Err(format!("the answer has no {}", proof.join(" or ")));
            }
            Ok(Said::Json(json))
        }
    }
}

/// A value in a URL.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    // A name of dots only would be a step up.
    if !out.is_empty() && out.bytes().all(|b| b == b'.') {
        return out.replace('.', "%2E");
    }
    out
}

/// A value within quotes of a JSON text.
fn json_text(text: &str) -> String {
    let quoted = Json::from(text).to_string();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_an_address_is_nothing_but_a_value() {
        assert_eq!(percent("i-0abc.D_E~1"), "i-0abc.D_E~1");
        assert_eq!(percent("../iam/x?y=é"), "..%2Fiam%2Fx%3Fy%3D%C3%A9");
        assert_eq!(percent(".."), "%2E%2E");
        assert_eq!(json_text("a\"b\\\""), "a\\\"b\\\\\\\"");
    }
}
