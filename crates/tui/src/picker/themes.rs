//! `/theme`: the list of themes, which previews the selected one.

use tiller_files::search_path::ResourceOrigin;
use tiller_render::theme::RegisteredTheme;
use tiller_render::{Line, Role, Span, diff};

use crate::component::ViewContext;
use crate::effect::Effect;
use crate::list_kind::ListKind;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::session_query::SessionExcerpt;
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::theme::ThemeState;
use crate::theme::check::AUTO;

/// Width of the sample diff in columns: the preview's width on a narrow screen.
const DIFF_WIDTH: usize = 44;

const DIFF: &str = "@@ -41,3 +41,3 @@\n fn newline(&mut self) {\n-    self.line += 1;\n+    self.line += self.breaks();\n }\n";

const CONVERSATION: &[&[(&str, Role)]] = &[
    &[("▌ ", Role::Accent), ("count the breaks, not the bytes", Role::User)],
    &[],
    &[("Perhaps the lexer skips one.", Role::Thinking)],
    &[
        ("It counts them in ", Role::Text),
        ("newline", Role::Code),
        (", see ", Role::Text),
        ("lexer.rs", Role::Link),
    ],
    &[("✓ ", Role::Success), ("read_file", Role::Text), ("  src/lexer.rs  212 lines", Role::Muted)],
    &[("✗ ", Role::Error), ("bash     ", Role::Text), ("  cargo test  exit code 101", Role::Error)],
    &[("? ", Role::Warning), ("edit_file", Role::Text), ("  needs approval", Role::Warning)],
    &[],
    &[("What changes", Role::Heading)],
];

const CODE: &[&[(&str, Role)]] = &[
    &[("/// Line breaks of one token.", Role::Comment)],
    &[
        ("fn ", Role::Keyword),
        ("breaks", Role::Function),
        ("(&", Role::Operator),
        ("self", Role::Keyword),
        (") -> ", Role::Operator),
        ("usize", Role::Type),
        (" {", Role::Operator),
    ],
    &[
        ("    self", Role::Keyword),
        (".rest.", Role::Text),
        ("starts_with", Role::Function),
        ("(", Role::Operator),
        ("\"\\r\\n\"", Role::String),
        (") as ", Role::Keyword),
        ("usize", Role::Type),
        (" + ", Role::Operator),
        ("1", Role::Constant),
    ],
    &[("}", Role::Operator)],
];

/// The themes; the selected one is previewed on the whole screen until the list closes.
#[derive(Debug)]
pub(super) struct ThemeList;

impl ListSource for ThemeList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "themes",
            kind: Some(ListKind::Themes),
            has_preview: true,
            accept_hint: "apply",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Theme(name) => ListResponse::close(Effect::ApplyTheme(name)),
            _ => ListResponse::none(),
        }
    }

    fn select(&self, choice: Option<&PickerChoice>, _excerpt: SessionExcerpt) -> Option<Effect> {
        let name = match choice {
            Some(PickerChoice::Theme(name)) => Some(name.clone()),
            _ => None,
        };
        Some(Effect::PreviewTheme(name))
    }
}

/// The picker's items and the index of the chosen theme.
pub(crate) fn theme_items(theme: &ThemeState) -> (Vec<PickerItem>, usize) {
    let mut items = vec![auto(theme)];
    items.extend(theme.library.known().map(|known| item(theme, known)));
    let worn = PickerChoice::Theme(theme.choice.theme.clone());
    let selected = items.iter().position(|item| item.choice == worn).unwrap_or(0);
    (items, selected)
}

/// Returns the items for completion, without the samples, which are slow to build.
pub(crate) fn theme_names(theme: &ThemeState) -> Vec<PickerItem> {
    let auto = PickerItem::new(AUTO, PickerChoice::Theme(AUTO.to_owned()))
        .with_note("follows the terminal's background");
    let named = |known: &RegisteredTheme| {
        let name = &known.theme.name;
        PickerItem::new(name, PickerChoice::Theme(name.clone())).with_note(note(theme, known))
    };
    [auto].into_iter().chain(theme.library.known().map(named)).collect()
}

fn auto(theme: &ThemeState) -> PickerItem {
    let description = "follows the terminal's background";
    PickerItem::new(AUTO, PickerChoice::Theme(AUTO.to_owned()))
        .with_note(format!("{}{} · {}", chosen_mark(theme, AUTO), theme.choice.dark, theme.choice.light))
        .with_detail(sample(description))
}

fn item(theme: &ThemeState, known: &RegisteredTheme) -> PickerItem {
    let name = &known.theme.name;
    let about = match &known.path {
        Some(path) => path.display().to_string(),
        None => "tiller's own".to_owned(),
    };
    PickerItem::new(name, PickerChoice::Theme(name.clone()))
        .with_note(note(theme, known))
        .with_detail(sample(&about))
}

/// Describes a theme: chosen or not, origin, background.
fn note(theme: &ThemeState, known: &RegisteredTheme) -> String {
    let origin = match known.origin {
        ResourceOrigin::BuiltIn => String::new(),
        origin => format!("{origin} · "),
    };
    format!("{}{origin}{}", chosen_mark(theme, &known.theme.name), known.theme.kind.name())
}

fn chosen_mark(theme: &ThemeState, name: &str) -> &'static str {
    if theme.choice.theme == name { "now · " } else { "" }
}

/// Returns the preview of a theme: samples in its roles. The code is highlighted by hand, because loading a
/// grammar would delay the response to the key.
fn sample(about: &str) -> Vec<Line> {
    let mut lines = vec![line(&[(about, Role::Muted)]), Line::default()];
    lines.extend(CONVERSATION.iter().map(|spans| line(spans)));
    lines.extend(diff(DIFF, "", DIFF_WIDTH));
    lines.push(Line::default());
    lines.extend(CODE.iter().map(|spans| line(spans)));
    lines
}

fn line(spans: &[(&str, Role)]) -> Line {
    spans.iter().map(|(text, role)| Span::new(*text, *role)).collect::<Vec<_>>().into()
}
