//! The declarations: one file per area of the screen, one typed method per string.

/// What the tests and the loader know of a declared string.
pub(super) struct KeySpec {
    /// The method's name: area, underscore, key.
    pub(super) method: &'static str,
    /// The names of its arguments, in the order of the method's parameters.
    pub(super) args: &'static [&'static str],
}

impl KeySpec {
    /// The key as a locale's table of this area writes it.
    pub(super) fn name(&self, area: &str) -> &'static str {
        self.method
            .strip_prefix(area)
            .and_then(|rest| rest.strip_prefix('_'))
            .unwrap_or(self.method)
    }
}

/// Declares the strings of one area: `catalogue! { area: area_key(argument, ...); ... }`. Arguments are anything that
/// implements `Display`.
macro_rules! catalogue {
    ($area:ident: $( $(#[$doc:meta])* $key:ident ( $($arg:ident),* $(,)? ); )*) => {
        #[allow(non_camel_case_types, clippy::enum_variant_names)]
        enum Slot { $($key),* }

        pub(in crate::text) const KEYS: &[$crate::text::keys::KeySpec] = &[$(
            $crate::text::keys::KeySpec { method: stringify!($key), args: &[$(stringify!($arg)),*] }
        ),*];

        impl $crate::text::Catalogue {
            $(
                #[doc = concat!("The string `", stringify!($key), "`.")]
                #[doc = ""]
                $(#[$doc])*
                #[must_use]
                pub fn $key(&self, $($arg: impl ::std::fmt::Display),*) -> ::std::borrow::Cow<'static, str> {
                    self.fill($crate::text::keys::Area::$area, Slot::$key as usize, &[$(&$arg as &dyn ::std::fmt::Display),*])
                }
            )*
        }
    };
}

/// Lists the areas: their files' names, which are also the names of the locales' tables.
macro_rules! areas {
    ($($area:ident),* $(,)?) => {
        /// An area of the screen with strings of its own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(non_camel_case_types)]
        pub(super) enum Area { $($area),* }

        #[cfg(test)]
        impl Area {
            pub(super) const ALL: &[Self] = &[$(Self::$area),*];
        }

        /// Each area's name and declarations, in the order of [`Area`].
        pub(super) const AREAS: &[(&str, &[KeySpec])] = &[$((stringify!($area), $area::KEYS)),*];
    };
}

mod blind;
mod chrome;
mod compare;
mod device;
mod diagnosis;
mod findings;
mod help;
mod host;
mod linear;
mod meter;
mod overview;
mod platform;
mod probe;
mod report;
mod state;
mod trouble;
mod unit;
mod vendor;
mod verdict;

areas! { blind, chrome, compare, device, diagnosis, findings, help, host, linear, meter, overview, platform, probe, report, state, trouble, unit, vendor, verdict }
