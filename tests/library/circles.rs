//! No two files of a crate import each other, directly or through others.
//!
//! An import counts for the file that defines the name, not for one that only re-exports it, and a parent that only
//! declares a child imports nothing.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

use std::collections::{BTreeMap, BTreeSet};

use crate::source_code::{production_code, root};

/// A module as `crate::a::b`. Each is one file, because files have no inline modules but their tests.
type Module = String;

/// The code of a crate, by module.
type Code = BTreeMap<Module, String>;

/// Returns the code of each crate.
fn crates() -> BTreeMap<String, Code> {
    let mut crates: BTreeMap<String, Code> = BTreeMap::new();
    for (file, code) in production_code() {
        let file = file.strip_prefix(root()).unwrap().with_extension("");
        let (name, module) = file.to_str().unwrap().split_once("src/").unwrap();
        let module = format!("crate::{}", module.replace('/', "::"));
        let module = module.trim_end_matches("::lib").to_owned();
        crates.entry(name.to_owned()).or_default().insert(module, code);
    }
    crates
}

/// Expands the braces of a `use` tree.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap().trim();
        return vec![path.trim_end_matches("::self").to_owned()];
    };
    let (mut depth, mut start, mut paths) = (0, 0, Vec::new());
    for (at, c) in rest.char_indices() {
        match c {
            ',' | '}' if depth == 0 => {
                let part = rest[start..at].trim();
                paths.extend(
                    expand(&format!("{}{part}", prefix.trim())).into_iter().filter(|_| !part.is_empty()),
                );
                start = at + 1;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    paths
}

/// The paths that a file imports, those that it re-exports, and the paths in its other code.
#[derive(Default)]
struct Paths {
    imported: Vec<String>,
    exported: Vec<String>,
    others: BTreeSet<String>,
}

impl Paths {
    fn read(code: &str) -> Self {
        let (mut paths, mut rest) = (Self::default(), String::new());
        for item in code.split_inclusive(';') {
            let Some(at) = item.find("use ").filter(|at| item[..*at].ends_with(['\n', ' '])) else {
                rest.push_str(item);
                continue;
            };
            let tree = expand(item[at + 4..].trim_end_matches(';'));
            let is_public = item[..at].rsplit('\n').next().unwrap().contains("pub");
            let kind = if is_public { &mut paths.exported } else { &mut paths.imported };
            kind.extend(tree);
            rest.push_str(&item[..at]);
        }
        let is_in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let lines = rest.lines().filter(|line| !line.contains("mod "));
        let words = lines.flat_map(|line| line.split(|c| !is_in_path(c)));
        paths.others = words.map(|word| word.trim_matches(':').to_owned()).collect();
        paths
    }
}

/// Resolves a path in a module to the module that has the name, and the name; an empty name is the module itself.
fn resolve(
    path: &str,
    module: &str,
    modules: &Code,
    aliases: &BTreeMap<String, Module>,
) -> Option<(Module, String)> {
    let mut segments = path.split("::").peekable();
    let first = segments.next()?;
    let child = format!("{module}::{first}");
    let mut found = match first {
        "crate" => "crate".to_owned(),
        "self" => module.to_owned(),
        "super" => module.rsplit_once("::")?.0.to_owned(),
        _ if modules.contains_key(&child) => child,
        _ => aliases.get(first)?.clone(),
    };
    while let Some(segment) = segments.peek() {
        let next = format!("{found}::{segment}");
        match *segment {
            "super" => found = found.rsplit_once("::")?.0.to_owned(),
            _ if modules.contains_key(&next) => found = next,
            _ => break,
        }
        segments.next();
    }
    Some((found, segments.next().unwrap_or_default().to_owned()))
}

/// Returns the modules that each module imports.
fn imports(code: &Code) -> BTreeMap<Module, BTreeSet<Module>> {
    let paths: BTreeMap<&Module, Paths> =
        code.iter().map(|(module, code)| (module, Paths::read(code))).collect();
    let none = BTreeMap::new();
    let mut exports = BTreeMap::new();
    for (module, path) in
        paths.iter().flat_map(|(module, paths)| paths.exported.iter().map(move |path| (module, path)))
    {
        let name = path.rsplit("::").next().unwrap().to_owned();
        exports.extend(resolve(path, module, code, &none).map(|origin| (((*module).clone(), name), origin)));
    }
    let mut imports = BTreeMap::new();
    for (module, paths) in &paths {
        let uses = |path: &&String| paths.others.contains(path.rsplit("::").next().unwrap());
        let imported = paths.imported.iter().chain(paths.exported.iter().filter(uses));
        let modules = imported.clone().filter_map(|path| Some((path, resolve(path, module, code, &none)?)));
        let modules = modules.filter(|(_, (_, name))| name.is_empty());
        let aliases = modules
            .map(|(path, (target, _))| (path.rsplit("::").next().unwrap().to_owned(), target))
            .collect();
        let others = paths.others.iter().filter(|path| path.contains("::"));
        let names = imported.chain(others).filter_map(|path| resolve(path, module, code, &aliases));
        let origins = names.map(|mut name| {
            while let Some(origin) = exports.get(&name) {
                name.clone_from(origin);
            }
            name
        });
        let targets = origins.filter(|(target, name)| target != *module && !name.is_empty());
        imports.insert((*module).clone(), targets.map(|(target, _)| target).collect());
    }
    imports
}

/// Returns the circles: the sets of modules that reach each other.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<&Module>> {
    let reach = |start| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            open.extend(imports[module].iter().filter(|next| reached.insert(*next)));
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reach(module))).collect();
    let circle =
        |module| reached[module].iter().copied().filter(|other| reached[other].contains(module)).collect();
    imports.keys().map(circle).filter(|circle: &BTreeSet<&Module>| !circle.is_empty()).collect()
}

#[test]
fn circles_of_imports_do_not_exist() {
    let mut violations = Vec::new();
    for (name, code) in crates() {
        for circle in circles(&imports(&code)) {
            violations.push(format!("{name}: {circle:?}"));
        }
    }
    assert!(violations.is_empty(), "these files import each other:\n{}", violations.join("\n"));
}

#[test]
fn circles_follow_re_exports_to_the_definition() {
    let code = |modules: &[(&str, &str)]| {
        modules.iter().map(|(name, code)| ((*name).to_owned(), (*code).to_owned())).collect()
    };
    let through_facade: Code = code(&[
        ("crate", "mod a;\nmod b;\npub use a::A;\npub use b::B;"),
        ("crate::a", "\nuse crate::B;"),
        ("crate::b", "fn f() { super::b::c(); }"),
    ]);
    assert!(circles(&imports(&through_facade)).is_empty());
    let back: Code = code(&[
        ("crate", "mod a;\nmod b;\npub use b::{B, C};"),
        ("crate::a", "\nuse crate::{B,\n C};"),
        ("crate::b", "\nuse super::a;\nfn f() { a::g(); }"),
    ]);
    let expected = BTreeSet::from(["crate::a".to_owned(), "crate::b".to_owned()]);
    assert_eq!(circles(&imports(&back)), BTreeSet::from([expected.iter().collect()]));
}
