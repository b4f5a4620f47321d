//! Every string of the screen, in every language, and the text tools beside it.
//!
//! **To add a string, two steps:**
//!
//! 1. Declare it in the area's file under `src/text/keys/`: `overview_link_narrow(width, max);`. The method name is the
//!    area, an underscore, the key.
//! 2. Give its sentence in **every** file of `assets/locales/`, in the table of that area and without the area's name:
//!    under `[overview]`, `link_narrow = "The link runs x{width} of x{max}."`.
//!
//! Then call `t.overview_link_narrow(8, 16)` on a [`Catalogue`]. The tests below fail while a locale lacks the key, has a
//! key that nobody declared, or names other arguments. `{{` and `}}` are literal braces. English sentences are ASCII
//! (degree signs, arrows and the like are glyphs, and come in as arguments), so that `--ascii` needs no second catalogue.
//! Wording is neutral in number ("devices: 1"), or there are two keys.
//!
//! A new area is a file in `keys/` with `catalogue! { name: ... }` and one line in the list of `keys/mod.rs`.

mod catalogue;
mod clean;
mod keys;
mod lang;
mod nearest;
mod trouble;

pub use catalogue::Catalogue;
pub use clean::{clean, clean_width};
pub use lang::{Lang, UnknownLang};
pub use nearest::nearest;
