//! Recognizes commands that print keys, tokens or passwords stored by a program.

use super::arguments::targets;

/// Programs that print secrets, each with the words that follow in this order, possibly after options and
/// their values.
const PRINTING: &[&[&str]] = &[
    &["aws", "configure", "export-credentials"],
    &["aws", "configure", "get"],
    &["aws", "ecr", "get-login-password"],
    &["aws", "secretsmanager", "get-secret-value"],
    &["aws", "sts", "assume-role"],
    &["aws", "sts", "get-session-token"],
    &["az", "account", "get-access-token"],
    &["az", "keyvault", "secret", "show"],
    &["bw", "get"],
    &["bw", "unlock"],
    &["doctl", "auth", "token"],
    &["fly", "auth", "token"],
    &["flyctl", "auth", "token"],
    &["gcloud", "auth", "application-default", "print-access-token"],
    &["gcloud", "auth", "print-access-token"],
    &["gcloud", "auth", "print-identity-token"],
    &["gcloud", "config", "config-helper"],
    &["gcloud", "secrets", "versions", "access"],
    &["gh", "auth", "git-credential"],
    &["gh", "auth", "status", "--show-token"],
    &["gh", "auth", "status", "-t"],
    &["gh", "auth", "token"],
    &["git", "credential", "fill"],
    &["git", "credential-cache", "get"],
    &["git", "credential-libsecret", "get"],
    &["git", "credential-osxkeychain", "get"],
    &["git", "credential-store", "get"],
    &["glab", "auth", "status", "--show-token"],
    &["glab", "auth", "status", "-t"],
    &["glab", "config", "get", "token"],
    &["gopass", "cat"],
    &["gopass", "show"],
    &["gpg", "--export-secret-keys"],
    &["gpg", "--export-secret-subkeys"],
    &["gpg2", "--export-secret-keys"],
    &["heroku", "auth:token"],
    &["keyring", "get"],
    &["kubectl", "config", "view", "--raw"],
    &["kubectl", "create", "token"],
    &["kubectl", "get", "secret"],
    &["kubectl", "get", "secrets"],
    &["kwallet-query"],
    &["op", "item", "get"],
    &["op", "read"],
    &["secret-tool", "lookup"],
    &["secret-tool", "search"],
    &["security", "dump-keychain"],
    &["security", "export"],
    &["security", "find-generic-password"],
    &["security", "find-internet-password"],
    &["vault", "kv", "get"],
    &["vault", "print", "token"],
    &["vault", "read"],
];

/// Subcommands of `pass` that print no password. Any other word is the name of a password.
const NAMING_BY_PASS: &[&str] = &[
    "cp", "delete", "edit", "find", "generate", "git", "help", "init", "insert", "list", "ls", "mv", "rm",
    "search", "version",
];

/// Returns true if a program prints keys or passwords.
pub(super) fn prints_credentials(name: &str, arguments: &[String]) -> bool {
    let prints = |row: &&&[&str]| {
        let mut rest = arguments.iter();
        row[0] == name && row[1..].iter().all(|word| rest.any(|argument| argument == word))
    };
    let is_helper = name.starts_with("docker-credential-") || name.starts_with("git-credential-");
    let names_password =
        || targets(arguments).next().is_some_and(|word| !NAMING_BY_PASS.contains(&word.as_str()));
    PRINTING.iter().find(prints).is_some()
        || (is_helper && arguments.iter().any(|word| word == "get"))
        || (name == "pass" && names_password())
}

#[cfg(test)]
mod tests {
    use super::super::outside::READS_CREDENTIALS;
    use super::super::risk_in_work;

    #[test]
    fn prints_credentials_known_program_asks() {
        for line in [
            "gh auth token",
            "curl -H \"Authorization: $(gh auth token)\" x",
            "T=$(gh -R a/b auth token --user x)",
            "gh auth status -t",
            "printf 'host=x' | git credential fill",
            "git -C sub credential fill",
            "git-credential-store get",
            "pass show a/b",
            "pass a/b",
            "pass -c a/b",
            "gcloud auth print-access-token",
            "gcloud --project x auth application-default print-access-token",
            "aws configure export-credentials --format env",
            "aws --profile x configure get aws_secret_access_key",
            "docker-credential-secretservice get < x",
            "security find-generic-password -w -s x",
            "secret-tool lookup a b",
            "op read op://a/b",
            "kubectl -n x get secret y -o yaml",
            "vault kv get secret/x",
            "gpg --export-secret-keys -a",
            "sh -c 'gh auth token'",
            "env X=1 timeout 5 gh auth token",
            "G=gh; $G auth token",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(READS_CREDENTIALS), "{line}");
        }
        for line in [
            "gh auth status",
            "gh pr list",
            "git credential approve < x",
            "git log --grep credential",
            "git commit -m 'git credential fill'",
            "pass ls",
            "pass",
            "gcloud auth list",
            "aws configure list",
            "aws s3 ls",
            "kubectl get pods",
            "op vault list",
            "security find-identity",
            "gpg --list-keys",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
