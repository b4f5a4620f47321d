//! What a measured program runs in: an environment of its own, and the fake library.

use portable_pty::CommandBuilder;
use std::path::Path;
use std::process::Command;

/// The library is an example, which `cargo bench` alone does not build. In the profile of this program, beside which
/// it is looked for.
pub(crate) fn build_fake() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let me = std::env::current_exe().unwrap();
    let folder = me
        .ancestors()
        .nth(2)
        .and_then(Path::file_name)
        .and_then(|n| n.to_str())
        .unwrap_or("release");
    let profile = if folder == "debug" { "dev" } else { folder };
    let built = Command::new(cargo)
        .args(["build", "--profile", profile, "--example", "nvidia_ml_fake"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(
        built.is_ok_and(|s| s.success()),
        "the fake library could not be built"
    );
}

/// A program in an environment of its own, so that nobody's settings are read.
pub(crate) fn command<S: AsRef<str>>(
    program: &str,
    arguments: &[S],
    home: &Path,
) -> CommandBuilder {
    let mut command = CommandBuilder::new(program);
    command.args(arguments.iter().map(AsRef::as_ref));
    let settings = [
        "NAMEPLATE_",
        "XDG_",
        "LC_",
        "CLICOLOR",
        "NO_COLOR",
        "FORCE_COLOR",
    ];
    for (name, _) in
        std::env::vars().filter(|(name, _)| settings.iter().any(|s| name.starts_with(s)))
    {
        command.env_remove(name);
    }
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    command.env("LANG", "C.UTF-8");
    command.cwd(home);
    command
}
