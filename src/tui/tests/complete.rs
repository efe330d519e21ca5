//! What is offered while one types.

use std::sync::Arc;

use crossterm::event::KeyCode;

use super::stage::{Stage, state};
use crate::agent::State;
use crate::message::Image;
use crate::provider::catalog::Sight;
use crate::tui::app::{Action, Input, List, Report, Say};
use crate::tui::attach::Picture;
use crate::tui::complete::{FileList, Ranking, Wanted, list};

impl Stage {
    fn told(&mut self, report: Report) -> Vec<Action> {
        self.actions.clear();
        self.input(Input::Report(report));
        std::mem::take(&mut self.actions)
    }

    /// Does what the performer would do about files.
    fn ranked(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::RankFiles(ranking) = action {
                self.told(Report::Ranked(ranking.done()));
            }
        }
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            let actions = self.key(KeyCode::Char(c));
            self.ranked(actions);
        }
    }
}

fn files() -> Arc<FileList> {
    Arc::new(FileList::from(&["src/main.rs", "src/my notes.md", "src/", "docs/map.md", "shot.png"][..]))
}

#[test]
fn a_file_is_offered_after_an_at_sign_and_put_in_by_enter() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Stage::new(width, height);
        stage.type_text("look at ");
        assert_eq!(stage.key(KeyCode::Char('@')), [Action::WalkFiles("/home/ada/code/conf".into())]);
        let actions = stage.told(Report::Files(files()));
        assert_eq!(actions, [Action::RankFiles(Ranking { files: files(), words: String::new() })]);
        stage.ranked(actions);
        stage.types("ma");
        insta::assert_snapshot!(format!("files_{width}x{height}"), stage.screen());
        assert_eq!(stage.key(KeyCode::Enter), []);
        assert_eq!(stage.app.editor.text(), "look at @src/main.rs ");
        stage.types("and @notes");
        stage.key(KeyCode::Tab);
        assert_eq!(stage.app.editor.text(), "look at @src/main.rs and @\"src/my notes.md\" ");
        let sent = Say::Steer("look at @src/main.rs and @\"src/my notes.md\" ".into());
        assert!(stage.key(KeyCode::Enter).contains(&Action::Say(sent)));
    }
}

#[test]
fn files_that_nobody_had_time_to_look_for_are_looked_for_at_the_next_key() {
    let mut stage = Stage::new(80, 24);
    let [walk] = &stage.key(KeyCode::Char('@'))[..] else { panic!("files are looked for") };
    assert_eq!(stage.key(KeyCode::Char('m')), [], "somebody is at it");
    stage.app.refused(walk.clone());
    assert_eq!(stage.key(KeyCode::Char('a')), [walk.clone()]);
}

#[test]
fn a_picture_that_is_chosen_is_attached_where_its_name_was_typed() {
    let mut stage = Stage::new(80, 24);
    stage.told(Report::Files(files()));
    stage.types("what is @sho");
    assert_eq!(stage.key(KeyCode::Tab), [Action::Attach("shot.png".into(), "@shot.png ".into())]);
    assert_eq!(stage.app.editor.text(), "what is ");
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    stage.told(Report::Attached(Picture { image: image.clone(), size: (3, 2) }));
    assert_eq!(stage.app.editor.text(), "what is [image #1: 3×2] ");
    let sent = Say::Steer("what is [image #1: 3×2] ".into());
    let sent = Action::Say(Say::WithPictures(Box::new(sent), vec![image]));
    assert!(stage.key(KeyCode::Enter).contains(&sent));
}

#[test]
fn a_message_with_a_picture_is_held_back_once_when_the_model_takes_none() {
    let mut stage = Stage::new(80, 24);
    let text_only = State { sight: Sight::Blind, ..state() };
    stage.told(Report::State(Box::new(text_only)));
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    stage.told(Report::Attached(Picture { image: image.clone(), size: (3, 2) }));
    assert!(stage.screen().contains("claude-sonnet-4-5 takes no images; ctrl+l chooses another model"));
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(
        stage
            .screen()
            .contains("claude-sonnet-4-5 takes no images, it would get a line of text; enter sends")
    );
    assert_eq!(stage.app.editor.text(), "[image #1: 3×2] ");
    stage.type_text("what is it?");
    assert_eq!(stage.key(KeyCode::Enter), [], "another message is another question");
    let said = Say::Steer("[image #1: 3×2] what is it?".into());
    let sent = Action::Say(Say::WithPictures(Box::new(said), vec![image]));
    assert!(stage.key(KeyCode::Enter).contains(&sent));
    stage.types("see @a.png ");
    assert_eq!(stage.key(KeyCode::Enter), [], "so is one that is only named");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Say(Say::Steer("see @a.png ".into()))));
}

#[test]
fn esc_puts_the_offers_away_and_what_is_typed_stays() {
    let mut stage = Stage::new(80, 24);
    stage.told(Report::Files(files()));
    stage.types("see @src");
    assert!(stage.screen().contains("src/main.rs"));
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("src/main.rs"));
    assert_eq!(stage.app.editor.text(), "see @src");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Say(Say::Steer("see @src".into()))));
}

#[test]
fn a_file_that_is_typed_in_full_is_sent_by_enter() {
    let mut stage = Stage::new(80, 24);
    stage.told(Report::Files(files()));
    stage.types("see @docs/map.md");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Say(Say::Steer("see @docs/map.md".into()))));
}

#[test]
fn files_that_were_ranked_for_other_words_are_not_offered() {
    let mut stage = Stage::new(80, 24);
    stage.told(Report::Files(files()));
    let early = stage.key(KeyCode::Char('@'));
    stage.key(KeyCode::Char('m'));
    stage.ranked(early);
    assert!(!stage.screen().contains("src/main.rs"), "{}", stage.screen());
}

#[test]
fn tab_completes_a_path_as_far_as_it_goes_and_offers_the_rest() {
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["main.rs", "map.rs"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let mut stage = Stage::new(80, 24);
    stage.app.place.cwd = folder.path().to_owned();
    stage.type_text("see ./m");
    let wanted = Wanted {
        before: "see ./m".into(),
        typed: "./m".into(),
        cwd: folder.path().into(),
        home: stage.app.place.home.clone(),
    };
    assert_eq!(stage.key(KeyCode::Tab), [Action::ListPaths(wanted.clone())]);
    stage.told(Report::Listed(list(wanted)));
    assert_eq!(stage.app.editor.text(), "see ./ma");
    assert!(stage.screen().contains("map.rs"), "{}", stage.screen());
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "see ./map.rs");
}

#[test]
fn what_follows_a_command_is_offered_too() {
    let mut stage = Stage::new(80, 24);
    stage.told(Report::ModelNames(vec!["anthropic/claude-haiku-4-5".into(), "openai/gpt-5".into()]));
    stage.types("/model hai");
    insta::assert_snapshot!("model_names_80x24", stage.screen());
    let actions = stage.key(KeyCode::Enter);
    assert!(actions.contains(&Action::SetModel("anthropic/claude-haiku-4-5".into())), "{actions:?}");
    stage.types("/model ");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Gather(List::Models)), "nothing was typed of a name");
}

#[test]
fn the_files_of_another_directory_are_looked_for_anew() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("@");
    stage.told(Report::Files(files()));
    stage.control('u');
    let elsewhere = State { cwd: "/srv".into(), ..state() };
    stage.told(Report::State(Box::new(elsewhere)));
    assert_eq!(stage.key(KeyCode::Char('@')), [Action::WalkFiles("/srv".into())]);
}
