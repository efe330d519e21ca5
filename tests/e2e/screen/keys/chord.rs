//! The bytes that a terminal sends for a key, by the key's name: those without the keyboard protocol if there
//! are any, otherwise those with it.

/// Numbers of modifiers in sequences, as in xterm and the kitty protocol: one more than their sum is sent.
const MODIFIERS: [(&str, u8); 3] = [("shift+", 1), ("alt+", 2), ("ctrl+", 4)];

const SHIFT: u8 = 1;
const ALT: u8 = 2;
const CTRL: u8 = 4;

/// The bytes of a key such as `ctrl+shift+p`.
pub(super) fn bytes(key: &str) -> Vec<u8> {
    let (mut name, mut modifiers) = (key, 0);
    while let Some((prefix, bit)) =
        MODIFIERS.iter().find(|(prefix, _)| name.len() > prefix.len() && name.starts_with(prefix))
    {
        name = &name[prefix.len()..];
        modifiers |= bit;
    }
    let sequence = match name {
        "up" => arrow('A', modifiers),
        "down" => arrow('B', modifiers),
        "right" => arrow('C', modifiers),
        "left" => arrow('D', modifiers),
        "home" => arrow('H', modifiers),
        "end" => arrow('F', modifiers),
        "delete" => numbered(3, modifiers),
        "pgup" => numbered(5, modifiers),
        "pgdn" => numbered(6, modifiers),
        "enter" => plain('\r', 13, modifiers),
        "backspace" => plain('\x7f', 127, modifiers),
        "esc" => plain('\x1b', 27, modifiers),
        "tab" if modifiers == SHIFT => "\x1b[Z".to_owned(),
        "tab" => plain('\t', 9, modifiers),
        "space" => plain(' ', 32, modifiers),
        name => character(name.chars().next().unwrap(), modifiers),
    };
    sequence.into_bytes()
}

fn arrow(final_byte: char, modifiers: u8) -> String {
    if modifiers == 0 {
        format!("\x1b[{final_byte}")
    } else {
        format!("\x1b[1;{}{final_byte}", modifiers + 1)
    }
}

fn numbered(number: u8, modifiers: u8) -> String {
    if modifiers == 0 { format!("\x1b[{number}~") } else { format!("\x1b[{number};{}~", modifiers + 1) }
}

/// A key with its own character; with Alt an escape precedes it.
fn plain(character: char, code: u8, modifiers: u8) -> String {
    match modifiers {
        0 => character.to_string(),
        ALT => format!("\x1b{character}"),
        modifiers => format!("\x1b[{code};{}u", modifiers + 1),
    }
}

/// A letter or a symbol. With Control there are bytes for letters only; all others need the protocol, which
/// names the key and the symbol above it: here of a US keyboard.
fn character(c: char, modifiers: u8) -> String {
    match (c, modifiers) {
        (c, 0) => c.to_string(),
        (c, ALT) => format!("\x1b{c}"),
        ('7', CTRL) => "\x1f".to_owned(),
        ('_', CTRL) => "\x1b[45:95;6u".to_owned(),
        (c, CTRL) if c.is_ascii_lowercase() => char::from(c as u8 & 0x1f).to_string(),
        (c, modifiers) if modifiers & SHIFT != 0 && c.is_ascii_lowercase() => {
            format!("\x1b[{}:{};{}u", c as u32, c.to_ascii_uppercase() as u32, modifiers + 1)
        }
        (c, modifiers) => format!("\x1b[{};{}u", c as u32, modifiers + 1),
    }
}

#[test]
fn keys_have_the_bytes_that_terminals_send() {
    for (key, sent) in [
        ("up", "\x1b[A"),
        ("shift+up", "\x1b[1;2A"),
        ("alt+pgup", "\x1b[5;3~"),
        ("enter", "\r"),
        ("alt+enter", "\x1b\r"),
        ("ctrl+enter", "\x1b[13;5u"),
        ("shift+tab", "\x1b[Z"),
        ("ctrl+j", "\n"),
        ("ctrl+shift+p", "\x1b[112:80;6u"),
        ("ctrl+shift+-", "\x1b[45;6u"),
        ("ctrl+-", "\x1b[45;5u"),
        ("alt+<", "\x1b<"),
        ("D", "D"),
        ("?", "?"),
    ] {
        assert_eq!(String::from_utf8(bytes(key)).unwrap(), sent, "{key}");
    }
}
