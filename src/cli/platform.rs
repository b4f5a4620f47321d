//! From settings to the platform's options, and `nameplate platforms`.

use super::args::{Format, Platforms, PlatformsAction};
use super::{CliError, Settings, World};
use crate::model::DetectedBy;
use crate::platform::{Catalogue, Home, PlatformOptions, Surroundings, report};
use crate::publish::{platforms_json, platforms_text};
use crate::text::{Catalogue as Text, nearest};
use std::path::PathBuf;
use std::sync::Arc;

/// The platforms that are known: those built in, and the files in the user's folder `platforms`.
fn catalogue(world: &World) -> Catalogue {
    let folder = world.folders.config.as_ref();
    let catalogue = Catalogue::load(folder.map(|folder| folder.join("platforms")).as_deref());
    for problem in catalogue.problems() {
        tracing::warn!("platforms: {problem}");
    }
    catalogue
}

/// What a live source needs to know of platforms.
#[derive(Clone)]
pub(super) struct Rented {
    /// Who is to be asked with what; `None` where nobody is, and nobody was named.
    pub(super) options: Option<Arc<PlatformOptions>>,
    /// The variables that may hold a platform's key: they are kept from every other process.
    pub(super) secrets: Vec<String>,
}

impl Rented {
    /// As settings say.
    ///
    /// # Errors
    /// Wrong usage: a platform that is not known, an address that is none.
    pub(super) fn new(settings: &Settings, world: &World) -> Result<Self, CliError> {
        let options = all_options(settings, world)?;
        let silent = !settings.platform.enabled && options.wanted.is_none();
        Ok(Self {
            secrets: options.catalogue.key_variables(),
            options: (!silent).then(|| Arc::new(options)),
        })
    }
}

fn all_options(settings: &Settings, world: &World) -> Result<PlatformOptions, CliError> {
    let wants = &settings.platform;
    let catalogue = catalogue(world);
    let wanted = match &wants.name {
        Some(name) => {
            known(&catalogue, name)?;
            let by = if wants.name_by_flag {
                DetectedBy::Flag
            } else {
                DetectedBy::Config
            };
            Some((name.clone(), by))
        }
        None => None,
    };
    let url = wants.url.as_deref().map(base).transpose()?;
    // With another root nothing outside of it is read or asked, except where an address was given by hand.
    let inside = settings.is_rooted() && !wants.url_by_flag;
    let network = match () {
        () if !wants.enabled => Err("--no-platform: nothing is asked"),
        () if inside => Err("--root: nothing outside of it is asked"),
        () => Ok(()),
    };
    let home = if inside { Home::default() } else { home(world) };
    let here = Surroundings::look(
        &catalogue.variables(),
        &world.env,
        &settings.root,
        home,
        wants.key_file.clone().filter(|_| !inside),
    );
    Ok(PlatformOptions {
        catalogue,
        wanted,
        url,
        instance_id: wants.instance_id.clone(),
        since: settings.config.since.map(|since| since.at),
        network,
        here,
    })
}

fn home(world: &World) -> Home {
    let folder = |name: &str| {
        (world.env)(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let home = folder("HOME");
    let config =
        folder("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    Home { home, config }
}

fn known(catalogue: &Catalogue, name: &str) -> Result<(), CliError> {
    if catalogue.names().any(|known| known == name) {
        return Ok(());
    }
    let hint = nearest(name, catalogue.names())
        .map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let broken = catalogue
        .problems()
        .first()
        .map_or_else(String::new, |problem| format!(" (not usable: {problem})"));
    Err(CliError::Usage(format!(
        "--platform: there is no platform called \"{name}\"{hint}{broken}; next: `nameplate platforms` names them"
    )))
}

/// Scheme, host and port of an address; a path in it counts for nothing, because descriptors bring theirs.
fn base(url: &str) -> Result<String, CliError> {
    let wrong = |why: &str| {
        CliError::Usage(format!(
            "--platform-url: {why}; next: give scheme, host and port, such as http://127.0.0.1:8080"
        ))
    };
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| wrong("it has no scheme"))?;
    if !matches!(scheme, "http" | "https") {
        return Err(wrong("only http and https are spoken"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A key in an address would be seen by everybody who lists processes.
    if authority.contains('@') {
        return Err(wrong("no name or key stands in it"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if authority.is_empty() || !authority.chars().all(plain) {
        return Err(wrong("it has no host"));
    }
    Ok(format!("{scheme}://{authority}"))
}

/// The platforms that are known; with `check` what was found here.
///
/// # Errors
/// Wrong usage, or the output cannot be written. Whether anything was found is no failure.
pub(super) fn run(
    args: &Platforms,
    settings: &Settings,
    world: &mut World,
) -> Result<(), CliError> {
    let mut options = all_options(settings, world)?;
    let check = matches!(args.action, Some(PlatformsAction::Check));
    if !check && options.network.is_ok() {
        options.network = Err("only `nameplate platforms check` asks");
    }
    let now = (world.now)();
    let found = report(&options, options.network.is_ok(), now);
    match args.format {
        Format::Json => world.say_json(&platforms_json(&found, now)),
        Format::Text => {
            let text = Text::new(settings.screen.lang);
            let problems = options.catalogue.problems();
            world.say(&platforms_text(&found, problems, check, &text))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_is_scheme_host_and_port() {
        for (url, expected) in [
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("https://api.example.org/", Some("https://api.example.org")),
            ("http://[::1]:80/v2/x?y", Some("http://[::1]:80")),
            ("127.0.0.1:8080", None),
            ("ftp://example.org", None),
            ("http://user:key@example.org", None),
            ("http://", None),
            ("http://a b", None),
        ] {
            assert_eq!(base(url).ok().as_deref(), expected, "{url}");
        }
    }
}
