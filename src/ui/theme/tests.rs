//! What holds for every embedded theme, and what a user's own may do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use ratatui::style::{Color, Modifier};

use super::colour::{Paint, Rgb};
use super::*;

const DEPTHS: [Depth; 4] = [Depth::Truecolor, Depth::C256, Depth::C16, Depth::None];

fn embedded(name: &str) -> ThemeFile {
    find(name, None).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_embedded_theme_defines_every_role() {
    for (name, _) in EMBEDDED {
        for role in Role::ALL {
            assert!(
                embedded(name).role(*role).is_some(),
                "{name} lacks {}",
                role.name()
            );
        }
    }
    for (index, role) in Role::ALL.iter().enumerate() {
        assert_eq!(*role as usize, index);
        assert_eq!(Role::from_name(role.name()), Some(*role));
    }
}

#[test]
fn text_can_be_read_on_its_ground() {
    let rgb = |paint: Option<Paint>| match paint {
        Some(Paint::Rgb(rgb)) => rgb,
        other => panic!("not a colour: {other:?}"),
    };
    let unread = [
        Role::Ground,
        Role::Select,
        Role::Faint,
        Role::Rule,
        Role::BarEmpty,
        Role::ChartCeiling,
        Role::Unobserved,
    ];
    for name in ["dark", "light"] {
        let file = embedded(name);
        let paints = |role: Role| file.role(role).unwrap().paints();
        let (ground, select) = (rgb(paints(Role::Ground).1), rgb(paints(Role::Select).1));
        for role in Role::ALL.iter().filter(|role| !unread.contains(role)) {
            let (fg, bg) = paints(*role);
            let grounds: &[Rgb] = if bg.is_some() {
                &[rgb(bg)]
            } else {
                &[ground, select]
            };
            for ground in grounds {
                // 4.5 is WCAG's AA for text of normal size.
                let contrast = rgb(fg).contrast(*ground);
                assert!(
                    contrast >= 4.5,
                    "{name} {}: {contrast:.2} on {ground:?}",
                    role.name()
                );
            }
        }
        for role in [Role::Unobserved, Role::ChartCeiling] {
            let contrast = rgb(paints(role).0).contrast(ground);
            assert!(contrast >= 4.0, "{name} {}: {contrast:.2}", role.name());
        }
    }
}

#[test]
fn states_stay_apart_at_every_depth() {
    let apart: [&[Role]; 3] = [
        &[
            Role::Ok,
            Role::Warn,
            Role::Bad,
            Role::Idle,
            Role::Held,
            Role::Lost,
            Role::Unknown,
        ],
        &[
            Role::Compute,
            Role::Stalled,
            Role::Throttled,
            Role::IoWait,
            Role::Queue,
            Role::Idle,
            Role::Unobserved,
        ],
        &[Role::Text, Role::BannerDemo, Role::BannerReplay],
    ];
    for (name, _) in EMBEDDED {
        for depth in DEPTHS {
            let theme = Theme::load(name, None, depth).unwrap();
            for group in apart {
                for (index, a) in group.iter().enumerate() {
                    for b in &group[index + 1..] {
                        assert_ne!(
                            theme.style(*a),
                            theme.style(*b),
                            "{name} {depth:?}: {a:?} {b:?}"
                        );
                    }
                }
            }
            for role in [
                Role::Strong,
                Role::Accent,
                Role::Select,
                Role::SelectedMark,
                Role::Limit,
            ] {
                assert_ne!(
                    theme.style(role),
                    theme.style(Role::Text),
                    "{name} {depth:?}: {role:?}"
                );
            }
        }
    }
}

#[test]
fn no_colour_means_no_colour() {
    for (name, _) in EMBEDDED {
        for role in Role::ALL {
            let style = Theme::load(name, None, Depth::None).unwrap().style(*role);
            assert_eq!(
                (style.fg, style.bg, style.underline_color),
                (None, None, None),
                "{name} {role:?}"
            );
            let style = Theme::load("mono", None, Depth::Truecolor)
                .unwrap()
                .style(*role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
    }
}

#[test]
fn lower_depths_use_only_their_colours() {
    for (name, _) in EMBEDDED {
        for (depth, fits) in [
            (
                Depth::C256,
                (|color| !matches!(color, Color::Rgb(..))) as fn(Color) -> bool,
            ),
            (Depth::C16, |color| {
                !matches!(color, Color::Rgb(..) | Color::Indexed(_))
            }),
        ] {
            let theme = Theme::load(name, None, depth).unwrap();
            for role in Role::ALL {
                let style = theme.style(*role);
                assert!(
                    style.fg.into_iter().chain(style.bg).all(fits),
                    "{name} {depth:?} {role:?}: {style:?}"
                );
            }
        }
    }
}

#[test]
fn a_theme_of_ones_own_inherits() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(format!("{name}.toml")), text).unwrap()
    };
    write("mine", "inherits = \"base\"\n[roles]\nok = { fg = 42 }\n");
    write(
        "base",
        "inherits = \"light\"\n[roles]\nok = { fg = \"red\" }\nbad = { fg = \"#010203\", underline = true }\n",
    );
    write(
        "dark",
        "inherits = \"dark\"\n[roles]\nok = { fg = \"blue\" }\n",
    );
    write("loop", "inherits = \"pool\"\n");
    write("pool", "inherits = \"loop\"\n");
    write("bare", "");
    let load = |name: &str| Theme::load(name, Some(folder.path()), Depth::Truecolor);
    let role = |theme: &Theme, role: Role| theme.style(role);

    let mine = load("mine").unwrap();
    let light = Theme::load("light", None, Depth::Truecolor).unwrap();
    assert_eq!(role(&mine, Role::Ok).fg, Some(Color::Indexed(42)));
    assert_eq!(role(&mine, Role::Bad).fg, Some(Color::Rgb(1, 2, 3)));
    assert_eq!(role(&mine, Role::Bad).add_modifier, Modifier::UNDERLINED);
    assert_eq!(role(&mine, Role::Text), role(&light, Role::Text));
    assert_eq!(role(&load("dark").unwrap(), Role::Ok).fg, Some(Color::Blue));
    assert_eq!(
        role(&load("bare").unwrap(), Role::Ok),
        role(&Theme::fallback(Depth::Truecolor), Role::Ok)
    );
    assert!(matches!(load("loop"), Err(ThemeError::Cycle { .. })));
    assert_eq!(
        Theme::names(Some(folder.path())),
        [
            "dark", "light", "mono", "bare", "base", "loop", "mine", "pool"
        ]
    );
    assert!(matches!(load("../mine"), Err(ThemeError::BadName { .. })));
    assert_eq!(
        load("mien").unwrap_err().to_string(),
        "there is no theme called \"mien\"; did you mean \"mine\"?"
    );
}

#[test]
fn errors_name_file_line_and_the_nearest_word() {
    for (text, expected) in [
        (
            "[roles]\nwran = { fg = \"#ffffff\" }\n",
            "t.toml, line 2: unknown role \"wran\"; did you mean \"warn\"?",
        ),
        (
            "[roles]\n\nok = { fgg = 1 }\n",
            "t.toml, line 3: unknown key \"fgg\"; did you mean \"fg\"?",
        ),
        (
            "[roles]\nok = { c16 = { blod = true } }\n",
            "t.toml, line 2: unknown key \"blod\"; did you mean \"bold\"?",
        ),
        (
            "[roles]\nok = { fg = \"gren\" }\n",
            "t.toml, line 2: \"gren\" is no colour: #rrggbb, 0 to 255, default, or a name of the 16; did you mean \"green\"?",
        ),
        (
            "[roles]\nok = { fg = 256 }\n",
            "t.toml, line 2: \"256\" is no colour: #rrggbb, 0 to 255, default, or a name of the 16",
        ),
        (
            "[roles]\nok = { bold = 1 }\n",
            "t.toml, line 2: \"bold\" must be true or false",
        ),
        (
            "[roles]\nok = 3\n",
            "t.toml, line 2: \"ok\" must be a table",
        ),
        (
            "inherit = \"dark\"\n",
            "t.toml, line 1: unknown key \"inherit\"; did you mean \"inherits\"?",
        ),
    ] {
        assert_eq!(
            Theme::check(Path::new("t.toml"), text)
                .unwrap_err()
                .to_string(),
            expected
        );
    }
    let broken = Theme::check(Path::new("t.toml"), "[roles]\nok = {").unwrap_err();
    assert!(
        matches!(
            broken,
            ThemeError::Line {
                line: 2..,
                what: LineError::Syntax(_),
                ..
            }
        ),
        "{broken}"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_theme_or_an_error(text in "(?s)(\\[roles\\]\n)?[a-z0-9_ ={}\",#\n.]{0,60}|(?s).{0,60}") {
        let _ = Theme::check(Path::new("t.toml"), &text);
    }
}
