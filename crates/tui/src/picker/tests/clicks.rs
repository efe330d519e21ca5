//! Clicks and the wheel in a list.

use crossterm::event::MouseEventKind;

use super::*;

/// A list of `count` models, the first one selected.
fn list(count: usize) -> Bench<Picker> {
    let labels: Vec<String> = (1..=count).map(|n| format!("model {n:03}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut picker = Picker::waiting(list_source(ListKind::Models));
    picker.fill(items(&labels), 0);
    Bench::of(picker, Address::Screen).sized(80, 23)
}

impl Bench<Picker> {
    /// Returns the row that shows this text.
    fn row_of(&mut self, text: &str) -> u16 {
        let rows = self.drawn();
        let row = rows.lines().position(|line| line.contains(text));
        u16::try_from(row.unwrap_or_else(|| panic!("no {text} on\n{rows}"))).unwrap()
    }

    fn click_on(&mut self, text: &str) -> Vec<Effect> {
        let row = self.row_of(text);
        self.press_at(6, row).1
    }
}

fn accepted(model: &str) -> [Effect; 3] {
    let sets = Action::Edit(SessionEdit::SetModel(model.into()));
    [Effect::ClickAccepted, Effect::CloseTop, sets.into()]
}

#[test]
fn click_initial_selection_is_not_accepted() {
    let mut models = list(100);
    assert_eq!(models.click_on("▸ model 001"), [], "the list begins with it");
    assert_eq!(models.click_on("▸ model 001"), accepted("model 001"));
    let mut models = list(100);
    models.type_keys("042");
    assert_eq!(models.click_on("▸ model 042"), [], "it fits best");
    assert_eq!(models.click_on("▸ model 042"), accepted("model 042"));
    let mut models = list(100);
    models.key(KeyCode::Down);
    assert_eq!(models.click_on("▸ model 002"), accepted("model 002"), "a key went to it");
}

#[test]
fn click_keeps_rows_in_place() {
    let mut models = list(100);
    (0..50).for_each(|_| _ = models.key(KeyCode::Down));
    let before = models.row_of("model 056");
    models.click_on("model 056");
    assert_eq!(models.row_of("▸ model 056"), before);
    models.type_keys("model");
    models.key(KeyCode::Down);
    assert!(models.drawn().contains("▸ model 057"), "{}", models.drawn());
}

#[test]
fn click_outside_rows_does_nothing() {
    let mut models = list(3);
    for place in ["── models", "type to filter", "enter select"] {
        for _ in 0..2 {
            assert_eq!(models.click_on(place), [], "{place}");
        }
    }
    assert_eq!(models.press_at(6, 10).1, [], "below the last row");
    assert!(models.drawn().contains("▸ model 001"), "{}", models.drawn());
}

#[test]
fn wheel_moves_list_selection() {
    let mut models = list(100);
    models.drawn();
    models.wheel(MouseEventKind::ScrollDown);
    models.wheel(MouseEventKind::ScrollDown);
    models.wheel(MouseEventKind::ScrollUp);
    assert!(models.drawn().contains("▸ model 002"), "{}", models.drawn());
}
