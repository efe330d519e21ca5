//! Renders an emulated screen as a self-contained SVG: no script, no font, no style sheet.
//!
//! Text is drawn in runs, each at its column and stretched to its width, so that it is aligned in any
//! monospaced font; box drawing characters and bars are drawn as shapes, so that they meet. Callers that need
//! reproducible pictures have to mask times on the screen.
#![allow(dead_code, reason = "each program that includes it uses a part")]

use std::fmt::Write;

use vt100::Color;

/// Size of a cell and of the font, in units of the SVG.
const CELL: (f64, f64) = (8.4, 19.0);
const FONT_SIZE: f64 = 14.0;
/// Distance from a cell's top to its baseline.
const BASELINE: f64 = 14.0;
/// Padding around the screen, and the height of the title bar.
const MARGIN: f64 = 16.0;
const TITLE_BAR: f64 = 34.0;

const FONTS: &str =
    "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

/// The default foreground and background colors of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultColors {
    background: SvgColor,
    foreground: SvgColor,
    frame: SvgColor,
}

impl DefaultColors {
    pub const DARK: Self = Self {
        background: SvgColor(0x16, 0x19, 0x1f),
        foreground: SvgColor(0xd8, 0xdc, 0xe4),
        frame: SvgColor(0x2b, 0x30, 0x3a),
    };

    /// Uses this background (red, green, blue) and a readable foreground.
    pub fn for_background((red, green, blue): (u8, u8, u8)) -> Self {
        let background = SvgColor(red, green, blue);
        if u16::from(red) + u16::from(green) + u16::from(blue) < 3 * 128 {
            return Self { background, ..Self::DARK };
        }
        Self { background, foreground: SvgColor(0x1f, 0x23, 0x28), frame: SvgColor(0xc9, 0xce, 0xd6) }
    }
}

/// The sixteen colors of the terminal.
const SIXTEEN: [SvgColor; 16] = [
    SvgColor(0x1d, 0x20, 0x27),
    SvgColor(0xe0, 0x6c, 0x75),
    SvgColor(0x98, 0xc3, 0x79),
    SvgColor(0xe5, 0xc0, 0x7b),
    SvgColor(0x61, 0xaf, 0xef),
    SvgColor(0xc6, 0x78, 0xdd),
    SvgColor(0x56, 0xb6, 0xc2),
    SvgColor(0xab, 0xb2, 0xbf),
    SvgColor(0x5c, 0x63, 0x70),
    SvgColor(0xf0, 0x7f, 0x88),
    SvgColor(0xae, 0xd9, 0x8f),
    SvgColor(0xf5, 0xd4, 0x93),
    SvgColor(0x7f, 0xc1, 0xf7),
    SvgColor(0xd7, 0x92, 0xea),
    SvgColor(0x70, 0xcc, 0xd7),
    SvgColor(0xff, 0xff, 0xff),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SvgColor(u8, u8, u8);

impl std::fmt::Display for SvgColor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(red, green, blue) = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// A screen, cell by cell.
pub struct ScreenCapture {
    rows: Vec<Vec<SvgCell>>,
    colors: DefaultColors,
    /// The cursor's column and row, unless it is hidden.
    cursor: Option<(u16, u16)>,
}

#[derive(Clone, Debug, PartialEq)]
struct SvgCell {
    /// Empty for a blank, and for the second half of a wide character.
    text: String,
    columns: usize,
    style: CellStyle,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct CellStyle {
    foreground: SvgColor,
    background: SvgColor,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

/// Adjacent cells of one style and one way of drawing.
#[derive(Debug, PartialEq)]
struct TextRun {
    column: usize,
    columns: usize,
    text: String,
    style: CellStyle,
}

impl ScreenCapture {
    /// Captures a screen.
    pub fn new(colors: DefaultColors, screen: &vt100::Screen) -> Self {
        let (rows, columns) = screen.size();
        let row = |at| {
            (0..columns.get())
                .filter_map(|column| screen.cell(at, column))
                .map(|cell| SvgCell::new(colors, cell))
                .collect()
        };
        let (y, x) = screen.cursor_position();
        let cursor = (!screen.hide_cursor()).then_some((x, y));
        Self { rows: (0..rows.get()).map(row).collect(), colors, cursor }
    }

    /// Rewrites rows. `mask` gets a character for each column, a blank for the second half of a wide one.
    pub fn mask(&mut self, mask: impl Fn(&mut [char])) {
        for row in &mut self.rows {
            let previous: Vec<char> =
                row.iter().map(|cell| cell.text.chars().next().unwrap_or(' ')).collect();
            let mut masked = previous.clone();
            mask(&mut masked);
            for ((cell, previous), masked) in row.iter_mut().zip(previous).zip(masked) {
                if previous != masked {
                    cell.text = masked.to_string();
                }
            }
        }
    }

    /// Renders the picture in a window frame.
    pub fn to_svg(&self, title: &str) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let (width, height) =
            (columns_width(columns) + 2.0 * MARGIN, rows_height(self.rows.len()) + TITLE_BAR + 1.5 * MARGIN);
        let mut svg = String::new();
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.1} {height:.1}\" font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\" \
             xml:space=\"preserve\">"
        );
        let _ = writeln!(svg, "<title>{}</title>", escaped(title));
        frame(&mut svg, title, (width, height), self.colors);
        for (at, row) in self.rows.iter().enumerate() {
            for run in runs(row) {
                draw(&mut svg, &run, TITLE_BAR + MARGIN / 2.0 + rows_height(at), self.colors.background);
            }
        }
        if let Some((x, y)) = self.cursor {
            let (x, y) = (MARGIN + columns_width(x.into()), TITLE_BAR + MARGIN / 2.0 + rows_height(y.into()));
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"2\" height=\"{:.1}\" fill=\"{foreground}\"/>",
                y + 1.0,
                CELL.1 - 2.0,
                foreground = self.colors.foreground
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn frame(svg: &mut String, title: &str, (width, height): (f64, f64), colors: DefaultColors) {
    let _ = writeln!(
        svg,
        "<rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"10\" fill=\"{}\" stroke=\"{}\"/>",
        width - 1.0,
        height - 1.0,
        colors.background,
        colors.frame
    );
    for (at, color) in ["#ec6a5e", "#f4bf4f", "#61c554"].into_iter().enumerate() {
        let x = 20.0 + 20.0 * f64::from(u8::try_from(at).unwrap_or(0));
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>");
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"22\" text-anchor=\"middle\" font-size=\"12\" fill=\"{}\">{}</text>",
        width / 2.0,
        SIXTEEN[8],
        escaped(title)
    );
}

/// Width of a number of columns.
fn columns_width(columns: usize) -> f64 {
    f64::from(u32::try_from(columns).unwrap_or(0)) * CELL.0
}

/// Height of a number of rows.
fn rows_height(rows: usize) -> f64 {
    f64::from(u32::try_from(rows).unwrap_or(0)) * CELL.1
}

impl SvgCell {
    fn new(colors: DefaultColors, cell: &vt100::Cell) -> Self {
        let (foreground, background) =
            (color(cell.fgcolor(), colors.foreground), color(cell.bgcolor(), colors.background));
        let (foreground, background) =
            if cell.inverse() { (background, foreground) } else { (foreground, background) };
        let style = CellStyle {
            foreground,
            background,
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
        };
        let columns = match (cell.is_wide(), cell.is_wide_continuation()) {
            (true, _) => 2,
            (false, true) => 0,
            (false, false) => 1,
        };
        Self { text: cell.contents().to_owned(), columns, style }
    }

    /// The class of a cell; a run has cells of one class.
    fn class(&self) -> CellClass {
        match self.text.chars().next() {
            None => CellClass::Plain,
            Some(c) if drawing(c).is_some() => CellClass::Drawn(c),
            Some(c) if c.is_ascii() || (c.is_alphabetic() && self.columns == 1) => CellClass::Plain,
            Some(_) => CellClass::Alone,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum CellClass {
    Plain,
    Drawn(char),
    Alone,
}

fn color(color: Color, default: SvgColor) -> SvgColor {
    match color {
        Color::Default => default,
        Color::Rgb(red, green, blue) => SvgColor(red, green, blue),
        Color::Idx(index @ 0..=15) => SIXTEEN[usize::from(index)],
        Color::Idx(index @ 16..=231) => {
            // Six steps each of red, green and blue, as in xterm.
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let index = index - 16;
            SvgColor(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            SvgColor(grey, grey, grey)
        }
    }
}

fn runs(row: &[SvgCell]) -> Vec<TextRun> {
    let mut runs: Vec<TextRun> = Vec::new();
    let mut last = None;
    for (column, cell) in row.iter().enumerate().filter(|(_, cell)| cell.columns > 0) {
        let text = if cell.text.is_empty() { " " } else { &cell.text };
        let class = cell.class();
        match runs.last_mut() {
            Some(run) if run.style == cell.style && last == Some(class) && class != CellClass::Alone => {
                run.text.push_str(text);
                run.columns += cell.columns;
            }
            _ => {
                runs.push(TextRun { column, columns: cell.columns, text: text.to_owned(), style: cell.style })
            }
        }
        last = Some(class);
    }
    runs
}

fn draw(svg: &mut String, run: &TextRun, top: f64, background: SvgColor) {
    let (left, width) = (MARGIN + columns_width(run.column), columns_width(run.columns));
    if run.style.background != background {
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
            CELL.1, run.style.background
        );
    }
    let first = run.text.chars().next().unwrap_or(' ');
    match drawing(first) {
        Some(drawing) => draw_lines(svg, run, drawing, (left, top)),
        None => pieces(run).iter().for_each(|run| draw_text(svg, run, top)),
    }
}

/// Splits a run at wide gaps: some browsers collapse several blanks into one despite the attributes.
fn pieces(run: &TextRun) -> Vec<TextRun> {
    let is_even = run.text.chars().count() == run.columns;
    if run.style.underline || !is_even {
        return vec![TextRun { text: run.text.clone(), ..*run }];
    }
    let mut column = run.column;
    let piece = |text: &str| {
        let columns = text.chars().count();
        let start_column = column;
        column += columns + 2;
        TextRun { column: start_column, columns, text: text.to_owned(), style: run.style }
    };
    run.text.split("  ").map(piece).collect()
}

/// Draws a run's text, without blanks at its ends unless they are underlined.
fn draw_text(svg: &mut String, run: &TextRun, top: f64) {
    let text = if run.style.underline { &run.text } else { run.text.trim() };
    if text.is_empty() {
        return;
    }
    let leading = if run.style.underline { 0 } else { run.text.len() - run.text.trim_start().len() };
    let trailing = run.text.len() - leading - text.len();
    let columns = run.columns - leading - trailing;
    let mut attributes = String::new();
    let mut add = |condition: bool, attribute: &str| {
        if condition {
            attributes.push_str(attribute)
        }
    };
    add(run.style.bold, " font-weight=\"bold\"");
    add(run.style.italic, " font-style=\"italic\"");
    add(run.style.underline, " text-decoration=\"underline\"");
    add(run.style.dim, " opacity=\"0.6\"");
    // One character has no gaps to stretch.
    if text.chars().count() > 1 {
        let _ = write!(attributes, " textLength=\"{:.1}\"", columns_width(columns));
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{}\"{attributes}>{}</text>",
        MARGIN + columns_width(run.column + leading),
        top + BASELINE,
        run.style.foreground,
        escaped(text)
    );
}

/// The arms of a box drawing character, or the width of a bar.
#[derive(Clone, Copy)]
enum Drawing {
    Arms { left: bool, right: bool, up: bool, down: bool },
    Bar(f64),
}

fn drawing(c: char) -> Option<Drawing> {
    let arms = |left, right, up, down| Some(Drawing::Arms { left, right, up, down });
    match c {
        '─' => arms(true, true, false, false),
        '│' => arms(false, false, true, true),
        '├' => arms(false, true, true, true),
        '┤' => arms(true, false, true, true),
        '└' => arms(false, true, true, false),
        '┘' => arms(true, false, true, false),
        '┌' => arms(false, true, false, true),
        '┐' => arms(true, false, false, true),
        '┬' => arms(true, true, false, true),
        '┴' => arms(true, true, true, false),
        '┼' => arms(true, true, true, true),
        '▌' => Some(Drawing::Bar(0.5)),
        '█' => Some(Drawing::Bar(1.0)),
        _ => None,
    }
}

fn draw_lines(svg: &mut String, run: &TextRun, drawing: Drawing, (left, top): (f64, f64)) {
    let (width, height) = CELL;
    let foreground = run.style.foreground;
    let mut path = String::new();
    for at in 0..run.columns {
        let x = left + columns_width(at);
        let (middle, centre) = (x + width / 2.0, top + height / 2.0);
        match drawing {
            Drawing::Bar(part) => {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{foreground}\"/>",
                    width * part
                );
            }
            // A rule is one line, not one for each column.
            Drawing::Arms { left: true, right: true, up: false, down: false } => {
                let _ = write!(path, "M{left:.1} {centre:.1}H{:.1}", left + columns_width(run.columns));
                break;
            }
            Drawing::Arms { left, right, up, down } => {
                let mut arm = |condition: bool, to: String| {
                    if condition {
                        let _ = write!(path, "M{middle:.1} {centre:.1}{to}");
                    }
                };
                arm(left, format!("H{x:.1}"));
                arm(right, format!("H{:.1}", x + width));
                arm(up, format!("V{top:.1}"));
                arm(down, format!("V{:.1}", top + height));
            }
        }
    }
    if !path.is_empty() {
        let dim = if run.style.dim { " opacity=\"0.6\"" } else { "" };
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" stroke=\"{foreground}\" stroke-width=\"1\" fill=\"none\"{dim}/>"
        );
    }
}

/// Escapes text for XML, and removes characters that XML can't represent.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    fn capture_line(columns: u16, text: &str) -> ScreenCapture {
        let columns = NonZeroU16::new(columns).unwrap();
        let mut emulator = vt100::Parser::new(NonZeroU16::MIN, columns, 0);
        emulator.process(text.as_bytes());
        ScreenCapture::new(DefaultColors::DARK, emulator.screen())
    }

    /// The runs of the only row: column, columns, text.
    fn runs_of(text: &str) -> Vec<(usize, usize, String)> {
        let capture = capture_line(12, text);
        runs(&capture.rows[0]).into_iter().map(|run| (run.column, run.columns, run.text)).collect()
    }

    #[test]
    fn svg_adjacent_cells_of_one_style_are_one_run() {
        assert_eq!(
            runs_of("ab \x1b[1mcd\x1b[0mef"),
            [(0, 3, "ab ".to_owned()), (3, 2, "cd".to_owned()), (5, 7, "ef     ".to_owned())]
        );
    }

    #[test]
    fn svg_wide_character_is_a_run_of_two_columns() {
        let runs = runs_of("a漢字b");
        assert_eq!(runs[0..3], [(0, 1, "a".into()), (1, 2, "漢".into()), (3, 2, "字".into())]);
        assert_eq!(runs[3].0, 5);
    }

    #[test]
    fn svg_fallback_font_character_is_a_run() {
        let runs = runs_of("✓ ok");
        assert_eq!((runs[0].0, runs[0].2.as_str(), runs[1].0), (0, "✓", 1));
    }

    #[test]
    fn svg_text_is_escaped_and_placed() {
        let svg = capture_line(12, "  a<b> & \"c\"").to_svg("x & y");
        assert!(svg.contains("x=\"32.8\""), "{svg}");
        assert!(svg.contains(">a&lt;b&gt; &amp; &quot;c&quot;</text>"), "{svg}");
        assert!(svg.contains("<title>x &amp; y</title>"), "{svg}");
        assert_eq!(escaped("a\u{1b}b"), "ab");
    }

    #[test]
    fn svg_colors_of_all_kinds_and_inverted() {
        let style = |text: &str| capture_line(4, text).rows[0][0].style;
        assert_eq!(style("\x1b[38;5;80mx").foreground, SvgColor(95, 215, 215));
        assert_eq!(style("\x1b[38;5;245mx").foreground, SvgColor(138, 138, 138));
        assert_eq!(style("\x1b[31mx").foreground, SIXTEEN[1]);
        let inverted = style("\x1b[38;2;1;2;3;48;2;4;5;6;7mx");
        assert_eq!((inverted.foreground, inverted.background), (SvgColor(4, 5, 6), SvgColor(1, 2, 3)));
    }

    #[test]
    fn svg_light_background_has_dark_text() {
        let colors = DefaultColors::for_background((0xff, 0xff, 0xff));
        let mut emulator = vt100::Parser::new(NonZeroU16::MIN, NonZeroU16::new(4).unwrap(), 0);
        emulator.process(b"a\x1b[48;2;1;2;3mb");
        let svg = ScreenCapture::new(colors, emulator.screen()).to_svg("");
        assert!(svg.contains("fill=\"#1f2328\">a"), "{svg}");
        assert!(svg.contains("fill=\"#ffffff\" stroke") && svg.contains("fill=\"#010203\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
    }

    #[test]
    fn svg_rule_is_one_line() {
        let svg = capture_line(12, "────────────").to_svg("");
        assert_eq!(svg.matches("<path").count(), 1, "{svg}");
        assert!(svg.contains("H116.8"), "{svg}");
    }

    #[test]
    fn svg_mask_changes_characters_only() {
        let mut capture = capture_line(5, "\x1b[1m12:34");
        capture.mask(|row| row.iter_mut().filter(|c| c.is_ascii_digit()).for_each(|c| *c = '0'));
        let runs = runs(&capture.rows[0]);
        assert_eq!((runs.len(), runs[0].text.as_str(), runs[0].style.bold), (1, "00:00", true));
    }
}
