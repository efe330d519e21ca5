//! Display of paths: `~` for the home directory, long paths shortened.

use std::path::Path;

/// The path with `~` for the home directory.
pub fn at_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// Shortens the path to at most `most` characters by removing its start, at the start of a name if possible.
pub(super) fn shortened(path: &Path, home: Option<&Path>, most: usize) -> String {
    let text = at_home(path, home);
    let count = text.chars().count();
    if count <= most {
        return text;
    }
    let end: String = text.chars().skip(count - most.max(1) + 1).collect();
    format!("…{}", end.find('/').map_or(end.as_str(), |at| &end[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_path_keeps_its_end() {
        let home = Path::new("/home/ada");
        let shown = |path, most| shortened(Path::new(path), Some(home), most);
        assert_eq!(shown("/home/ada", 36), "~");
        assert_eq!(shown("/home/ada/code/x", 36), "~/code/x");
        assert_eq!(shown("/home/adam", 36), "/home/adam");
        let long = "/srv/builds/of/a/very/deep/tree/of/folders/project";
        assert_eq!(shown(long, 36), "…/very/deep/tree/of/folders/project");
        assert_eq!(shown("/srv/a_name_that_is_too_long.jsonl", 12), "…_long.jsonl");
    }
}
