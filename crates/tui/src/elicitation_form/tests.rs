use serde_json::json;
use tiller_core::elicitation::{ChoiceOption, FieldKind, Limits, TextFormat};

use super::*;
use crate::address::Address;
use crate::component::testing::Bench;

fn field(name: &str, required: bool, kind: FieldKind) -> FormField {
    FormField { name: name.into(), title: None, description: None, required, kind, default: None }
}

fn options(values: &[&str]) -> Vec<ChoiceOption> {
    values
        .iter()
        .map(|value| ChoiceOption { value: (*value).into(), title: format!("The {value}") })
        .collect()
}

fn all_kinds() -> ElicitationKind {
    let name = FieldKind::Text { format: None, length: Limits { minimum: Some(2), maximum: None } };
    let mail = FieldKind::Text { format: Some(TextFormat::Email), length: Limits::default() };
    let tags = FieldKind::Choices {
        options: options(&["a", "b"]),
        count: Limits { minimum: Some(1), maximum: None },
    };
    ElicitationKind::Form {
        fields: vec![
            FormField { description: Some("As on the card.".into()), ..field("name", true, name) },
            field("mail", false, mail),
            field("color", true, FieldKind::Choice { options: options(&["red", "blue"]) }),
            field("tags", true, tags),
            FormField { default: Some(json!(true)), ..field("news", true, FieldKind::Boolean) },
        ],
    }
}

type Harness = Bench<ElicitationForm>;

impl Harness {
    fn new(kind: ElicitationKind) -> Self {
        let request = ElicitationRequest {
            elicitation_id: "e1".into(),
            server: Some("shop".into()),
            agent: None,
            message: "Your \u{1b}[31mdetails,\nplease.".into(),
            kind,
        };
        let mut harness = Self::of(ElicitationForm::new(request, UnixMs(0)), Address::Screen);
        harness.now = 1_000;
        harness
    }

    fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        let (outcome, effects) = self.key(code);
        assert_eq!(outcome, Outcome::Consumed);
        effects
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            assert_eq!(self.press(KeyCode::Char(c)), []);
        }
    }

    fn shown(&self, width: u16, height: u16) -> String {
        let area = Rect { x: 0, y: 0, width, height };
        let mut buffer = Buffer::empty(area);
        self.component.render(area, &mut buffer, &self.view());
        let row = |y| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
        let rows: Vec<String> = (0..height).map(|y| row(y).trim_end().to_owned()).collect();
        rows.join("\n")
    }
}

fn answered(answer: ElicitationAnswer) -> Vec<Effect> {
    let id = || ElicitationId::from("e1");
    vec![
        Effect::ElicitationAnswered(id()),
        Effect::Perform(Address::Screen, Action::AnswerElicitation(id(), answer)),
    ]
}

fn accepted(values: Value) -> Vec<Effect> {
    let Value::Object(values) = values else { panic!("{values}") };
    answered(ElicitationAnswer::Accept(values))
}

#[test]
fn form_fields_are_entered_one_after_the_other() {
    let mut harness = Harness::new(all_kinds());
    harness.type_text("Ada");
    harness.press(KeyCode::Enter);
    harness.press(KeyCode::Enter);
    harness.press(KeyCode::Right);
    harness.press(KeyCode::Right);
    insta::assert_snapshot!(harness.shown(76, 20), @r"
    ── question from MCP server shop ──────────────────────────── esc cancels ──

      Your ␛[31mdetails,
      please.

      Don't enter passwords or keys: servers must not ask for them here.

        name *   Ada
        mail
      ▸ color *  The blue
          ( ) The red
          (•) The blue
          one option
        tags *   –
        news *   yes

        Send the answer
        Decline

      left right choose · enter next field · up down move
    ");
    harness.press(KeyCode::Enter);
    harness.press(KeyCode::Right);
    harness.type_text(" ");
    insta::assert_snapshot!(harness.shown(76, 20), @r"
    ── question from MCP server shop ──────────────────────────── esc cancels ──

      Your ␛[31mdetails,
      please.

      Don't enter passwords or keys: servers must not ask for them here.

        name *   Ada
        mail
        color *  The blue
      ▸ tags *   The b
          [ ] The a
        › [x] The b
          at least 1 option
        news *   yes

        Send the answer
        Decline

      left right move · space chooses · enter next field · up down move
    ");
    harness.press(KeyCode::Enter);
    harness.press(KeyCode::Right);
    harness.press(KeyCode::Enter);
    let values = json!({"name": "Ada", "color": "blue", "tags": ["b"], "news": false});
    assert_eq!(harness.press(KeyCode::Enter), accepted(values));
}

#[test]
fn form_invalid_value_is_explained_and_not_sent() {
    let mut harness = Harness::new(all_kinds());
    harness.type_text("A");
    assert_eq!(harness.press(KeyCode::Enter), []);
    assert!(harness.shown(76, 20).contains("✗ must be at least 2 characters"));
    harness.type_text("da");
    assert!(!harness.shown(76, 20).contains('✗'), "typing removes it");
    for _ in 0..5 {
        harness.press(KeyCode::Down);
    }
    assert_eq!(harness.press(KeyCode::Enter), []);
    let shown = harness.shown(76, 20);
    assert!(shown.contains("▸ color *") && shown.contains("✗ a choice is required"), "{shown}");
}

#[test]
fn form_esc_cancels_and_decline_declines() {
    let mut harness = Harness::new(all_kinds());
    assert_eq!(harness.press(KeyCode::Esc), answered(ElicitationAnswer::Cancel));
    for _ in 0..9 {
        harness.press(KeyCode::Down);
    }
    assert_eq!(harness.press(KeyCode::Enter), answered(ElicitationAnswer::Decline));
}

#[test]
fn form_small_screen_shows_the_selected_row() {
    let mut harness = Harness::new(all_kinds());
    for row in ["▸ name", "▸ mail", "▸ color", "▸ tags", "▸ news", "▸ Send", "▸ Decline"] {
        let shown = harness.shown(40, 8);
        assert!(shown.contains(row), "{shown}");
        harness.press(KeyCode::Tab);
    }
}

#[test]
fn form_cursor_is_behind_the_text() {
    let mut harness = Harness::new(all_kinds());
    harness.type_text("Ada");
    let area = Rect { x: 0, y: 0, width: 60, height: 20 };
    let Position { x, y } = harness.component.cursor(area, &harness.view()).unwrap();
    let shown = harness.shown(60, 20);
    let row = shown.lines().nth(usize::from(y)).unwrap();
    assert_eq!(row.chars().count(), usize::from(x), "{row}");
    assert!(row.ends_with("Ada"));
    harness.press(KeyCode::BackTab);
    harness.press(KeyCode::Tab);
    harness.press(KeyCode::Tab);
    assert_eq!(harness.component.cursor(area, &harness.view()), None, "a choice has none");
}

#[test]
fn form_labels_are_measured_in_columns() {
    let text = || FieldKind::Text { format: None, length: Limits::default() };
    let fields =
        vec![field("名前", false, text()), field("mail", false, text()), field("e\u{301}", false, text())];
    let mut harness = Harness::new(ElicitationKind::Form { fields });
    harness.type_text("Ada");
    harness.press(KeyCode::Enter);
    harness.type_text("Ada");
    harness.press(KeyCode::Enter);
    harness.type_text("Ada");
    let area = Rect { x: 0, y: 0, width: 60, height: 20 };
    let mut buffer = Buffer::empty(area);
    harness.component.render(area, &mut buffer, &harness.view());
    let columns = (0..20).filter_map(|y| (0..60).find(|x| buffer[(*x, y)].symbol() == "A"));
    assert_eq!(columns.collect::<Vec<_>>(), [10; 3]);
    assert_eq!(harness.component.cursor(area, &harness.view()).map(|cursor| cursor.x), Some(13));
}

#[test]
fn form_address_is_shown_in_full_and_opened_only_on_request() {
    let url = format!("https://example.org/{}", "a".repeat(80));
    let mut harness = Harness::new(ElicitationKind::Url { url: url.clone(), host: "example.org".into() });
    insta::assert_snapshot!(harness.shown(60, 14), @r"
    ── question from MCP server shop ──────────── esc cancels ──

      Your ␛[31mdetails,
      please.

      Address: https://example.org/aaaaaaaaaaaaaaaaaaaaaaaaaaaa
      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa

        Open example.org in the browser
      ▸ Decline



      y n choose · enter answers · up down move
    ");
    harness.press(KeyCode::Up);
    let effects = harness.press(KeyCode::Enter);
    assert_eq!(
        effects[1],
        Effect::Perform(Address::Screen, Action::Background(BackgroundJob::OpenPage(url)))
    );
    assert_eq!(effects[2..], accepted(json!({})));
    harness.press(KeyCode::Down);
    assert_eq!(harness.press(KeyCode::Enter), answered(ElicitationAnswer::Decline));
}

#[test]
fn form_host_stays_visible_beside_the_answers() {
    let url = format!("https://good.org.evil.org/{}", "a".repeat(1_900));
    let harness = Harness::new(ElicitationKind::Url { url, host: "good.org.evil.org".into() });
    let shown = harness.shown(80, 24);
    assert!(shown.contains("    Open good.org.evil.org in the browser\n  ▸ Decline"), "{shown}");
    let narrow = harness.shown(36, 24);
    assert!(narrow.contains("    Open …g.evil.org in the browser"), "{narrow}");
}

#[test]
fn form_without_fields_asks_for_consent() {
    let mut harness = Harness::new(ElicitationKind::Form { fields: Vec::new() });
    assert!(harness.shown(60, 10).contains("▸ Decline"));
    assert_eq!(harness.press(KeyCode::Enter), answered(ElicitationAnswer::Decline));
    harness.press(KeyCode::Up);
    assert_eq!(harness.press(KeyCode::Enter), accepted(json!({})));
    harness.press(KeyCode::Char('n'));
    assert_eq!(harness.press(KeyCode::Enter), answered(ElicitationAnswer::Decline));
    harness.press(KeyCode::Char('y'));
    assert_eq!(harness.press(KeyCode::Enter), accepted(json!({})));
}
