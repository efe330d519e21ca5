//! Property test: with any tree of files and links, even if links are swapped in the meantime, no tool reads
//! or changes a file outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::{Just, any, prop, prop_oneof};
use proptest::sample::{Index, select};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::bench::{Bench, Outcome};
use super::swapper::{Swap, Swapper};

/// Default number of cases; `PROPTEST_CASES` overrides it.
const CASES: u32 = 12;

/// Number of runs of a case's calls.
const ROUNDS: usize = 10;

/// Names of files and directories. Most also exist in the directory `outside`, so that a link to it leads to
/// its files.
const NAMES: &[&str] = &["secret", "folder", "linked", "new", "a"];

const TOOLS: &[&str] = &["read_file", "write_file", "edit_file", "list_files", "find_files", "grep"];

/// Targets of links that lead out, relative to the parent of the working directory.
const OUT: &[&str] = &["outside", "outside/folder", "outside/secret", "outside/missing", ""];

/// A file, directory or link in the tree; the number selects the directory that contains it.
#[derive(Clone, Debug)]
enum Node {
    ParentDir(Index, &'static str),
    File(Index, &'static str),
    LinkInside(Index, &'static str, Index),
    LinkOut(Index, &'static str, &'static str),
    /// A link with this text.
    Link(Index, &'static str, &'static str),
}

fn any_node() -> impl Strategy<Value = Node> {
    let place = || (any::<Index>(), select(NAMES));
    prop_oneof![
        4 => place().prop_map(|(dir, name)| Node::ParentDir(dir, name)),
        4 => place().prop_map(|(dir, name)| Node::File(dir, name)),
        2 => (place(), any::<Index>()).prop_map(|((dir, name), to)| Node::LinkInside(dir, name, to)),
        1 => (place(), select(OUT)).prop_map(|((dir, name), to)| Node::LinkOut(dir, name, to)),
        1 => (place(), select(&[".", "..", "../..", "secret", "a/../folder", "/proc/self/cwd"][..]))
            .prop_map(|((dir, name), to)| Node::Link(dir, name, to)),
    ]
}

/// A tool call with a path in the tree and further names.
#[derive(Clone, Debug)]
struct Call {
    tool: &'static str,
    path: Index,
    rest: Vec<&'static str>,
}

fn any_call() -> impl Strategy<Value = Call> {
    let name = prop_oneof![4 => select(NAMES), 1 => Just("..")];
    (select(TOOLS), any::<Index>(), prop::collection::vec(name, 0..3)).prop_map(|(tool, path, rest)| Call {
        tool,
        path,
        rest,
    })
}

/// Creates the tree and returns its paths, the root first.
fn plant(root: &Path, top: &Path, nodes: &[Node]) -> Vec<PathBuf> {
    let (mut dirs, mut paths) = (vec![root.to_owned()], vec![root.to_owned()]);
    for node in nodes {
        let place = |dir: &Index, name: &str| dir.get(&dirs).join(name);
        // If a name is taken, the first entry keeps it.
        let (path, made) = match node {
            Node::ParentDir(dir, name) => {
                let path = place(dir, name);
                (path.clone(), fs::create_dir(path))
            }
            Node::File(dir, name) => {
                let path = place(dir, name);
                let made =
                    if path.symlink_metadata().is_ok() { continue } else { fs::write(&path, "mine\n") };
                (path, made)
            }
            Node::LinkInside(dir, name, to) => {
                let path = place(dir, name);
                (path.clone(), symlink(to.get(&paths), path))
            }
            Node::LinkOut(dir, name, to) => {
                let path = place(dir, name);
                (path.clone(), symlink(top.join(to), path))
            }
            Node::Link(dir, name, to) => {
                let path = place(dir, name);
                (path.clone(), symlink(to, path))
            }
        };
        if made.is_ok() {
            if matches!(node, Node::ParentDir(..)) {
                dirs.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths
}

/// Selects the paths to swap, none of which is inside another.
fn choose_swaps(paths: &[PathBuf], top: &Path, chosen: &[(Index, &'static str)]) -> Vec<Swap> {
    let mut swaps: Vec<Swap> = Vec::new();
    for (index, target) in chosen {
        let path = index.get(paths);
        let is_apart = |swap: &Swap| !path.starts_with(&swap.path) && !swap.path.starts_with(path);
        if *path != paths[0] && swaps.iter().all(is_apart) {
            swaps.push(Swap { path: path.clone(), target: top.join(target) });
        }
    }
    swaps
}

fn arguments(call: &Call, paths: &[PathBuf]) -> Value {
    let path = call.rest.iter().fold(call.path.get(paths).clone(), |path, name| path.join(name));
    match call.tool {
        "write_file" => json!({"path": path, "content": "changed\n"}),
        "edit_file" => json!({"path": path, "old_text": "e", "new_text": "E", "replace_all": true}),
        "find_files" => json!({"path": path, "pattern": "*"}),
        "grep" => json!({"path": path, "pattern": "SECRET"}),
        "list_files" => json!({"path": path, "depth": 9}),
        _ => json!({"path": path}),
    }
}

/// Runs the calls while the links are being swapped.
fn attack(
    runtime: &Runtime,
    nodes: &[Node],
    chosen: &[(Index, &'static str)],
    calls: &[Call],
) -> Result<(), TestCaseError> {
    let bench = Bench::new();
    let (root, aside) = (bench.top().join("work/forest"), bench.top().join("aside"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&aside).unwrap();
    let paths = plant(&root, &bench.top(), nodes);
    let swapper = Swapper::start(choose_swaps(&paths, &bench.top(), chosen), aside);
    for call in (0..ROUNDS).flat_map(|_| calls) {
        let outcome = runtime.block_on(bench.call(call.tool, arguments(call, &paths)));
        match outcome {
            Outcome::Refused(_) | Outcome::Succeeded(_) => {}
            Outcome::Hung => return Err(TestCaseError::fail(format!("{call:?} hangs"))),
            Outcome::Leaked(text) => return Err(TestCaseError::fail(format!("{call:?} leaks {text}"))),
        }
    }
    drop(swapper);
    if bench.is_untouched() { Ok(()) } else { Err(TestCaseError::fail("a file outside was changed")) }
}

#[test]
fn workspace_swapped_links_let_no_tool_out() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config =
        Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(0), ..Config::default() };
    let chosen = (any::<Index>(), select(OUT));
    let inputs = (
        prop::collection::vec(any_node(), 4..24),
        prop::collection::vec(chosen, 1..6),
        prop::collection::vec(any_call(), 8..24),
    );
    let runtime = Runtime::new().unwrap();
    let result = TestRunner::new(config)
        .run(&inputs, |(nodes, chosen, calls)| attack(&runtime, &nodes, &chosen, &calls));
    runtime.shutdown_background();
    result.unwrap();
}
