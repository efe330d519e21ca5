//! Escape sequences (ECMA-48): their end, and the meaning of the supported ones.

use super::style::{AnsiColor, Emphasis, SgrState};

/// Maximum number of SGR parameters that are parsed; the longest useful sequence has five for each of two
/// colors.
const MAX_PARAMETERS: usize = 32;

/// The meaning of an escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequence<'a> {
    /// SGR with these parameters.
    Style(&'a str),
    EraseToEnd,
    EraseLine,
    LineStart,
    /// An ignored sequence.
    Other,
    /// An incomplete sequence. The text is a shorter equivalent, sufficient to continue parsing.
    Incomplete(&'static str),
}

/// Parses the sequence at the beginning of `text`; returns it and its length in bytes. A sequence ends at the
/// end of the line at the latest.
pub(super) fn next_sequence(text: &str) -> (Sequence<'_>, usize) {
    let mut chars = text.chars();
    if chars.next() == Some('\u{9b}') {
        return parse_control(text, '\u{9b}'.len_utf8());
    }
    match chars.next() {
        Some('[') => parse_control(text, 2),
        Some(']' | 'P' | '_' | '^' | 'X') => parse_string(text),
        Some(' '..='/') => match text[1..].find(|c| !(' '..='/').contains(&c)) {
            None => (Sequence::Incomplete("\u{1b}("), text.len()),
            Some(at) => {
                let ends = text[at + 1..].starts_with(|c| ('0'..='~').contains(&c));
                (Sequence::Other, at + 1 + usize::from(ends))
            }
        },
        Some('0'..='~') => (Sequence::Other, 2),
        Some(_) => (Sequence::Other, 1),
        None => (Sequence::Incomplete("\u{1b}"), 1),
    }
}

/// Parses a control sequence: parameters and a final byte, which is its function.
fn parse_control(text: &str, from: usize) -> (Sequence<'_>, usize) {
    let is_inside = |c: char| (' '..='?').contains(&c);
    let Some(length) = text[from..].find(|c| !is_inside(c)) else {
        return (Sequence::Incomplete("\u{1b}[?"), text.len());
    };
    let end = from + length;
    let parameters = &text[from..end];
    let sequence = match text[end..].chars().next().filter(|c| ('@'..='~').contains(c)) {
        None => return (Sequence::Other, end),
        Some('m') => Sequence::Style(parameters),
        Some('K') if matches!(parameters, "" | "0") => Sequence::EraseToEnd,
        Some('K') if parameters == "2" => Sequence::EraseLine,
        Some('G') if matches!(parameters, "" | "0" | "1") => Sequence::LineStart,
        Some(_) => Sequence::Other,
    };
    (sequence, end + 1)
}

/// Parses a control string (such as a title or a link's URL), which ends with BEL, `ESC \` or the line.
fn parse_string(text: &str) -> (Sequence<'_>, usize) {
    let open = (Sequence::Incomplete("\u{1b}]"), text.len());
    let Some(end) = text[1..].find(['\u{7}', '\u{1b}', '\n']).map(|at| at + 1) else { return open };
    match text.as_bytes()[end..] {
        [7, ..] => (Sequence::Other, end + 1),
        [0x1b] => (Sequence::Incomplete("\u{1b}]\u{1b}"), text.len()),
        [0x1b, b'\\', ..] => (Sequence::Other, end + 2),
        _ => (Sequence::Other, end),
    }
}

/// Returns the style after an SGR sequence.
pub(super) fn apply_sgr(sgr: SgrState, parameters: &str) -> SgrState {
    let mut sgr = sgr;
    let mut rest = parameters.split(';').take(MAX_PARAMETERS);
    while let Some(parameter) = rest.next() {
        // `4:0` and `38:2::1:2:3` are single parameters with subparameters.
        let mut parts = parameter.split(':');
        let Some(number) = parse_number(parts.next()) else { return sgr };
        let has_subparameters = parameter.contains(':');
        match number {
            38 | 48 | 58 => {
                let color =
                    if has_subparameters { parse_subparameter_color(parts) } else { parse_color(&mut rest) };
                match number {
                    38 => sgr.fg = color,
                    48 => sgr.bg = color,
                    _ => {}
                }
            }
            4 if parts.next() == Some("0") => sgr.emphasis = sgr.emphasis.without(Emphasis::UNDERLINE),
            number => sgr = apply_parameter(sgr, number),
        }
    }
    sgr
}

fn parse_number(parameter: Option<&str>) -> Option<u8> {
    match parameter? {
        "" => Some(0),
        digits => digits.parse().ok(),
    }
}

fn apply_parameter(mut sgr: SgrState, number: u8) -> SgrState {
    let on = |emphasis: Emphasis| SgrState { emphasis: sgr.emphasis.and(emphasis), ..sgr };
    let without = |emphasis: Emphasis| SgrState { emphasis: sgr.emphasis.without(emphasis), ..sgr };
    match number {
        0 => return SgrState::default(),
        1 => return on(Emphasis::BOLD),
        2 => return on(Emphasis::DIM),
        3 => return on(Emphasis::ITALIC),
        4 | 21 => return on(Emphasis::UNDERLINE),
        7 => return on(Emphasis::REVERSED),
        9 => return on(Emphasis::STRIKE),
        22 => return without(Emphasis::BOLD.and(Emphasis::DIM)),
        23 => return without(Emphasis::ITALIC),
        24 => return without(Emphasis::UNDERLINE),
        27 => return without(Emphasis::REVERSED),
        29 => return without(Emphasis::STRIKE),
        30..=37 => sgr.fg = Some(AnsiColor::Basic(number - 30)),
        39 => sgr.fg = None,
        40..=47 => sgr.bg = Some(AnsiColor::Basic(number - 40)),
        49 => sgr.bg = None,
        90..=97 => sgr.fg = Some(AnsiColor::Basic(number - 90 + 8)),
        100..=107 => sgr.bg = Some(AnsiColor::Basic(number - 100 + 8)),
        _ => {}
    }
    sgr
}

/// Parses the color of `38;5;n` or `38;2;r;g;b`, starting with its second number.
fn parse_color<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Option<AnsiColor> {
    match parse_number(rest.next())? {
        5 => Some(indexed(parse_number(rest.next())?)),
        2 => Some(AnsiColor::Rgb(
            parse_number(rest.next())?,
            parse_number(rest.next())?,
            parse_number(rest.next())?,
        )),
        _ => None,
    }
}

/// Parses the color of `38:5:n` or `38:2::r:g:b`; the color space in between may be missing.
fn parse_subparameter_color<'a>(parts: impl Iterator<Item = &'a str>) -> Option<AnsiColor> {
    let parts: Vec<&str> = parts.take(6).collect();
    match *parts.as_slice() {
        ["5", index, ..] => Some(indexed(parse_number(Some(index))?)),
        ["2", r, g, b] | ["2", _, r, g, b, ..] => {
            Some(AnsiColor::Rgb(parse_number(Some(r))?, parse_number(Some(g))?, parse_number(Some(b))?))
        }
        _ => None,
    }
}

const fn indexed(index: u8) -> AnsiColor {
    if index < 16 { AnsiColor::Basic(index) } else { AnsiColor::Indexed(index) }
}
