//! A value of a scenario: a constant, or a shape over time, or an error code.

use toml::Value as Toml;

/// `NVML_ERROR_NOT_SUPPORTED`: the answer to everything that a scenario does not name.
pub(crate) const NOT_SUPPORTED: u32 = 3;

/// What a value is at one instant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Datum {
    Int(i128),
    Float(f64),
    Text(Vec<u8>),
}

/// The shape of a value over time.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Int(i128),
    Float(f64),
    Text(Vec<u8>),
    /// A return code instead of a value.
    Error(u32),
    Ramp {
        from: f64,
        to: f64,
        over: f64,
    },
    Square {
        low: f64,
        high: f64,
        period: f64,
        duty: f64,
        phase: f64,
    },
    Sine {
        middle: f64,
        amplitude: f64,
        period: f64,
        phase: f64,
    },
    /// `(from second, value)`, in order.
    Steps(Vec<(f64, Value)>),
    Counter {
        start: f64,
        /// `(from second, units per second)`, in order.
        rate: Vec<(f64, f64)>,
        /// Bits after which the counter wraps.
        wrap: Option<u32>,
    },
    /// One value per device of the template.
    Each(Vec<Value>),
    /// The device's index plus a base.
    Index(i128),
}

/// A shape with seeded noise on top.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    shape: Shape,
    noise: f64,
    seed: u64,
}

/// Where and when a value is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    /// Seconds since the start of the timeline.
    pub(crate) t: f64,
    /// Index of the device among all devices.
    pub(crate) index: usize,
    /// Index of the device within its `[[device]]` template.
    pub(crate) nth: usize,
}

impl Value {
    pub(crate) fn parse(toml: &Toml) -> Result<Self, String> {
        let plain = |shape| Self {
            shape,
            noise: 0.0,
            seed: 0,
        };
        Ok(match toml {
            Toml::Integer(i) => plain(Shape::Int(i128::from(*i))),
            Toml::Float(f) => plain(Shape::Float(*f)),
            Toml::Boolean(b) => plain(Shape::Int(i128::from(*b))),
            Toml::String(s) if s == "not_supported" => plain(Shape::Error(NOT_SUPPORTED)),
            Toml::String(s) => plain(Shape::Text(s.clone().into_bytes())),
            // Raw bytes, for strings that are not UTF-8.
            Toml::Array(bytes) => plain(Shape::Text(
                bytes
                    .iter()
                    .map(|b| b.as_integer().and_then(|b| u8::try_from(b).ok()))
                    .collect::<Option<_>>()
                    .ok_or("a plain array is a string in bytes")?,
            )),
            Toml::Table(table) => Self {
                shape: shape(table)?,
                noise: optional(table, "noise")?.unwrap_or(0.0),
                seed: optional(table, "seed")?.unwrap_or(1.0) as u64,
            },
            Toml::Datetime(_) => return Err("a date is no value".to_owned()),
        })
    }

    /// The value at an instant, or a return code.
    pub(crate) fn at(&self, at: At) -> Result<Datum, u32> {
        let smooth = match &self.shape {
            Shape::Int(i) if self.noise == 0.0 => return Ok(Datum::Int(*i)),
            Shape::Int(i) => *i as f64,
            Shape::Float(f) => *f,
            Shape::Text(text) => return Ok(Datum::Text(indexed(text, at.nth))),
            Shape::Error(code) => return Err(*code),
            Shape::Ramp { from, to, over } => {
                let share = (at.t / over).clamp(0.0, 1.0);
                from + (to - from) * share
            }
            Shape::Square {
                low,
                high,
                period,
                duty,
                phase,
            } => {
                if ((at.t + phase) / period).rem_euclid(1.0) < *duty {
                    *high
                } else {
                    *low
                }
            }
            Shape::Sine {
                middle,
                amplitude,
                period,
                phase,
            } => middle + amplitude * ((at.t + phase) / period * std::f64::consts::TAU).sin(),
            Shape::Steps(steps) => {
                let step = steps.iter().rev().find(|(from, _)| *from <= at.t);
                return match step.or(steps.first()) {
                    Some((_, value)) => value.at(at),
                    None => Err(NOT_SUPPORTED),
                };
            }
            Shape::Counter { start, rate, wrap } => {
                let count = (start + integral(rate, at.t)).floor() as i128;
                return Ok(Datum::Int(match wrap {
                    Some(bits) => count.rem_euclid(1 << bits),
                    None => count,
                }));
            }
            Shape::Each(values) => {
                return match values.get(at.nth % values.len().max(1)) {
                    Some(value) => value.at(at),
                    None => Err(NOT_SUPPORTED),
                };
            }
            Shape::Index(base) => return Ok(Datum::Int(base + at.index as i128)),
        };
        Ok(Datum::Float(
            smooth + self.noise * unit_noise(self.seed, at),
        ))
    }

    /// A number that does not depend on the device, at `t`.
    pub(crate) fn number(&self, at: At) -> Result<f64, u32> {
        match self.at(at)? {
            Datum::Int(i) => Ok(i as f64),
            Datum::Float(f) => Ok(f),
            Datum::Text(_) => Err(NOT_SUPPORTED),
        }
    }
}

fn shape(table: &toml::Table) -> Result<Shape, String> {
    const KINDS: &[(&str, &[&str])] = &[
        ("error", &[]),
        ("value", &[]),
        ("ramp", &["over"]),
        ("square", &["period", "duty", "phase"]),
        ("sine", &["period", "phase"]),
        ("steps", &[]),
        ("counter", &["rate", "wrap"]),
        ("each", &[]),
        ("index", &[]),
    ];
    let found: Vec<_> = KINDS
        .iter()
        .filter(|(kind, _)| table.contains_key(*kind))
        .collect();
    let [(kind, options)] = found[..] else {
        return Err(format!(
            "a value table names exactly one shape, found {:?}",
            table.keys().collect::<Vec<_>>()
        ));
    };
    for key in table.keys() {
        if key != kind && key != "noise" && key != "seed" && !options.contains(&key.as_str()) {
            return Err(format!("`{key}` does not belong to `{kind}`"));
        }
    }
    let body = &table[*kind];
    let period = || Ok::<_, String>(optional(table, "period")?.ok_or("`period` is missing")?);
    let phase = || Ok::<_, String>(optional(table, "phase")?.unwrap_or(0.0));
    Ok(match *kind {
        "error" => Shape::Error(number(body)? as u32),
        "value" => return Ok(Value::parse(body)?.shape),
        "index" => Shape::Index(number(body)? as i128),
        "ramp" => {
            let (from, to) = pair(body)?;
            let over = optional(table, "over")?.ok_or("`over` is missing")?;
            Shape::Ramp { from, to, over }
        }
        "square" => {
            let (low, high) = pair(body)?;
            Shape::Square {
                low,
                high,
                period: period()?,
                duty: optional(table, "duty")?.unwrap_or(0.5),
                phase: phase()?,
            }
        }
        "sine" => {
            let (middle, amplitude) = pair(body)?;
            Shape::Sine {
                middle,
                amplitude,
                period: period()?,
                phase: phase()?,
            }
        }
        "counter" => Shape::Counter {
            start: number(body)?,
            rate: match table.get("rate") {
                None => Vec::new(),
                Some(Toml::Array(steps)) => {
                    steps.iter().map(pair).collect::<Result<Vec<_>, _>>()?
                }
                Some(rate) => vec![(0.0, number(rate)?)],
            },
            wrap: optional(table, "wrap")?.map(|bits| bits as u32),
        },
        "steps" => Shape::Steps(
            list(body)?
                .iter()
                .map(|step| match list(step)? {
                    [from, value] => Ok((number(from)?, Value::parse(value)?)),
                    _ => Err("a step is [second, value]".to_owned()),
                })
                .collect::<Result<_, String>>()?,
        ),
        _ => Shape::Each(
            list(body)?
                .iter()
                .map(Value::parse)
                .collect::<Result<_, _>>()?,
        ),
    })
}

/// Units gathered from 0 to `t` at piecewise constant rates.
fn integral(rate: &[(f64, f64)], t: f64) -> f64 {
    rate.iter()
        .enumerate()
        .map(|(i, (from, per_second))| {
            let until = rate.get(i + 1).map_or(f64::INFINITY, |next| next.0);
            (t.min(until) - from).max(0.0) * per_second
        })
        .sum()
}

/// Noise in −1..1, the same for the same seed, device and tenth of a second.
fn unit_noise(seed: u64, at: At) -> f64 {
    let tenth = (at.t * 10.0).floor() as u64;
    let hash = mix(seed ^ mix(tenth ^ mix(at.index as u64 + 1)));
    (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// SplitMix64, the finaliser.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Replaces `{i}` by the device's place in its template.
fn indexed(text: &[u8], nth: usize) -> Vec<u8> {
    match std::str::from_utf8(text) {
        Ok(text) if text.contains("{i}") => text.replace("{i}", &nth.to_string()).into_bytes(),
        _ => text.to_vec(),
    }
}

pub(crate) fn number(toml: &Toml) -> Result<f64, String> {
    match toml {
        Toml::Integer(i) => Ok(*i as f64),
        Toml::Float(f) => Ok(*f),
        Toml::Boolean(b) => Ok(f64::from(u8::from(*b))),
        other => Err(format!("`{other}` is no number")),
    }
}

pub(crate) fn optional(table: &toml::Table, key: &str) -> Result<Option<f64>, String> {
    table.get(key).map(number).transpose()
}

pub(crate) fn list(toml: &Toml) -> Result<&[Toml], String> {
    toml.as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| format!("`{toml}` is no list"))
}

fn pair(toml: &Toml) -> Result<(f64, f64), String> {
    match list(toml)? {
        [a, b] => Ok((number(a)?, number(b)?)),
        _ => Err(format!("`{toml}` is no pair")),
    }
}
