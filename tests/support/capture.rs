//! Turns what `nvidia-smi` printed (`-q -x`, `-q`, `--query-gpu=... --format=csv`) into a scenario of
//! the fake library, so that every model that somebody captured can drive the program.
//!
//! All three formats become the same tree of names in lower case; a table says where each value of a
//! scenario may stand in it. "N/A" names nothing, so the fake answers "not supported".
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::capture_values::{As, FIELDS, MIG, REASONS, VALUES};
use super::nvml::FakeNvml;

/// A name, its text, and what stands below it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Node {
    name: String,
    text: String,
    children: Vec<Node>,
}

impl Node {
    /// The first node below at a path whose first part may stand at any depth.
    fn find(&self, path: &str) -> Option<&Node> {
        let (head, rest) = match path.split_once('/') {
            Some((head, rest)) => (head, Some(rest)),
            None => (path, None),
        };
        let here = self.children.iter().filter(|child| child.name == head);
        let found = here.into_iter().find_map(|child| match rest {
            None => Some(child),
            Some(rest) => child.below(rest),
        });
        found.or_else(|| match rest {
            // A bare name stands at the top only: `name` is also a process's.
            None => None,
            Some(_) => self.children.iter().find_map(|child| child.find(path)),
        })
    }

    fn below(&self, path: &str) -> Option<&Node> {
        let (head, rest) = path
            .split_once('/')
            .map_or((path, None), |(h, r)| (h, Some(r)));
        let child = self.children.iter().find(|child| child.name == head)?;
        rest.map_or(Some(child), |rest| child.below(rest))
    }

    fn text(&self, paths: &[&str]) -> Option<&str> {
        paths
            .iter()
            .find_map(|path| self.find(path))
            .map(|node| node.text.as_str())
    }
}

/// One capture: what stands above the devices, and the devices.
pub(crate) struct Capture {
    pub(crate) head: Node,
    pub(crate) devices: Vec<Node>,
}

/// The folder of captures; None, and a line that says so, where there is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures/nvidia");
    if folder.is_dir() {
        return Some(folder);
    }
    #[allow(clippy::print_stderr, reason = "a test says that it did nothing")]
    {
        eprintln!("ignored: no folder of captures beside the project");
    }
    None
}

/// Reads a capture by its extension and content; None for files that are none.
pub(crate) fn read(path: &Path) -> Option<Capture> {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let capture = match path.extension().and_then(|e| e.to_str()) {
        Some("xml") => from_xml(&text),
        Some("csv") => from_csv(&text),
        Some("txt") if text.contains("\nGPU 0000") => from_text(&text),
        _ => return None,
    };
    (!capture.devices.is_empty()).then_some(capture)
}

/// A name as the table of values has it: `Tx Throughput` → `tx_throughput`.
fn name_of(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    let parts: Vec<&str> = name.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

pub(crate) fn from_xml(xml: &str) -> Capture {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let document = roxmltree::Document::parse_with_options(xml, options).unwrap();
    let head = xml_node(document.root_element());
    let devices = head.children.iter().filter(|node| node.name == "gpu");
    Capture {
        devices: devices.cloned().collect(),
        head,
    }
}

fn xml_node(node: roxmltree::Node) -> Node {
    Node {
        name: node.tag_name().name().to_ascii_lowercase(),
        text: node.text().unwrap_or_default().trim().to_owned(),
        children: node
            .children()
            .filter(roxmltree::Node::is_element)
            .map(xml_node)
            .collect(),
    }
}

pub(crate) fn from_csv(csv: &str) -> Capture {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(csv.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let node = |(header, text): (&str, &str)| Node {
        name: header.split(" [").next().unwrap().to_owned(),
        text: text.to_owned(),
        children: Vec::new(),
    };
    let devices: Vec<Node> = reader
        .records()
        .map(|record| Node {
            children: headers.iter().zip(&record.unwrap()).map(node).collect(),
            ..Node::default()
        })
        .collect();
    Capture {
        head: devices.first().cloned().unwrap_or_default(),
        devices,
    }
}

pub(crate) fn from_text(text: &str) -> Capture {
    let mut head = Node::default();
    // Indents and nodes from the root to the last line.
    let mut open: Vec<(isize, Node)> = vec![(-1, std::mem::take(&mut head))];
    for line in text.lines().map(|line| line.trim_end()) {
        let bare = line.trim_start();
        let indent = (line.len() - bare.len()) as isize;
        let is_device = indent == 0 && bare.starts_with("GPU 0000");
        let (name, value) = match bare.split_once(": ") {
            Some((name, value)) if !is_device => (name.trim_end(), value.trim()),
            _ => (bare, ""),
        };
        // What is not of the report: tables, prompts, rulers.
        if bare.is_empty() || bare.starts_with(['+', '|', '=', '#', '$', '[']) {
            continue;
        }
        close(&mut open, indent);
        let node = Node {
            name: if is_device {
                "gpu".to_owned()
            } else {
                name_of(name)
            },
            text: if is_device {
                bare.trim_start_matches("GPU ").to_owned()
            } else {
                value.to_owned()
            },
            children: Vec::new(),
        };
        open.push((indent, node));
    }
    close(&mut open, 0);
    let head = open.pop().unwrap().1;
    let devices = head.children.iter().filter(|node| node.name == "gpu");
    Capture {
        devices: devices.cloned().collect(),
        head,
    }
}

/// Ends the nodes that a line of this indent is not below.
fn close(open: &mut Vec<(isize, Node)>, indent: isize) {
    while open.len() > 1 && open.last().unwrap().0 >= indent {
        let (_, node) = open.pop().unwrap();
        open.last_mut().unwrap().1.children.push(node);
    }
}

impl Capture {
    /// The library that answers what was captured, without what its driver lacked.
    pub(crate) fn fake(&self) -> FakeNvml {
        let fake = FakeNvml::new(&self.scenario());
        let driver = self.head.text(&["driver_version", "kmd_version"]);
        // Version 2 of the memory call came with driver 510.
        match driver
            .map(version)
            .is_some_and(|version| version < (510, 0))
        {
            true => fake.without(&["nvmlDeviceGetMemoryInfo_v2"]),
            false => fake,
        }
    }

    /// The scenario that answers what was captured.
    pub(crate) fn scenario(&self) -> String {
        let mut table = Table::new();
        let driver = self.head.text(&["driver_version", "kmd_version"]);
        let new_ids = driver.is_some_and(renumbered);
        if let Some(driver) = driver.filter(|text| !is_absent(text)) {
            table.insert("driver_version".to_owned(), driver.into());
        }
        let cuda = self.head.text(&["cuda_version"]).and_then(|version| {
            let (major, minor) = version.split_once('.')?;
            Some(major.parse::<i64>().ok()? * 1000 + minor.parse::<i64>().ok()? * 10)
        });
        if let Some(cuda) = cuda {
            table.insert("cuda_version".to_owned(), cuda.into());
        }
        let devices: Vec<Value> = self
            .devices
            .iter()
            .map(|node| Value::Table(device(node, new_ids)))
            .collect();
        table.insert("device".to_owned(), devices.into());
        toml::to_string(&table).unwrap()
    }
}

/// Field ids 251 to 273 changed their meaning with 580.82.
fn renumbered(driver: &str) -> bool {
    version(driver) >= (580, 82)
}

fn version(driver: &str) -> (u32, u32) {
    let mut parts = driver
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn device(node: &Node, new_ids: bool) -> Table {
    let mut table = values(node, VALUES);
    // A redacted identity is the same for every device: let the fake make one.
    let serial = table.get("serial").and_then(Value::as_str);
    if serial.is_some_and(|serial| serial.trim_matches('0').is_empty()) {
        table.remove("serial");
    }
    if !table.contains_key("pci_bus_id") && !node.text.is_empty() {
        table.insert("pci_bus_id".to_owned(), node.text.clone().into());
    }
    let draws = [
        "gpu_power_readings/power_draw",
        "power_readings/power_draw",
        "power.draw",
        "gpu_power_readings/average_power_draw",
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/instantaneous_power_draw",
    ];
    let usage = draws
        .iter()
        .filter_map(|path| node.text(&[path]))
        .find_map(|text| value(text, As::Milliwatts));
    if let Some(usage) = usage {
        table.insert("power_usage".to_owned(), usage);
    }
    if let Some((major, minor)) = node
        .text(&["compute_cap"])
        .and_then(|cap| cap.split_once('.'))
    {
        for (key, text) in [("cuda_major", major), ("cuda_minor", minor)] {
            table.extend(value(text, As::Int).map(|value| (key.to_owned(), value)));
        }
    }
    for key in ["util_encoder", "util_decoder", "util_jpg", "util_ofa"] {
        if table.contains_key(key) {
            table.insert("util_sampling_period".to_owned(), 166_667.into());
        }
    }
    reasons(node, &mut table);
    sums(node, &mut table);
    table.insert("fields".to_owned(), fields(node, new_ids).into());
    table.insert("process".to_owned(), processes(node).into());
    let mig: Vec<Value> = mig(node).into_iter().map(Value::Table).collect();
    if !mig.is_empty() {
        table.insert("mig_max_count".to_owned(), 7.into());
        table.insert("mig".to_owned(), mig.into());
    }
    table
}

fn values(node: &Node, from: &[(&str, As, &[&str])]) -> Table {
    from.iter()
        .filter_map(|(key, kind, paths)| {
            let value = value(node.text(paths)?, *kind)?;
            Some(((*key).to_owned(), value))
        })
        .collect()
}

fn fields(node: &Node, new_ids: bool) -> Table {
    let fields = values(node, FIELDS);
    let renumbered = fields.into_iter().map(|(key, value)| {
        let is_counter = ["269", "270", "271"].contains(&key.as_str());
        match is_counter {
            false => (key, value),
            true => {
                let id = key.parse::<u32>().unwrap() - if new_ids { 0 } else { 18 };
                let typed = [("value", value), ("type", "u64".into())];
                let typed: Table = typed.map(|(k, v)| (k.to_owned(), v)).into_iter().collect();
                (id.to_string(), typed.into())
            }
        }
    });
    renumbered.collect()
}

/// The bits of the reasons that are listed by name.
fn reasons(node: &Node, table: &mut Table) {
    let lists = ["clocks_event_reasons", "clocks_throttle_reasons"];
    let Some(list) = lists.iter().find_map(|name| node.find(name)) else {
        return;
    };
    let nested = list.children.iter().flat_map(|child| &child.children);
    let mut bits = None;
    for child in list.children.iter().chain(nested) {
        let bare = child
            .name
            .trim_start_matches("clocks_event_reason_")
            .trim_start_matches("clocks_throttle_reason_")
            .trim_start_matches("gpu_");
        let bit = REASONS.iter().find(|(name, _)| *name == bare);
        let active = value(&child.text, As::Switch).and_then(|value| value.as_integer());
        if let (Some((_, bit)), Some(active)) = (bit, active) {
            *bits.get_or_insert(0) |= bit * active;
        }
    }
    if let Some(bits) = bits {
        table.insert("event_reasons".to_owned(), bits.into());
    }
}

/// Totals that the report splits: uncorrected SRAM by code, errors by place.
fn sums(node: &Node, table: &mut Table) {
    for counter in ["volatile", "aggregate"] {
        let part = |name: &str| {
            let text = node.text(&[&format!("ecc_errors/{counter}/{name}")])?;
            value(text, As::Int)?.as_integer()
        };
        let parity = part("sram_uncorrectable_parity");
        let secded = part("sram_uncorrectable_secded").or(part("sram_uncorrectable_sec_ded"));
        if let (Some(parity), Some(secded)) = (parity, secded) {
            let key = format!("ecc_uncorrected_{counter}_sram");
            table.insert(key, (parity + secded).into());
        }
        for kind in ["corrected", "uncorrected"] {
            let total = format!("ecc_{kind}_{counter}");
            let at = |place: &str| table.get(&format!("{total}_{place}"))?.as_integer();
            if let (false, Some(dram), Some(sram)) =
                (table.contains_key(&total), at("dram"), at("sram"))
            {
                table.insert(total, (dram + sram).into());
            }
        }
    }
}

fn processes(node: &Node) -> Vec<Value> {
    let Some(list) = node.find("processes") else {
        return Vec::new();
    };
    let mut instance = None;
    let mut found = Vec::new();
    for child in &list.children {
        let (pid, child) = match child.name.as_str() {
            "process_info" => (child.text(&["pid"]), child),
            // In text, the instance stands before the process.
            "gpu_instance_id" => {
                instance = value(&child.text, As::Int);
                continue;
            }
            "process_id" => (Some(child.text.as_str()), child),
            _ => continue,
        };
        let Some(pid) = pid.and_then(|pid| value(pid, As::Int)) else {
            continue;
        };
        let kind = match child.text(&["type"]) {
            Some("G") => "graphics",
            Some("M" | "M+C") => "mps",
            _ => "compute",
        };
        let mut process = Table::new();
        process.insert("pid".to_owned(), pid);
        process.insert("kind".to_owned(), kind.into());
        let optional = [
            (
                "name",
                child.text(&["process_name", "name"]).map(Value::from),
            ),
            (
                "memory",
                child
                    .text(&["used_memory", "used_gpu_memory"])
                    .and_then(|text| value(text, As::Bytes)),
            ),
            (
                "gi",
                child
                    .text(&["gpu_instance_id"])
                    .and_then(|id| value(id, As::Int))
                    .or(instance.take()),
            ),
        ];
        for (key, value) in optional {
            process.extend(value.map(|value| (key.to_owned(), value)));
        }
        found.push(process.into());
    }
    found
}

fn mig(node: &Node) -> Vec<Table> {
    let below = node
        .find("mig_devices")
        .map_or(&[][..], |list| &list.children);
    let all = node.children.iter().chain(below);
    all.filter(|child| child.name == "mig_device")
        .map(|child| {
            let mut table = values(child, MIG);
            // Names and slices of instances are not in the report.
            table.insert("process".to_owned(), Value::Array(Vec::new()));
            table
        })
        .collect()
}

fn is_absent(text: &str) -> bool {
    let bare = text.trim_matches(['[', ']']);
    matches!(
        bare,
        "" | "N/A" | "Not Supported" | "Not Found" | "None listed"
    )
}

/// The value of a cell: a number, a string, a return code, or nothing.
fn value(text: &str, kind: As) -> Option<Value> {
    let code = match text.trim_matches(['[', ']']) {
        bare if bare.contains("deprecated") => Some(26),
        "Unknown Error" => Some(999),
        "GPU is lost" => Some(15),
        "GPU requires reset" => Some(16),
        "Insufficient Permissions" => Some(4),
        _ => None,
    };
    if let Some(code) = code {
        let table: Table = [("error".to_owned(), Value::Integer(code))]
            .into_iter()
            .collect();
        return Some(table.into());
    }
    if is_absent(text) {
        return None;
    }
    Some(match kind {
        As::Text => text.into(),
        As::Int => (number(text)? as i64).into(),
        As::Milliwatts => ((number(text)? * 1000.0).round() as i64).into(),
        As::Bytes => ((number(text)? * 1048576.0) as i64).into(),
        As::Nanoseconds => ((number(text)? * 1000.0) as i64).into(),
        As::Hex => i64::from_str_radix(text.trim_start_matches("0x"), 16)
            .ok()?
            .into(),
        As::Switch => match text {
            "Enabled" | "Yes" | "Active" | "On" => 1.into(),
            "Disabled" | "No" | "Not Active" | "Off" => 0.into(),
            _ => return None,
        },
        As::Enum(names) => {
            let place = names
                .iter()
                .position(|name| name.eq_ignore_ascii_case(text))?;
            (place as i64).into()
        }
    })
}

/// The first number of a text.
fn number(text: &str) -> Option<f64> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let sign = if text[..from].ends_with('-') {
        -1.0
    } else {
        1.0
    };
    let rest = &text[from..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    Some(sign * rest[..end].parse::<f64>().ok()?)
}
