//! Paths as a person reads them: the home as `~`, and of a long one its end.

use std::path::Path;

/// A path with `~` for the home.
pub fn at_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// The same in so many columns at most: what is too long loses its beginning, up to the beginning of a name if it can be.
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
    fn a_path_is_shortened_from_its_beginning() {
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
