//! Worktrees for agents.

use tiller_tools::tool::{Worktree, WorktreeChanges, find_leftover_worktrees, remove_leftover_worktree};

use super::*;

fn runner() -> Runner {
    Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"))
}

#[tokio::test]
async fn worktree_begins_with_the_files_as_they_are() {
    let repository = Repository::new();
    repository.write("a.txt", "changed\n");
    repository.write("new.txt", "new\n");
    let status = repository.git(&["status", "--porcelain"]);
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    assert_eq!(worktree.root(), repository.dir.path().join("work.tiller-x-1"));
    let read = |name: &str| fs::read_to_string(worktree.root().join(name)).unwrap();
    assert_eq!((read("a.txt").as_str(), read("new.txt").as_str()), ("changed\n", "new\n"));
    assert_eq!(repository.git(&["status", "--porcelain"]), status, "nothing is staged");

    assert_eq!(worktree.commit("nothing").await.unwrap(), WorktreeChanges::default());
    let root = worktree.root().to_owned();
    worktree.remove().await.unwrap();
    assert!(!root.exists());
    assert_eq!(repository.git(&["branch", "--list", "tiller/*"]), "", "a branch without changes is deleted");
}

#[tokio::test]
async fn worktree_changes_stay_on_a_branch_and_can_be_applied() {
    let repository = Repository::new();
    repository.write("new.txt", "new\n");
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    fs::write(worktree.root().join("a.txt"), "one\ntwo\n").unwrap();
    fs::write(worktree.root().join("b.bin"), [0, 0xFF, 0xE9, 10]).unwrap();
    fs::remove_file(worktree.root().join("new.txt")).unwrap();
    let changes = worktree.commit("work of an agent").await.unwrap();
    assert_eq!(changes.branch.as_deref(), Some("tiller/x-1"));
    assert_eq!(changes.to_string(), "3 files, +1 −1");
    worktree.remove().await.unwrap();
    assert_eq!(repository.git(&["show", "tiller/x-1:a.txt"]), "one\ntwo\n");

    changes.apply(&repository.path(""), &runner()).await.unwrap();
    assert_eq!(fs::read_to_string(repository.path("a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read(repository.path("b.bin")).unwrap(), [0, 0xFF, 0xE9, 10]);
    assert!(!repository.path("new.txt").exists());
    repository.write("a.txt", "other\n");
    let error = changes.apply(&repository.path(""), &runner()).await.unwrap_err().to_string();
    assert!(error.starts_with("git apply failed: "), "{error}");
    assert_eq!(fs::read_to_string(repository.path("a.txt")).unwrap(), "other\n");
}

#[tokio::test]
async fn worktree_of_a_subdir_has_its_root_there() {
    let repository = Repository::new();
    fs::create_dir(repository.path("sub")).unwrap();
    repository.write("sub/b.txt", "b\n");
    let worktree = Worktree::create(&repository.path("sub"), "x", &runner()).await.unwrap();
    assert!(worktree.root().join("b.txt").exists());
    worktree.remove().await.unwrap();
}

#[tokio::test]
async fn worktree_of_a_subdir_without_files_has_its_root_there() {
    let repository = Repository::new();
    fs::create_dir_all(repository.path("sub/empty")).unwrap();
    let worktree = Worktree::create(&repository.path("sub/empty"), "x", &runner()).await.unwrap();
    fs::write(worktree.root().join("b.txt"), "b\n").unwrap();
    assert_eq!(worktree.commit("change").await.unwrap().files, 1);
    worktree.remove().await.unwrap();
    assert_eq!(repository.git(&["show", "tiller/x-1:sub/empty/b.txt"]), "b\n");
}

#[tokio::test]
async fn worktree_changes_ignore_the_settings_for_diffs() {
    let settings = [("noprefix", "true"), ("mnemonicPrefix", "true"), ("context", "0"), ("submodule", "log")];
    for (setting, value) in settings {
        let repository = Repository::new();
        fs::create_dir(repository.path("src")).unwrap();
        repository.write("src/a.txt", "1\n2\n3\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "--message=second"]);
        repository.git(&["config", &format!("diff.{setting}"), value]);
        let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
        fs::write(worktree.root().join("src/a.txt"), "1\n2\nthree\n").unwrap();
        let changes = worktree.commit("change").await.unwrap();
        assert_eq!(changes.to_string(), "1 file, +1 −1");
        changes.apply(&repository.path(""), &runner()).await.unwrap();
        assert_eq!(fs::read_to_string(repository.path("src/a.txt")).unwrap(), "1\n2\nthree\n", "{setting}");
        worktree.remove().await.unwrap();
    }
}

#[tokio::test]
async fn worktree_starts_no_hook_of_the_repository() {
    let repository = Repository::new();
    let hook = "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/started\"\n";
    for name in ["post-checkout", "pre-commit", "post-commit"] {
        repository.write(&format!(".git/hooks/{name}"), hook);
        fs::set_permissions(
            repository.path(&format!(".git/hooks/{name}")),
            fs::Permissions::from_mode(0o755),
        )
        .unwrap();
    }
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    fs::write(worktree.root().join("a.txt"), "two\n").unwrap();
    worktree.commit("change").await.unwrap();
    assert!(!repository.path(".git/started").exists());
}

#[tokio::test]
async fn worktree_is_reopened_while_its_branch_exists() {
    let repository = Repository::new();
    let (cwd, runner) = (repository.path(""), runner());
    let worktree = Worktree::create(&cwd, "x", &runner).await.unwrap();
    let (branch, base) = (worktree.branch().to_owned(), worktree.base().to_owned());
    let reopen = || Worktree::reopen(&cwd, &branch, &base, &runner);
    let read = |worktree: &Worktree| fs::read_to_string(worktree.root().join("a.txt")).unwrap();
    fs::write(worktree.root().join("a.txt"), "half\n").unwrap();
    let error = reopen().await.unwrap_err().to_string();
    assert_eq!(error, "the worktree of the branch tiller/x-1 is in use");
    drop(worktree);

    let left_by_a_crash = reopen().await.unwrap();
    assert_eq!(read(&left_by_a_crash), "half\n");
    left_by_a_crash.commit("half").await.unwrap();
    left_by_a_crash.remove().await.unwrap();

    let made_again = reopen().await.unwrap();
    assert_eq!(read(&made_again), "half\n");
    fs::write(made_again.root().join("b.txt"), "whole\n").unwrap();
    let changes = made_again.commit("whole").await.unwrap();
    assert_eq!(changes.to_string(), "2 files, +2 −1", "the changes of both times");
    made_again.remove().await.unwrap();
    repository.git(&["branch", "-D", "tiller/x-1"]);
    assert_eq!(reopen().await.unwrap_err().to_string(), "the branch tiller/x-1 is gone");
}

#[tokio::test]
async fn worktree_of_a_dead_process_is_found_and_keeps_its_changes() {
    for left_its_branch in [false, true] {
        let repository = Repository::new();
        let (cwd, runner) = (repository.path(""), runner());
        let worktree = Worktree::create(&cwd, "x", &runner).await.unwrap();
        let second = Worktree::create(&cwd, "x", &runner).await.unwrap();
        assert_eq!(second.root(), repository.dir.path().join("work.tiller-x-2"));
        if left_its_branch {
            git(worktree.root(), &["checkout", "--quiet", "-b", "own"]);
        }
        fs::write(worktree.root().join("a.txt"), "half\n").unwrap();
        assert_eq!(find_leftover_worktrees(&cwd, &runner).await, [], "it is in use");
        let root = worktree.root().to_owned();
        drop(worktree);
        let leftovers = find_leftover_worktrees(&cwd, &runner).await;
        let branches: Vec<_> = leftovers.iter().map(|leftover| leftover.branch.as_str()).collect();
        assert_eq!(branches, ["tiller/x-1"]);
        remove_leftover_worktree(&leftovers[0], &cwd, &runner).await.unwrap();
        assert!(!root.exists());
        assert_eq!(repository.git(&["show", "tiller/x-1:a.txt"]), "half\n");
    }
}

#[tokio::test]
async fn worktree_needs_a_repository_with_a_commit() {
    let dir = TempDir::new().unwrap();
    let error = Worktree::create(dir.path(), "x", &runner()).await.unwrap_err().to_string();
    assert!(error.ends_with("is not in a Git repository"), "{error}");
    git(dir.path(), &["init", "--quiet"]);
    let error = Worktree::create(dir.path(), "x", &runner()).await.unwrap_err().to_string();
    assert_eq!(error, "the repository has no commits yet; make one first");
    assert_eq!(Worktree::check_repository(dir.path(), &runner()).await.unwrap_err().to_string(), error);
}

#[tokio::test]
async fn worktree_that_cannot_be_added_leaves_no_branch() {
    let repository = Repository::new();
    std::os::unix::fs::symlink("nowhere", repository.dir.path().join("work.tiller-x-1")).unwrap();
    let error = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap_err().to_string();
    assert!(error.starts_with("git worktree failed: "), "{error}");
    assert_eq!(repository.git(&["branch", "--list", "tiller/*"]), "");
}

#[tokio::test]
async fn worktree_changes_are_on_its_branch_if_the_agent_left_it() {
    let repository = Repository::new();
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    git(worktree.root(), &["checkout", "--quiet", "--detach"]);
    fs::write(worktree.root().join("a.txt"), "two\n").unwrap();
    assert_eq!(worktree.commit("change").await.unwrap().branch.as_deref(), Some("tiller/x-1"));
    worktree.remove().await.unwrap();
    assert_eq!(repository.git(&["show", "tiller/x-1:a.txt"]), "two\n");
}

#[tokio::test]
async fn worktree_with_a_false_repository_starts_no_program() {
    let repository = Repository::new();
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    let (root, marker) = (worktree.root().to_owned(), repository.dir.path().join("started"));
    // Like an agent in a sandbox.
    git(&root, &["init", "--quiet", "--bare", "evil"]);
    fs::remove_file(root.join(".git")).unwrap();
    fs::write(root.join(".git"), "gitdir: ./evil\n").unwrap();
    let program = format!("touch {}", marker.display());
    git(&root.join("evil"), &["config", "filter.x.clean", &program]);
    git(&root.join("evil"), &["config", "diff.x.command", &program]);
    // In a subdirectory of the repository, its own configuration can be changed too.
    repository.git(&["config", "filter.y.clean", &program]);
    fs::write(root.join(".gitattributes"), "a.txt filter=x diff=x\nb.txt filter=y\n").unwrap();
    fs::write(root.join("a.txt"), "two\n").unwrap();
    fs::write(root.join("b.txt"), "b\n").unwrap();
    let changes = worktree.commit("change").await.unwrap();
    assert!(!marker.exists());
    assert!(changes.files >= 2, "{changes}");
    worktree.remove().await.unwrap();
    assert_eq!(repository.git(&["show", "tiller/x-1:a.txt"]), "two\n");
}

#[tokio::test]
async fn worktree_name_is_made_of_letters_and_digits() {
    let repository = Repository::new();
    let worktree = Worktree::create(&repository.path(""), "db:../m", &runner()).await.unwrap();
    assert_eq!(worktree.root(), repository.dir.path().join("work.tiller-db----m-1"));
    worktree.remove().await.unwrap();
    let names = [("übersetzer", "tiller/bersetzer-1"), ("数", "tiller/agent-1")];
    for (stem, branch) in names {
        let worktree = Worktree::create(&repository.path(""), stem, &runner()).await.unwrap();
        assert_eq!(worktree.branch(), branch);
        let base = worktree.base().to_owned();
        drop(worktree);
        Worktree::reopen(&repository.path(""), branch, &base, &runner()).await.unwrap();
    }
}

/// Makes a repository with a commit.
fn make_repository(dir: &Path) {
    git(dir.parent().unwrap(), &["init", "--quiet", dir.file_name().unwrap().to_str().unwrap()]);
    fs::write(dir.join("only.txt"), "only here\n").unwrap();
    git(dir, &["add", "."]);
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"];
    git(dir, &[&identity[..], &["commit", "--quiet", "-m", "first"]].concat());
}

#[tokio::test]
async fn worktree_with_a_new_repository_in_it_is_kept() {
    for committed_by_the_agent in [false, true] {
        let repository = Repository::new();
        let (cwd, runner) = (repository.path(""), runner());
        let worktree = Worktree::create(&cwd, "x", &runner).await.unwrap();
        let own = worktree.root().join("own");
        make_repository(&own);
        let hidden = "[submodule \"own\"]\n\tpath = own\n\turl = ./own\n\tignore = all\n";
        fs::write(worktree.root().join(".gitmodules"), hidden).unwrap();
        if committed_by_the_agent {
            git(worktree.root(), &["add", "--all"]);
            git(worktree.root(), &["commit", "--quiet", "-m", "all"]);
        }
        let error = worktree.commit("change").await.unwrap_err().to_string();
        let expected = format!(
            "{} is a Git repository of its own, whose changes can't be committed to the branch",
            own.display()
        );
        assert_eq!(error, expected);
        drop(worktree);
        let leftovers = find_leftover_worktrees(&cwd, &runner).await;
        let error = remove_leftover_worktree(leftovers.last().unwrap(), &cwd, &runner).await.unwrap_err();
        assert_eq!(error.to_string(), expected, "the next agent keeps it too");
        assert!(own.join("only.txt").exists());
    }
}

#[tokio::test]
async fn worktree_of_a_repository_with_another_in_it_is_removed() {
    let repository = Repository::new();
    make_repository(&repository.path("own"));
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    fs::write(worktree.root().join("a.txt"), "two\n").unwrap();
    assert_eq!(worktree.commit("change").await.unwrap().files, 1);
    worktree.remove().await.unwrap();
}

#[tokio::test]
async fn worktree_with_changes_in_a_submodule_is_kept() {
    let repository = Repository::new();
    make_repository(&repository.dir.path().join("library"));
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", "../library", "sub"];
    let origin = repository.dir.path().join("library");
    let add = [&allow[..], &add[..3], &[origin.to_str().unwrap(), add[4]]].concat();
    repository.git(&add);
    repository.git(&["commit", "--quiet", "--message=second"]);
    let update = [&allow[..], &["submodule", "--quiet", "update", "--init"]].concat();
    for (is_initialized, is_changed) in [(true, false), (true, true), (false, true)] {
        let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
        let submodule = worktree.root().join("sub");
        if is_initialized {
            git(worktree.root(), &update);
        }
        if is_changed {
            fs::write(submodule.join("new.txt"), "new\n").unwrap();
        }
        let committed = worktree.commit("change").await;
        assert_eq!(committed.is_err(), is_changed, "{committed:?}");
        worktree.remove().await.unwrap();
    }
    let without_repository = |submodule: &Path| {
        std::os::unix::fs::symlink("nowhere", submodule.join(".git")).unwrap();
    };
    let with_a_commit = |submodule: &Path| {
        git(submodule.parent().unwrap(), &update);
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let commit = ["-c", "commit.gpgSign=false", "commit", "--quiet", "--allow-empty", "-m", "own"];
        git(submodule, &[&identity[..], &commit[..]].concat());
        git(submodule, &["branch", "own"]);
        git(submodule, &["checkout", "--quiet", "HEAD^"]);
    };
    let changes: [&dyn Fn(&Path); 2] = [&without_repository, &with_a_commit];
    for change in changes {
        let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
        let submodule = worktree.root().join("sub");
        change(&submodule);
        let error = worktree.commit("change").await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{} is a Git repository", submodule.display())), "{error}");
        worktree.remove().await.unwrap();
    }
}

#[tokio::test]
async fn worktree_commit_is_picked_onto_the_committed_changes() {
    let repository = Repository::new();
    repository.write("a.txt", "changed by the user\n");
    let worktree = Worktree::create(&repository.path(""), "x", &runner()).await.unwrap();
    fs::write(worktree.root().join("a.txt"), "changed by the agent\n").unwrap();
    worktree.commit("change").await.unwrap();
    worktree.remove().await.unwrap();
    // The advice of docs/agents.md.
    repository.git(&["commit", "--quiet", "--all", "-m", "own changes"]);
    repository.git(&["cherry-pick", "tiller/x-1"]);
    assert_eq!(fs::read_to_string(repository.path("a.txt")).unwrap(), "changed by the agent\n");
}
