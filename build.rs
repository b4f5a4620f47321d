//! Lays the functions of the program in the order of `assets/code_order.txt`: the kernel maps a program in portions of sixteen
//! pages and more, so that functions that run together are to lie together. Where the linker takes no order, the program is the
//! same in any other respect.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const ORDER: &str = "assets/code_order.txt";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    let optimized = variable("OPT_LEVEL")? != "0" && variable("PROFILE")? == "release";
    if !optimized || variable("CARGO_CFG_TARGET_OS")? != "linux" {
        return Ok(());
    }
    let folder = variable("OUT_DIR")?;
    let script = Path::new(&folder).join("code_order.ld");
    let order = std::fs::read_to_string(ORDER).map_err(|problem| format!("{ORDER}: {problem}"))?;
    std::fs::write(&script, linker_script(&order)?)?;
    let arguments = ["-Xlinker", "-T", "-Xlinker"].map(str::to_owned);
    let arguments = [arguments.as_slice(), &[script.display().to_string()]].concat();
    if linker_takes(&arguments, &folder) {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    } else {
        println!(
            "cargo::warning=this linker takes no order of functions: the program runs as ever, and needs some MB more of memory"
        );
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, Box<dyn Error>> {
    std::env::var(name).map_err(|problem| format!("{name}: {problem}").into())
}

/// A section of the program for all groups, in front of the rest of the code. Each pattern is a function's section.
fn linker_script(order: &str) -> Result<String, Box<dyn Error>> {
    let mut script = "SECTIONS {\n  .text.ordered : {\n".to_owned();
    let mut group = String::new();
    for (number, line) in (1..).zip(order.lines()) {
        if line.starts_with('[') {
            finish(&mut script, &mut group)?;
        } else if !line.is_empty() && !line.starts_with('#') {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_$.*".contains(c);
            if !line.chars().all(plain) {
                return Err(format!("{ORDER}:{number}: not a function's name: {line}").into());
            }
            // The compiler puts what it deems seldom into sections of another name.
            write!(group, " .text.{line} .text.unlikely.{line}")?;
        }
    }
    finish(&mut script, &mut group)?;
    script += "  }\n}\nINSERT BEFORE .text;\n";
    Ok(script)
}

/// Functions of one group stay in the order in which the compiler wrote them.
fn finish(script: &mut String, group: &mut String) -> std::fmt::Result {
    if !group.is_empty() {
        writeln!(script, "    *({group} )")?;
        group.clear();
    }
    Ok(())
}

/// Whether a small program can be linked this way, with the compiler, linker and flags that the build uses.
fn linker_takes(arguments: &[String], folder: &str) -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut compiler = Command::new(set("RUSTC").unwrap_or_else(|| "rustc".to_owned()));
    if let Some(flags) = set("CARGO_ENCODED_RUSTFLAGS") {
        compiler.args(flags.split('\x1f'));
    }
    if let Some(target) = set("TARGET") {
        compiler.args(["--target", &target]);
    }
    if let Some(linker) = set("RUSTC_LINKER") {
        compiler.args(["-C", &format!("linker={linker}")]);
    }
    for argument in arguments {
        compiler.args(["-C", &format!("link-arg={argument}")]);
    }
    let output = Path::new(folder).join("linker_takes_an_order");
    compiler.args(["--crate-name", "linked", "--crate-type", "bin", "-", "-o"]);
    compiler.arg(&output).stdin(Stdio::piped());
    let child = compiler.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.is_ok_and(|mut child| {
        let written = child
            .stdin
            .take()
            .map(|mut input| input.write_all(b"fn main() {}"));
        matches!(written, Some(Ok(()))) && child.wait().is_ok_and(|status| status.success())
    })
}
