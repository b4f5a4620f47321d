//! The backend against a terminal emulator, cell by cell.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

use std::num::NonZeroU16;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::{Rect, Size};
use ratatui::style::{Color, Modifier, Style};
use ratatui::{TerminalOptions, Viewport};

use super::Lean;

/// A terminal of our own beside an emulated one that is fed with what ours writes.
struct Pair {
    lean: Lean<Vec<u8>>,
    emulator: vt100::Parser,
}

fn sides(size: Size) -> (NonZeroU16, NonZeroU16) {
    (
        NonZeroU16::new(size.height).unwrap(),
        NonZeroU16::new(size.width).unwrap(),
    )
}

impl Pair {
    fn new(size: Size) -> Self {
        let (rows, columns) = sides(size);
        let mut emulator = vt100::Parser::new(rows, columns, 0);
        emulator.process(b"what was there before\r\n\x1b[1;31;44mand its pen");
        Self {
            lean: Lean::new(Vec::new(), size),
            emulator,
        }
    }

    fn resize(&mut self, size: Size) {
        let (rows, columns) = sides(size);
        self.emulator.screen_mut().set_size(rows, columns);
        self.lean.set_size(size);
    }

    /// Draws a frame, shows it to the emulator and returns what was written.
    fn draw(&mut self, frame: &Buffer) -> Vec<u8> {
        self.lean.draw(|f| f.clone_from(frame)).unwrap();
        let bytes = std::mem::take(self.lean.sink_mut());
        self.emulator.process(&bytes);
        bytes
    }

    fn compare(&self, frame: &Buffer) {
        for y in 0..frame.area.height {
            let mut x = 0;
            while x < frame.area.width {
                let cell = &frame[(x, y)];
                let seen = self.emulator.screen().cell(y, x).unwrap();
                let at = At {
                    x,
                    y,
                    frame,
                    emulator: &self.emulator,
                };
                let text = if seen.has_contents() {
                    seen.contents()
                } else {
                    " "
                };
                assert_eq!(text, cell.symbol(), "{at}");
                let on_blank = Modifier::REVERSED | Modifier::UNDERLINED | Modifier::CROSSED_OUT;
                assert_eq!(seen.bgcolor(), colour(cell.bg), "background {at}");
                assert_eq!(
                    seen.underline(),
                    cell.modifier.contains(Modifier::UNDERLINED),
                    "underline {at}"
                );
                assert_eq!(
                    seen.inverse(),
                    cell.modifier.contains(Modifier::REVERSED),
                    "inverse {at}"
                );
                if cell.symbol() != " " || cell.modifier.intersects(on_blank) {
                    let bold = cell.modifier.contains(Modifier::BOLD);
                    let dim = cell.modifier.contains(Modifier::DIM);
                    assert_eq!(seen.fgcolor(), colour(cell.fg), "text colour {at}");
                    assert_eq!(
                        seen.italic(),
                        cell.modifier.contains(Modifier::ITALIC),
                        "italic {at}"
                    );
                    // The emulator holds one of the two at a time.
                    assert_eq!(seen.bold() || seen.dim(), bold || dim, "intensity {at}");
                    assert!(
                        bold == dim || (seen.bold() == bold && seen.dim() == dim),
                        "bold and dim {at}"
                    );
                }
                x += cell.cell_width().max(1);
            }
        }
    }
}

/// Where a comparison failed; only put into words then.
struct At<'a> {
    x: u16,
    y: u16,
    frame: &'a Buffer,
    emulator: &'a vt100::Parser,
}

impl std::fmt::Display for At<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            x,
            y,
            frame,
            emulator,
        } = self;
        write!(
            f,
            "({x}, {y}) of {frame:?}\n{}",
            emulator.screen().contents()
        )
    }
}

fn colour(colour: Color) -> vt100::Color {
    const NAMED: [Color; 16] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    match colour {
        Color::Reset => vt100::Color::Default,
        Color::Indexed(n) => vt100::Color::Idx(n),
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        named => vt100::Color::Idx(NAMED.iter().position(|c| *c == named).unwrap() as u8),
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write {
        x: u16,
        y: u16,
        text: String,
        style: Style,
    },
    Fill {
        area: Rect,
        style: Style,
    },
    Blank {
        area: Rect,
    },
    Resize(Size),
    Repaint,
    Frame,
}

fn any_colour() -> impl Strategy<Value = Color> {
    prop_oneof![
        3 => Just(Color::Reset),
        1 => prop::sample::select(vec![Color::Black, Color::Red, Color::Gray, Color::DarkGray, Color::LightCyan, Color::White]),
        1 => any::<u8>().prop_map(Color::Indexed),
        1 => any::<(u8, u8, u8)>().prop_map(|(r, g, b)| Color::Rgb(r, g, b)),
    ]
}

fn any_style() -> impl Strategy<Value = Style> {
    (
        any_colour(),
        any_colour(),
        any_colour(),
        prop_oneof![2 => Just(0), 1 => 0..512_u16],
    )
        .prop_map(|(fg, bg, line, bits)| {
            // Hidden text is shown by the emulator as any other.
            let modifier = Modifier::from_bits_truncate(bits) - Modifier::HIDDEN;
            Style {
                add_modifier: modifier,
                sub_modifier: Modifier::all(),
                ..Style::new().fg(fg).bg(bg).underline_color(line)
            }
        })
}

fn any_area() -> impl Strategy<Value = Rect> {
    (0..30_u16, 0..8_u16, 1..30_u16, 1..8_u16).prop_map(|(x, y, width, height)| Rect {
        x,
        y,
        width,
        height,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let words = vec![
        "12.3 W",
        "█▌░",
        "数据",
        "中",
        "e\u{301}a",
        "⚠\u{fe0f}!",
        "🔥",
        "   ",
        "x",
        "  y  z  ",
        "────────────",
    ];
    prop_oneof![
        6 => (prop_oneof![0..30_u16, 0..5_u16], prop_oneof![0..8_u16, 0..2_u16], prop::sample::select(words), any_style())
            .prop_map(|(x, y, text, style)| Step::Write { x, y, text: text.into(), style }),
        2 => (any_area(), any_style()).prop_map(|(area, style)| Step::Fill { area, style }),
        2 => any_area().prop_map(|area| Step::Blank { area }),
        1 => any_size().prop_map(Step::Resize),
        1 => Just(Step::Repaint),
        4 => Just(Step::Frame),
    ]
}

fn any_size() -> impl Strategy<Value = Size> {
    prop_oneof![(1..30_u16, 1..8_u16), (2..7_u16, 1..3_u16)]
        .prop_map(|(width, height)| Size { width, height })
}

/// What widgets leave behind a wide glyph: a blank of its style.
fn tidy(frame: &mut Buffer) {
    let area = frame.area;
    for y in 0..area.height {
        let mut x = 0;
        while x < area.width {
            let cell = frame[(x, y)].clone();
            let width = cell.cell_width().max(1);
            if width > area.width - x {
                frame[(x, y)].set_symbol(" ");
            }
            for trail in x + 1..(x + width).min(area.width) {
                frame[(trail, y)] = cell.clone();
                frame[(trail, y)].set_symbol(" ");
            }
            x += width;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_terminal_shows_every_frame(size in any_size(), steps in prop::collection::vec(any_step(), 1..60)) {
        let mut pair = Pair::new(size);
        let mut frame = Buffer::empty(size.into());
        for step in steps.into_iter().chain([Step::Frame]) {
            match step {
                Step::Write { x, y, text, style } if x < frame.area.width && y < frame.area.height => {
                    frame.set_string(x, y, text, style);
                }
                Step::Write { .. } => {}
                Step::Fill { area, style } => frame.set_style(area.intersection(frame.area), style),
                Step::Blank { area } => {
                    for at in area.intersection(frame.area).positions() {
                        frame[at].reset();
                    }
                }
                Step::Resize(size) => {
                    pair.resize(size);
                    frame.resize(size.into());
                    frame.reset();
                }
                Step::Repaint => pair.resize(frame.area.as_size()),
                Step::Frame => {
                    tidy(&mut frame);
                    pair.draw(&frame);
                    pair.compare(&frame);
                    prop_assert!(pair.draw(&frame).is_empty(), "the same frame again");
                }
            }
        }
    }
}

#[test]
fn a_frame_is_one_write_and_an_equal_one_none() {
    let mut pair = Pair::new(Size::new(20, 3));
    let frame = Buffer::with_lines(["power  402 W        ", "", "idle"]);
    let frame = {
        let mut full = Buffer::empty(Rect::new(0, 0, 20, 3));
        full.merge(&frame);
        full
    };
    let first = pair.draw(&frame);
    assert!(first.starts_with(b"\x1b[?2026h") && first.ends_with(b"\x1b[?2026l"));
    assert!(pair.emulator.screen().hide_cursor());
    assert_eq!(pair.draw(&frame), b"");
    assert_eq!(
        (pair.lean.writes(), pair.lean.bytes_written()),
        (1, first.len() as u64)
    );
    let mut next = frame.clone();
    next[(8, 0)].set_symbol("1");
    next[(9, 0)].set_symbol("7");
    next[(0, 2)].set_symbol("I");
    // Line feeds and a return are shorter than any addressed move.
    assert_eq!(pair.draw(&next), b"\x1b[?2026h\x1b[;9H17\n\n\rI\x1b[?2026l");
    pair.compare(&next);
}

#[test]
fn gaps_are_written_again_and_rows_erased() {
    let mut pair = Pair::new(Size::new(40, 2));
    let mut frame = Buffer::empty(Rect::new(0, 0, 40, 2));
    frame.set_string(0, 0, "a 1:2 b and a long tail of words", Style::new());
    pair.draw(&frame);
    frame.set_string(2, 0, "3:4", Style::new());
    let bytes = pair.draw(&frame);
    assert_eq!(bytes, b"\x1b[?2026h\x1b[3G3:4\x1b[?2026l");
    frame.set_string(8, 0, " ".repeat(30), Style::new());
    assert_eq!(pair.draw(&frame), b"\x1b[?2026h b \x1b[K\x1b[?2026l");
    pair.compare(&frame);
}

#[test]
fn half_a_wide_glyph_leaves_a_blank_of_its_own_background() {
    let mut pair = Pair::new(Size::new(6, 1));
    let mut frame = Buffer::empty(Rect::new(0, 0, 6, 1));
    frame.set_string(1, 0, "数", Style::new());
    pair.draw(&frame);
    // The emulator gives the orphaned half the pen's background; ratatui knows of no change there.
    frame.set_string(1, 0, "x", Style::new().bg(Color::Red));
    frame[(2, 0)].reset();
    pair.draw(&frame);
    pair.compare(&frame);
}

#[test]
fn behind_a_glyph_of_doubtful_width_the_cursor_is_placed_anew() {
    let mut pair = Pair::new(Size::new(10, 1));
    let mut frame = Buffer::empty(Rect::new(0, 0, 10, 1));
    frame.set_string(0, 0, "数e\u{301}ab", Style::new());
    let bytes = String::from_utf8(pair.draw(&frame)).unwrap();
    assert!(bytes.contains("数e\u{301}\x1b[4Gab"), "{bytes:?}");
    pair.compare(&frame);
}

#[test]
fn after_the_last_column_no_move_is_relative_to_it() {
    // Terminals differ in where the cursor is then; the emulator alone would not show it.
    let mut pair = Pair::new(Size::new(10, 2));
    let mut frame = Buffer::empty(Rect::new(0, 0, 10, 2));
    frame.set_string(9, 0, "x", Style::new());
    frame.set_string(8, 1, "y", Style::new());
    let bytes = String::from_utf8(pair.draw(&frame)).unwrap();
    assert!(bytes.contains("x\n\x1b[9Gy"), "{bytes:?}");
    pair.compare(&frame);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let mut pair = Pair::new(Size::new(10, 1));
    let mut frame = Buffer::empty(Rect::new(0, 0, 10, 1));
    frame[(0, 0)].set_symbol("\u{1b}\u{7}");
    frame[(4, 0)].set_symbol("\u{9b}2J");
    frame[(9, 0)].set_symbol("数");
    let bytes = pair.draw(&frame);
    assert!(!bytes.contains(&7) && !String::from_utf8(bytes).unwrap().contains('\u{9b}'));
    assert_eq!(pair.emulator.screen().contents().trim_end(), "?   ?");
}

#[test]
fn a_failed_write_is_told_and_forgotten() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(5))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut lean = Lean::new(Closed, Size::new(4, 1));
    assert!(super::is_hangup(&lean.draw(|_| ()).unwrap_err()));
}

/// Eight device rows whose figures and bars move a little from frame to frame.
fn overview(seed: u32) -> Buffer {
    let area = Rect::new(0, 0, 120, 40);
    let mut frame = Buffer::empty(area);
    let (muted, ok) = (
        Style::new().fg(Color::Rgb(120, 124, 130)),
        Style::new().fg(Color::Rgb(80, 200, 120)),
    );
    frame.set_string(
        0,
        0,
        "nameplate  node-7  live  1.0 s  age 0.2 s  dropped 0",
        muted.add_modifier(Modifier::BOLD),
    );
    for row in 0..8_u32 {
        let y = 2 + u16::try_from(row).unwrap() * 2;
        let noise = (seed * 7919 + row * 104_729) % 97;
        let watts = 380 + noise % 24;
        let filled = usize::try_from(watts / 20).unwrap();
        frame.set_string(0, y, format!("{row} H100 SXM"), Style::new());
        frame.set_string(14, y, "█".repeat(filled), ok);
        frame.set_string(
            14 + u16::try_from(filled).unwrap(),
            y,
            "░".repeat(25 - filled),
            muted,
        );
        frame.set_string(41, y, format!("{watts} W / 700 W"), Style::new());
        frame.set_string(58, y, format!("{} °C", 60 + noise % 5), ok);
        frame.set_string(
            66,
            y,
            format!("{:>4}.{} GB/s", 10 + noise % 9, noise % 10),
            Style::new(),
        );
        frame.set_string(80, y, format!("{:>3} %", 90 + noise % 9), ok);
        frame.set_string(90, y, "compute  working", muted);
    }
    frame.set_string(
        0,
        20,
        format!(
            "12.80 USD/h   {}.{:02} USD so far",
            3 + seed / 100,
            seed % 100
        ),
        Style::new(),
    );
    frame
}

#[test]
fn fewer_bytes_than_the_stock_backend() {
    let area = Rect::new(0, 0, 120, 40);
    let mut pair = Pair::new(area.as_size());
    let mut bytes = Vec::new();
    let (mut ours, mut stock, mut before) = (0, 0, 0);
    let options = TerminalOptions {
        viewport: Viewport::Fixed(area),
    };
    let mut other = Terminal::with_options(CrosstermBackend::new(&mut bytes), options).unwrap();
    for seed in 0..61 {
        let frame = overview(seed);
        let written = pair.draw(&frame).len();
        pair.compare(&frame);
        other.draw(|f| f.buffer_mut().clone_from(&frame)).unwrap();
        if seed > 0 {
            ours += written;
        } else {
            before = written;
        }
    }
    drop(other);
    stock += bytes.len();
    println!(
        "first frame {before} bytes, then {} a frame; stock backend {} a frame with its first",
        ours / 60,
        stock / 61
    );
    assert!(ours / 60 < stock / 61 * 2 / 3 && ours + before < stock);
}
