//! Facts in the README that are listed in the code.

use tiller::provider::descriptor::PROVIDERS;

#[test]
fn readme_table_of_providers_has_a_row_for_each() {
    let readme = std::fs::read_to_string(crate::source_code::root().join("README.md")).unwrap();
    for provider in PROVIDERS {
        let cells = format!("| `{}` | `{}` |", provider.key_variable, provider.base_url_variable);
        let row = readme
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("| {}", provider.display_name)));
        assert!(row.is_some_and(|row| row.ends_with(&cells)), "{}: {row:?}", provider.name);
    }
}
