//! The caches of build tools, which commands in the sandbox may write to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A cache in the home directory.
struct Cache {
    path: &'static str,
    /// The program that the directory is created for; `None` for files, for caches of libraries, and for
    /// directories whose existence changes where a program keeps its cache.
    program: Option<&'static str>,
}

const fn cache(path: &'static str, program: &'static str) -> Cache {
    Cache { path, program: Some(program) }
}

const fn existing(path: &'static str) -> Cache {
    Cache { path, program: None }
}

/// They contain downloads and build results, and no programs that are on `PATH`. Cargo locks its own files
/// before it uses them. Their parent directories aren't listed, because shells, editors and browsers run
/// programs from their own caches.
const CACHES: &[Cache] = &[
    cache(".cache/Cypress", "cypress"),
    cache(".cache/R/renv", "R"),
    cache(".cache/bazel", "bazel"),
    cache(".cache/bazelisk", "bazelisk"),
    cache(".cache/black", "black"),
    cache(".cache/buf", "buf"),
    cache(".cache/ccache", "ccache"),
    cache(".cache/composer", "composer"),
    cache(".cache/coursier", "sbt"),
    cache(".cache/deno", "deno"),
    cache(".cache/electron", "electron"),
    cache(".cache/electron-builder", "electron-builder"),
    cache(".cache/go-build", "go"),
    cache(".cache/golangci-lint", "golangci-lint"),
    cache(".cache/huggingface/datasets", "hf"),
    cache(".cache/huggingface/hub", "hf"),
    existing(".cache/matplotlib"),
    cache(".cache/ms-playwright", "playwright"),
    cache(".cache/nix", "nix"),
    cache(".cache/node-gyp", "npm"),
    cache(".cache/pdm", "pdm"),
    cache(".cache/pip", "python3"),
    cache(".cache/pip-tools", "pip-compile"),
    cache(".cache/pipenv", "pipenv"),
    cache(".cache/pnpm", "pnpm"),
    cache(".cache/pre-commit", "pre-commit"),
    cache(".cache/prisma", "prisma"),
    cache(".cache/psalm", "psalm"),
    cache(".cache/puppeteer", "puppeteer"),
    cache(".cache/pylint", "pylint"),
    cache(".cache/pypoetry", "poetry"),
    cache(".cache/rattler", "pixi"),
    cache(".cache/rebar3", "rebar3"),
    cache(".cache/rubocop_cache", "rubocop"),
    cache(".cache/sccache", "sccache"),
    cache(".cache/selenium", "selenium-manager"),
    cache(".cache/staticcheck", "staticcheck"),
    existing(".cache/torch"),
    cache(".cache/trivy", "trivy"),
    cache(".cache/typescript", "tsserver"),
    cache(".cache/uv", "uv"),
    cache(".cache/vcpkg", "vcpkg"),
    cache(".cache/yarn", "yarn"),
    cache(".cache/zig", "zig"),
    existing(".cargo/.global-cache"),
    existing(".cargo/.package-cache"),
    existing(".cargo/.package-cache-mutate"),
    cache(".cargo/git", "cargo"),
    cache(".cargo/registry", "cargo"),
    cache(".rustup/downloads", "rustup"),
    cache(".rustup/tmp", "rustup"),
    cache(".bun/install/cache", "bun"),
    existing(".ccache"),
    cache(".gradle/caches", "gradle"),
    cache(".ivy2/cache", "sbt"),
    cache(".local/share/pnpm/store", "pnpm"),
    cache(".m2/repository", "mvn"),
    cache(".npm", "npm"),
    cache(".nuget/packages", "dotnet"),
    cache(".yarn/berry/cache", "yarn"),
    cache("Library/Caches/CocoaPods", "pod"),
    cache("Library/Caches/Coursier", "sbt"),
    cache("Library/Caches/Cypress", "cypress"),
    cache("Library/Caches/Mozilla.sccache", "sccache"),
    cache("Library/Caches/Yarn", "yarn"),
    cache("Library/Caches/bazelisk", "bazelisk"),
    cache("Library/Caches/black", "black"),
    cache("Library/Caches/ccache", "ccache"),
    cache("Library/Caches/composer", "composer"),
    cache("Library/Caches/deno", "deno"),
    cache("Library/Caches/electron", "electron"),
    cache("Library/Caches/go-build", "go"),
    cache("Library/Caches/golangci-lint", "golangci-lint"),
    cache("Library/Caches/ms-playwright", "playwright"),
    cache("Library/Caches/node-gyp", "npm"),
    cache("Library/Caches/org.swift.swiftpm", "swift"),
    cache("Library/Caches/pdm", "pdm"),
    cache("Library/Caches/pip", "python3"),
    cache("Library/Caches/pip-tools", "pip-compile"),
    cache("Library/Caches/pipenv", "pipenv"),
    cache("Library/Caches/pnpm", "pnpm"),
    cache("Library/Caches/pylint", "pylint"),
    cache("Library/Caches/pypoetry", "poetry"),
    cache("Library/Caches/rattler", "pixi"),
    cache("Library/Caches/staticcheck", "staticcheck"),
    cache("Library/Caches/trivy", "trivy"),
    cache("Library/Caches/typescript", "tsserver"),
    cache("Library/Caches/vcpkg", "vcpkg"),
    cache("Library/pnpm/store", "pnpm"),
    cache("go/pkg", "go"),
];

/// The operating system, as far as the locations of caches depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CacheLayout {
    /// In `~/Library`, for programs that have a cache there.
    Library,
    /// Never in `~/Library`.
    Xdg,
}

impl CacheLayout {
    const CURRENT: Self = if cfg!(target_os = "macos") { Self::Library } else { Self::Xdg };

    fn has(self, cache: &Cache) -> bool {
        let is_library = |cache: &Cache| cache.path.starts_with("Library/");
        match self {
            Self::Xdg => !is_library(cache),
            Self::Library if cache.path.starts_with(".cache/") => {
                !CACHES.iter().any(|other| is_library(other) && other.program == cache.program)
            }
            Self::Library => true,
        }
    }
}

/// Returns the paths of all caches.
pub(super) fn paths(home: &Path) -> impl Iterator<Item = PathBuf> {
    CACHES.iter().map(|cache| home.join(cache.path))
}

/// Creates the missing caches of the programs on `PATH`, for the user only, because a command in the sandbox
/// can't create them. Errors are ignored; the program reports them.
pub fn create_caches(home: &Path, path: &OsStr) {
    for dir in missing(CacheLayout::CURRENT, home, path) {
        let _ = tiller_files::make_private_dir(&dir);
    }
}

fn missing(layout: CacheLayout, home: &Path, path: &OsStr) -> Vec<PathBuf> {
    let programs: Vec<PathBuf> = std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect();
    let is_installed = |program: &str| programs.iter().any(|dir| dir.join(program).is_file());
    let used = CACHES.iter().filter(|cache| layout.has(cache));
    used.map(|cache| (home.join(cache.path), cache.program))
        .filter(|(dir, program)| !dir.exists() && program.is_some_and(is_installed))
        .map(|(dir, _)| dir)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn caches_of_installed_programs_are_created() {
        let dir = tempfile::tempdir().unwrap();
        let (home, programs) = (dir.path().join("home"), dir.path().join("programs"));
        fs::create_dir_all(home.join(".npm")).unwrap();
        fs::create_dir(&programs).unwrap();
        for program in ["go", "npm", "uv", "ccache"] {
            fs::write(programs.join(program), "").unwrap();
        }
        let path = std::env::join_paths([Path::new("/no/such"), &programs]).unwrap();
        let in_home = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(|path| home.join(path)).collect() };
        let xdg = [".cache/ccache", ".cache/go-build", ".cache/node-gyp", ".cache/uv", "go/pkg"];
        assert_eq!(missing(CacheLayout::Xdg, &home, &path), in_home(&xdg));
        let library = [
            ".cache/uv",
            "Library/Caches/ccache",
            "Library/Caches/go-build",
            "Library/Caches/node-gyp",
            "go/pkg",
        ];
        assert_eq!(missing(CacheLayout::Library, &home, &path), in_home(&library));

        create_caches(&home, &path);
        assert_eq!(missing(CacheLayout::CURRENT, &home, &path), Vec::<PathBuf>::new());
        for created in ["go", "go/pkg", ".cache", ".cache/uv"] {
            let mode = home.join(created).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{created}");
        }
    }
}
