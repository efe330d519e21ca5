//! Expansion of `${NAME}` and `${NAME:-default}`.

/// Looks up an environment variable.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Expands the variables in a string. `$` without a brace stays, and so does a `${` that isn't closed. A variable that
/// is empty counts as unset where there is a default, as in a shell.
///
/// # Errors
/// The name of a variable that is not set and has no default.
pub(super) fn expand(text: &str, variables: &Variables<'_>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inside, following)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match (variables(name), default) {
            (Some(value), Some(default)) if value.is_empty() => expanded.push_str(default),
            (Some(value), _) => expanded.push_str(&value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(name.to_owned()),
        }
        rest = following;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expand_takes_value_or_default() {
        let variables = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("plain $A", Ok("plain $A")),
            ("${A}-${A}", Ok("1-1")),
            ("${B:-two}", Ok("two")),
            ("${EMPTY:-full}${EMPTY}", Ok("full")),
            ("${B:-}", Ok("")),
            ("x${B}", Err("B")),
            ("${A", Ok("${A")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expand(text, &variables), expected, "{text}");
        }
    }
}
