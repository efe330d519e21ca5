//! Images of the text in the editor: their placeholders, and how they come back with rejected text.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::message::{Image, ModelRef};
use tiller_provider::catalog::ImageInput;

use crate::action::{Action, Submit, UserText};
use crate::attach::AttachedImage;
use crate::composer::testing::ComposerBench;
use crate::message::TaskResult;

fn image(data: &str) -> Image {
    Image { data: data.into(), mime_type: "image/png".into() }
}

impl ComposerBench {
    fn images(&self) -> Vec<Image> {
        self.bench.component.editor.images()
    }

    /// Rejects a message with an image.
    fn reject_with_image(&mut self) {
        let (text, images) = ("/skill:typo see [image #1: 3×2]".to_owned(), vec![image("first")]);
        let typed = UserText { text, images };
        self.work(|composer, cx| composer.reject_input(typed, "there is no skill typo", cx));
    }
}

fn picture() -> AttachedImage {
    AttachedImage { image: image("AA=="), size: (3, 2) }
}

#[test]
fn returned_messages_keep_all_images() {
    let mut harness = ComposerBench::new();
    let waiting = |id: &str| QueueItem {
        id: id.into(),
        kind: QueueKind::FollowUp,
        text: "like [image #1: 3×2]".into(),
        typed: None,
        images: [image(id)].into(),
        held: false,
    };
    let report = TaskResult::ReturnedMessages(vec![waiting("q1"), waiting("q2")]);
    assert!(report.returns_input(), "they are in no queue anymore");
    harness.report(report);
    assert_eq!(harness.text(), "like [image #1: 3×2]\n\nlike [image #2: 3×2]");
    assert_eq!(harness.images(), [image("q1"), image("q2")]);
}

#[test]
fn image_rejected_job_types_path() {
    let mut harness = ComposerBench::new();
    let actions = harness.paste("/tmp/shot.png");
    let [action @ Action::Attach(..)] = &actions[..] else { panic!("{actions:?}") };
    harness.reject(action.clone());
    assert_eq!(harness.text(), "/tmp/shot.png");
}

#[test]
fn image_placeholder_is_never_split() {
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Attached(picture()));
    assert_eq!(harness.text(), "[image #1: 3×2] ");
    harness.control('w');
    assert_eq!(harness.text(), "");
    harness.report(TaskResult::Attached(picture()));
    harness.control('a');
    harness.type_text("see ");
    harness.key(KeyCode::Left);
    harness.press(KeyCode::Char('d'), KeyModifiers::ALT);
    assert_eq!(harness.text(), "see ");
}

#[test]
fn queued_message_takes_no_image() {
    let mut harness = ComposerBench::new();
    harness.edit_queued("then run the suite");
    harness.report(TaskResult::Attached(picture()));
    assert_eq!(harness.text(), "then run the suite");
    assert!(harness.flash.contains("Images can't be attached here"), "{}", harness.flash);
}

#[test]
fn draft_has_no_image_placeholder() {
    let mut harness = ComposerBench::new();
    harness.type_text("look:");
    harness.report(TaskResult::Attached(picture()));
    harness.type_text("what is it");
    assert_eq!(harness.bench.component.unsent_text(), "look: what is it");
}

#[test]
fn image_for_text_only_model_is_held_once() {
    let mut harness = ComposerBench::new();
    harness.bench.model.info.image_input = ImageInput::Unsupported;
    harness.bench.model.info.model =
        Some(ModelRef { provider: "anthropic".into(), id: "claude-sonnet-4-5".into() });
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    harness.report(TaskResult::Attached(AttachedImage { image: image.clone(), size: (3, 2) }));
    assert_eq!(harness.flash, "claude-sonnet-4-5 doesn't accept images; ctrl+l chooses another model.");
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert_eq!(harness.flash, "claude-sonnet-4-5 doesn't accept images; enter sends a line of text instead.");
    assert_eq!(harness.text(), "[image #1: 3×2] ");
    harness.type_text("what is it?");
    assert_eq!(harness.key(KeyCode::Enter), [], "another message is another question");
    let message = Submit::Steer("[image #1: 3×2] what is it?".into());
    let sent = Action::Submit(Submit::WithImages(Box::new(message), vec![image]));
    assert!(harness.key(KeyCode::Enter).contains(&sent));
    harness.type_text("see @a.png ");
    assert_eq!(harness.key(KeyCode::Enter), [], "so is one that is only named");
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @a.png ".into()))));
}

#[test]
fn input_error_returns_images() {
    let mut harness = ComposerBench::new();
    harness.reject_with_image();
    assert_eq!(harness.images(), [image("first")]);
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Attached(AttachedImage { image: image("second"), size: (3, 2) }));
    harness.reject_with_image();
    assert_eq!(harness.text(), "/skill:typo see [image #2: 3×2]\n\n[image #1: 3×2] ");
    assert_eq!(harness.images(), [image("second"), image("first")]);
}

#[test]
fn input_error_while_editing_returns_images_to_draft() {
    let mut harness = ComposerBench::new();
    harness.edit_queued("the third of them");
    harness.reject_with_image();
    assert_eq!(harness.images(), []);
    harness.key(KeyCode::Esc);
    assert_eq!(harness.text(), "/skill:typo see [image #1: 3×2]");
    assert_eq!(harness.images(), [image("first")]);
}

#[test]
fn input_error_in_reason_recalls_images() {
    let mut harness = ComposerBench::new();
    harness.write_reason("use nextest");
    harness.reject_with_image();
    harness.key(KeyCode::Enter);
    harness.key(KeyCode::Up);
    // The newest image follows the reason.
    assert_eq!(harness.text(), "/skill:typo see [image #1: 3×2]");
    assert_eq!(harness.images(), [image("first")]);
}

#[test]
fn input_rejected_or_failed_returns_images() {
    let submit =
        Submit::WithImages(Box::new(Submit::Steer("see [image #1: 3×2]".into())), vec![image("first")]);
    let action = Action::Submit(submit);
    let text = action.typed();
    let mut harness = ComposerBench::new();
    harness.reject(action);
    assert_eq!(harness.images(), [image("first")]);
    let mut harness = ComposerBench::new();
    harness.work(|composer, _| composer.restore_input(&text.unwrap()));
    assert_eq!(harness.text(), "see [image #1: 3×2]");
    assert_eq!(harness.images(), [image("first")]);
}
