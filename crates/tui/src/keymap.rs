//! Which key does what: the table of everything that a key can do, with its name, its keys and where they count.
//!
//! What a key does may depend on more than the place: `ctrl+d` quits only from an empty editor. Whoever carries a command out decides
//! that; a key that means nothing at the moment goes on to whatever would have had it otherwise.

mod bindings;
mod chord;

use std::collections::HashMap;

use crossterm::event::KeyEvent;

pub(super) use chord::Chord;

use super::editor::EditCommand;

/// Where a key is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Context {
    /// The transcript and the editor.
    Main,
    /// The text that is being written; a key that means something in `Main` doesn't get here.
    Editor,
    /// A call that asks, the editor being empty.
    Approval,
    /// The messages that wait.
    Queue,
    /// Whatever lies over the transcript.
    Popup,
    /// A page to read, besides.
    Page,
    /// The tree, besides.
    Tree,
    /// A list of sessions, besides.
    Sessions,
    /// The list of models, besides.
    Models,
    /// The list of settings, besides.
    Settings,
    /// The list of what was allowed for the session, besides.
    Permissions,
    /// A block of the transcript that was chosen, the editor being empty.
    Block,
    /// The line in which is typed what is searched for.
    Search,
}

/// Something that a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KeyCommand {
    Send,
    SteerNow,
    FollowUp,
    Newline,
    Stop,
    Clear,
    Quit,
    EditQueue,
    PickModel,
    NextModel,
    PreviousModel,
    NextThinking,
    NextApproval,
    UnfoldOutput,
    UnfoldThinking,
    PageUp,
    PageDown,
    Top,
    Bottom,
    SearchHistory,
    EditElsewhere,
    PasteImage,
    Suspend,
    Help,
    /// Does something to the text.
    Edit(EditCommand),
    Allow,
    AllowSession,
    Deny,
    DenyWithWord,
    ShowWhole,
    QuestionUp,
    QuestionDown,
    NextAnswer,
    PreviousAnswer,
    TakeAnswer,
    NoAnswer,
    QueueUp,
    QueueDown,
    QueueEdit,
    QueueEarlier,
    QueueLater,
    QueueTurn,
    QueueRelease,
    QueueRemove,
    QueueUndo,
    QueueClear,
    QueueBack,
    Up,
    Down,
    PopupPageUp,
    PopupPageDown,
    First,
    Last,
    Accept,
    Back,
    Close,
    ClearFilter,
    DeleteWord,
    Switch,
    LeavePage,
    FindInPage,
    Hide,
    ShowHidden,
    Rename,
    Trash,
    Untrash,
    Threads,
    ThinkToo,
    ResetSetting,
    Revoke,
    Fold,
    Unfold,
    FoldOthers,
    ForkPoint,
    PreviousBranch,
    NextBranch,
    Leaf,
    NextFilter,
    EditLabel,
    ForkHere,
    TogglePreview,
    PreviewUp,
    PreviewDown,
    Oldest,
    Newest,
    OlderPrompt,
    NewerPrompt,
    ChooseOlder,
    ChooseNewer,
    Search,
    BlockOlder,
    BlockNewer,
    BlockFold,
    BlockCopy,
    BlockBack,
    SearchOlder,
    SearchNewer,
    SearchStay,
    SearchClear,
    SearchBack,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct KeyBinding {
    pub(super) command: KeyCommand,
    /// Its name in `keybindings.json`.
    pub(super) name: &'static str,
    pub(super) context: Context,
    /// Its keys unless they are set otherwise, each as [`Chord::parse`] reads it.
    pub(super) keys: &'static [&'static str],
    pub(super) about: &'static str,
}

const fn row(
    command: KeyCommand,
    (context, name): (Context, &'static str),
    keys: &'static [&'static str],
    about: &'static str,
) -> KeyBinding {
    KeyBinding { command, name, context, keys, about }
}

use Context::{
    Approval, Block, Editor, Main, Models, Page, Permissions, Popup, Queue, Search, Sessions, Settings, Tree,
};
use KeyCommand as K;

/// Everything that a key can do, in the order it is likely to be wanted.
pub(super) const TABLE: &[KeyBinding] = &[
    row(
        K::Send,
        (Main, "send"),
        &["enter"],
        "send; while the agent works: steer it at the next gap between its calls",
    ),
    row(
        K::SteerNow,
        (Main, "steer_now"),
        &["ctrl+enter"],
        "stop what is in flight, keep what it said, go on with this (or enter again, empty, while a message steers)",
    ),
    row(K::FollowUp, (Main, "follow_up"), &["alt+enter", "ctrl+q"], "send when the agent has finished"),
    row(K::Newline, (Main, "newline"), &["shift+enter", "ctrl+j"], "a new line; so does \\ before enter"),
    row(
        K::Stop,
        (Main, "stop"),
        &["esc"],
        "stop the agent, what waited comes back into the editor; twice, when nothing runs: the tree",
    ),
    row(K::EditQueue, (Main, "edit_queue"), &["alt+up"], "edit, reorder or remove the messages that wait"),
    row(K::Clear, (Main, "clear"), &["ctrl+c"], "clear the editor; empty: stop the agent; twice: quit"),
    row(K::Quit, (Main, "quit"), &["ctrl+d"], "quit (nothing runs, editor empty)"),
    row(K::PickModel, (Main, "pick_model"), &["ctrl+l"], "choose a model"),
    row(K::NextModel, (Main, "next_model"), &["ctrl+p"], "next model"),
    row(K::PreviousModel, (Main, "previous_model"), &["ctrl+shift+p"], "previous model"),
    row(K::NextThinking, (Main, "next_thinking"), &["shift+tab"], "think more"),
    row(K::NextApproval, (Main, "next_approval"), &["alt+a"], "next approval mode: ask, auto, read-only"),
    row(K::UnfoldOutput, (Main, "unfold_output"), &["ctrl+o"], "unfold output and summaries"),
    row(K::UnfoldThinking, (Main, "unfold_thinking"), &["ctrl+t"], "unfold thinking"),
    row(K::PageUp, (Main, "page_up"), &["pgup"], "scroll up"),
    row(K::PageDown, (Main, "page_down"), &["pgdn"], "scroll down"),
    row(K::Top, (Main, "top"), &["home"], "the beginning (editor empty)"),
    row(
        K::Bottom,
        (Main, "bottom"),
        &["end"],
        "the end, and follow again (editor empty, or the cursor at its line's end)",
    ),
    row(K::Oldest, (Main, "oldest"), &["ctrl+home"], "the beginning, whatever is typed"),
    row(K::Newest, (Main, "newest"), &["ctrl+end"], "the end, whatever is typed"),
    row(K::OlderPrompt, (Main, "older_prompt"), &["alt+pgup", "alt+p"], "to the prompt before"),
    row(K::NewerPrompt, (Main, "newer_prompt"), &["alt+pgdn", "alt+n"], "to the prompt after"),
    row(
        K::ChooseOlder,
        (Main, "choose_older"),
        &["alt+k"],
        "choose a block of the transcript; again: the one above",
    ),
    row(K::ChooseNewer, (Main, "choose_newer"), &["alt+j"], "the same, downwards"),
    row(K::Search, (Main, "search"), &["ctrl+f"], "search in the transcript"),
    row(K::SearchHistory, (Main, "search_history"), &["ctrl+r"], "search earlier prompts"),
    row(K::EditElsewhere, (Main, "edit_elsewhere"), &["ctrl+g"], "edit in $EDITOR"),
    row(K::PasteImage, (Main, "paste_image"), &["ctrl+v"], "attach the picture on the clipboard"),
    row(K::Suspend, (Main, "suspend"), &["ctrl+z"], "suspend"),
    row(K::Help, (Main, "help"), &["?"], "help (editor empty)"),
    row(
        K::Edit(EditCommand::Left),
        (Editor, "cursor_left"),
        &["left", "ctrl+b"],
        "one character to the left",
    ),
    row(K::Edit(EditCommand::Right), (Editor, "cursor_right"), &["right"], "one character to the right"),
    row(
        K::Edit(EditCommand::Up),
        (Editor, "cursor_up"),
        &["up"],
        "one row up; beyond the first: the prompt before",
    ),
    row(
        K::Edit(EditCommand::Down),
        (Editor, "cursor_down"),
        &["down"],
        "one row down; beyond the last: the prompt after",
    ),
    row(
        K::Edit(EditCommand::WordLeft),
        (Editor, "word_left"),
        &["alt+b", "alt+left", "ctrl+left"],
        "to the beginning of the word",
    ),
    row(
        K::Edit(EditCommand::WordRight),
        (Editor, "word_right"),
        &["alt+f", "alt+right", "ctrl+right"],
        "to the end of the word",
    ),
    row(
        K::Edit(EditCommand::LineStart),
        (Editor, "line_start"),
        &["ctrl+a", "home"],
        "to the beginning of the line",
    ),
    row(K::Edit(EditCommand::LineEnd), (Editor, "line_end"), &["ctrl+e", "end"], "to the end of the line"),
    row(K::Edit(EditCommand::TextStart), (Editor, "text_start"), &["alt+<"], "to the beginning of the text"),
    row(K::Edit(EditCommand::TextEnd), (Editor, "text_end"), &["alt+>"], "to the end of the text"),
    row(
        K::Edit(EditCommand::DeleteBack),
        (Editor, "delete_back"),
        &["backspace", "shift+backspace", "ctrl+h"],
        "erase the character before",
    ),
    row(
        K::Edit(EditCommand::DeleteForward),
        (Editor, "delete_forward"),
        &["delete", "ctrl+d"],
        "erase the character after",
    ),
    row(
        K::Edit(EditCommand::DeleteWordBack),
        (Editor, "delete_word_back"),
        &["ctrl+w", "alt+backspace", "ctrl+backspace"],
        "cut the word before",
    ),
    row(
        K::Edit(EditCommand::DeleteWordForward),
        (Editor, "delete_word_forward"),
        &["alt+d", "alt+delete", "ctrl+delete"],
        "cut the word after",
    ),
    row(
        K::Edit(EditCommand::DeleteToLineStart),
        (Editor, "delete_to_line_start"),
        &["ctrl+u"],
        "cut up to the beginning of the line",
    ),
    row(
        K::Edit(EditCommand::DeleteToLineEnd),
        (Editor, "delete_to_line_end"),
        &["ctrl+k"],
        "cut up to the end of the line",
    ),
    row(K::Edit(EditCommand::Yank), (Editor, "yank"), &["ctrl+y"], "put in what was cut last"),
    row(
        K::Edit(EditCommand::YankBefore),
        (Editor, "yank_before"),
        &["alt+y"],
        "instead of it what was cut before",
    ),
    // Ctrl+_ comes as ctrl+7 from terminals without the keyboard protocol, and as what stands on its key from those with it.
    row(
        K::Edit(EditCommand::Undo),
        (Editor, "undo"),
        &["alt+u", "ctrl+_", "ctrl+-", "ctrl+shift+-", "ctrl+7"],
        "take the last edit back",
    ),
    row(K::Edit(EditCommand::Redo), (Editor, "redo"), &["alt+r", "alt+_"], "make it again"),
    row(K::Allow, (Approval, "allow"), &["y"], "let the call that asks run, this once"),
    row(K::AllowSession, (Approval, "allow_session"), &["a"], "let it and its like run in this session"),
    row(K::Deny, (Approval, "deny"), &["n"], "don't let it run"),
    row(
        K::DenyWithWord,
        (Approval, "deny_with_word"),
        &["d", "tab"],
        "don't let it run, and tell the model why",
    ),
    row(K::ShowWhole, (Approval, "show_whole"), &["v"], "the whole call that asks, on a page of its own"),
    row(K::QuestionUp, (Approval, "question_up"), &["shift+up"], "back in the call that asks"),
    row(K::QuestionDown, (Approval, "question_down"), &["shift+down"], "on in the call that asks"),
    row(K::NextAnswer, (Approval, "next_answer"), &["right"], "choose an answer"),
    row(K::PreviousAnswer, (Approval, "previous_answer"), &["left"], "choose the answer before"),
    row(K::TakeAnswer, (Approval, "take_answer"), &["enter"], "give the answer that is chosen"),
    row(K::NoAnswer, (Approval, "no_answer"), &["esc"], "choose none of them"),
    row(K::QueueUp, (Queue, "queue_up"), &["up", "k"], "the waiting message above"),
    row(K::QueueDown, (Queue, "queue_down"), &["down", "j"], "the waiting message below"),
    row(
        K::QueueEdit,
        (Queue, "queue_edit"),
        &["enter", "e"],
        "edit it; enter puts it back, esc leaves it as it was",
    ),
    row(K::QueueEarlier, (Queue, "queue_earlier"), &["shift+up", "alt+up"], "deliver it earlier"),
    row(K::QueueLater, (Queue, "queue_later"), &["shift+down", "alt+down"], "deliver it later"),
    row(K::QueueTurn, (Queue, "queue_turn"), &["p"], "let it steer, or wait until the agent has finished"),
    row(K::QueueRelease, (Queue, "queue_release"), &["r"], "let a held one go in"),
    row(K::QueueRemove, (Queue, "queue_remove"), &["d", "backspace", "delete"], "take it out"),
    row(K::QueueUndo, (Queue, "queue_undo"), &["u"], "bring back what was taken out"),
    row(K::QueueClear, (Queue, "queue_clear"), &["D"], "take all of them out"),
    row(K::QueueBack, (Queue, "queue_back"), &["esc", "ctrl+c"], "back to the editor"),
    row(K::Up, (Popup, "up"), &["up", "ctrl+p"], "one up"),
    row(K::Down, (Popup, "down"), &["down", "ctrl+n"], "one down"),
    row(K::PopupPageUp, (Popup, "list_page_up"), &["pgup"], "a page up"),
    row(K::PopupPageDown, (Popup, "list_page_down"), &["pgdn"], "a page down"),
    row(K::First, (Popup, "first"), &["home"], "the first"),
    row(K::Last, (Popup, "last"), &["end"], "the last"),
    row(K::Accept, (Popup, "accept"), &["enter"], "take it"),
    row(K::Back, (Popup, "back"), &["esc"], "one level back"),
    row(K::Close, (Popup, "close"), &["ctrl+c"], "back to the transcript"),
    row(K::ClearFilter, (Popup, "clear_filter"), &["ctrl+u"], "take back what narrows the list"),
    row(K::DeleteWord, (Popup, "delete_word"), &["ctrl+w"], "take back the last word of it"),
    row(K::Switch, (Popup, "switch"), &["tab"], "this directory's sessions, or all"),
    row(K::LeavePage, (Page, "leave_page"), &["q", "?", "enter"], "leave the page"),
    row(K::FindInPage, (Page, "find_in_page"), &["/"], "show only what contains the words that follow"),
    row(K::Rename, (Sessions, "rename_session"), &["ctrl+r"], "name a session of the list"),
    row(K::Trash, (Sessions, "trash_session"), &["ctrl+x", "delete"], "move it to the trash"),
    row(K::Untrash, (Sessions, "undo_trash"), &["ctrl+z"], "bring back what went to the trash last"),
    row(K::Threads, (Sessions, "threads"), &["ctrl+t"], "forks beneath what they come from, or newest first"),
    row(
        K::ThinkToo,
        (Models, "model_and_thinking"),
        &["shift+tab"],
        "take the model, then how much it thinks",
    ),
    row(
        K::ResetSetting,
        (Settings, "reset_setting"),
        &["ctrl+x", "delete"],
        "take a setting out of your file",
    ),
    row(K::Revoke, (Permissions, "revoke"), &["delete"], "take back what was allowed, as enter does"),
    row(
        K::NextFilter,
        (Tree, "tree_filter"),
        &["tab"],
        "the tree: what was said, the user only, labelled, all",
    ),
    row(K::EditLabel, (Tree, "edit_label"), &["ctrl+l"], "the tree: edit the label of an entry"),
    row(
        K::Fold,
        (Tree, "fold"),
        &["left"],
        "the tree: fold what follows; folded: to where the branch begins",
    ),
    row(K::Unfold, (Tree, "unfold"), &["right"], "the tree: unfold what follows"),
    row(
        K::FoldOthers,
        (Tree, "fold_others"),
        &["ctrl+f"],
        "the tree: fold all other branches, or unfold all",
    ),
    row(
        K::ForkPoint,
        (Tree, "fork_point"),
        &["alt+left", "shift+left"],
        "the tree: to where the branch begins",
    ),
    row(
        K::PreviousBranch,
        (Tree, "previous_branch"),
        &["alt+up", "shift+up"],
        "the tree: to the branch above",
    ),
    row(K::NextBranch, (Tree, "next_branch"), &["alt+down", "shift+down"], "the tree: to the branch below"),
    row(K::Leaf, (Tree, "leaf"), &["alt+right", "shift+right"], "the tree: back to where one is"),
    row(K::ForkHere, (Tree, "fork_here"), &["alt+enter"], "the tree: go on from there in a new session"),
    row(K::TogglePreview, (Tree, "preview"), &["ctrl+o"], "the tree: show or hide the preview"),
    row(K::PreviewDown, (Tree, "preview_down"), &["ctrl+e", "alt+pgdn"], "the tree: scroll the preview down"),
    row(K::PreviewUp, (Tree, "preview_up"), &["ctrl+y", "alt+pgup"], "the tree: scroll the preview up"),
    row(K::Hide, (Tree, "hide_branch"), &["ctrl+x"], "the tree: hide a branch, or bring it back"),
    row(K::ShowHidden, (Tree, "show_hidden"), &["ctrl+a"], "the tree: show what is hidden too"),
    row(
        K::BlockOlder,
        (Block, "block_above"),
        &["up", "k"],
        "choose the block above (a block is chosen, editor empty)",
    ),
    row(K::BlockNewer, (Block, "block_below"), &["down", "j"], "choose the block below"),
    row(K::BlockFold, (Block, "fold_block"), &["space", "enter"], "fold the chosen block, or unfold it"),
    row(K::BlockCopy, (Block, "copy_block"), &["c"], "copy the chosen block"),
    row(K::BlockBack, (Block, "leave_block"), &["esc"], "choose none"),
    row(K::SearchOlder, (Search, "search_older"), &["enter", "up"], "the place before (while searching)"),
    row(K::SearchNewer, (Search, "search_newer"), &["shift+enter", "down"], "the place after"),
    row(K::SearchStay, (Search, "search_stay"), &["tab", "ctrl+f"], "stay there"),
    row(K::SearchClear, (Search, "search_clear"), &["ctrl+u"], "search for something else"),
    row(K::SearchBack, (Search, "search_back"), &["esc", "ctrl+c"], "back to where one was"),
];

/// Keys as they are bound.
#[derive(Clone, Debug)]
pub(super) struct Keymap {
    bound: HashMap<(Context, Chord), KeyCommand>,
    /// The keys of each row of the table.
    keys: Vec<Vec<Chord>>,
    /// What of `keybindings.json` doesn't hold, and what does instead; a sentence each.
    problems: Vec<String>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::of(defaults(), Vec::new())
    }
}

/// The table's own keys.
fn defaults() -> Vec<Vec<Chord>> {
    let parse = |key: &&str| Chord::parse(key).expect("the table's keys are keys: a test reads them all");
    TABLE.iter().map(|row| row.keys.iter().map(parse).collect()).collect()
}

impl Keymap {
    /// The table's keys with those that `keybindings.json` sets instead; `file` is what problems call it.
    pub(super) fn read(text: &str, file: &str) -> Self {
        let (keys, problems) = bindings::read(text, file);
        Self::of(keys, problems)
    }

    /// Binds these keys to the rows of the table, in its order.
    fn of(keys: Vec<Vec<Chord>>, problems: Vec<String>) -> Self {
        let bound = TABLE.iter().zip(&keys);
        let bound = bound
            .flat_map(|(row, keys)| keys.iter().map(|chord| ((row.context, *chord), row.command)))
            .collect();
        Self { bound, keys, problems }
    }

    /// What of `keybindings.json` doesn't hold, and what does instead.
    pub(super) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Whether a row has other keys than the table gives it.
    pub(super) fn is_changed(&self, row: &KeyBinding) -> bool {
        let at = TABLE.iter().position(|other| other.name == row.name);
        at.is_some_and(|at| self.keys[at].iter().map(ToString::to_string).ne(row.keys.iter().copied()))
    }

    /// What a key does in a place.
    pub(super) fn command(&self, context: Context, key: KeyEvent) -> Option<KeyCommand> {
        self.bound.get(&(context, Chord::of(key))).copied()
    }

    /// The first key of a command, to be named on the screen; empty when it has none.
    pub(super) fn key_of(&self, command: KeyCommand) -> String {
        let at = TABLE.iter().position(|row| row.command == command);
        at.and_then(|at| self.keys[at].first()).map(ToString::to_string).unwrap_or_default()
    }

    /// A text with the keys of rows in the place of their names: `{send} sends` becomes `enter sends`. A row without a key is named itself.
    pub(super) fn name_keys(&self, text: &str) -> String {
        TABLE.iter().fold(text.to_owned(), |text, row| {
            let sign = format!("{{{}}}", row.name);
            if !text.contains(&sign) {
                return text;
            }
            let key = Some(self.key_of(row.command)).filter(|key| !key.is_empty());
            text.replace(&sign, key.as_deref().unwrap_or(row.name))
        })
    }

    /// Every row with its keys as text: `alt+enter, ctrl+q`.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static KeyBinding, String)> {
        TABLE.iter().zip(&self.keys).map(|(row, keys)| {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            (row, keys.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::help;
    use super::*;

    /// The table as it stands in docs/keys-and-terminals.md.
    fn markdown() -> String {
        let mut out = String::new();
        let mut context = None;
        for row in TABLE {
            if context.replace(row.context) != Some(row.context) {
                writeln!(out, "\n### {}\n\n| keys | name | what |\n|---|---|---|", help::place(row.context))
                    .unwrap();
            }
            let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
            writeln!(out, "| {} | `{}` | {} |", keys.join(" "), row.name, row.about).unwrap();
        }
        out
    }

    #[test]
    fn the_page_of_keys_says_what_the_table_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/keys-and-terminals.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (_, rest) = page.split_once("<!-- keys -->\n").unwrap();
        let (keys, _) = rest.split_once("\n<!-- end of keys -->").unwrap();
        assert!(keys == markdown(), "between its marks it is to be:\n{}", markdown());
    }

    #[test]
    fn keys_are_named_as_they_are_bound() {
        let keymap = Keymap::read(r#"{"send": "ctrl+x", "help": []}"#, "keybindings.json");
        assert_eq!(
            keymap.name_keys("{send} sends · {help} shows {keys}"),
            "ctrl+x sends · help shows {keys}"
        );
    }

    #[test]
    fn no_key_of_the_editor_is_taken_from_it_for_good() {
        // These go on to the editor when they mean nothing to the screen: its own text is empty, or something runs.
        let shared = ["home", "end", "ctrl+d"];
        for row in TABLE.iter().filter(|row| row.context == Editor) {
            for key in row.keys.iter().filter(|key| !shared.contains(key)) {
                let taken = TABLE.iter().find(|other| other.context == Main && other.keys.contains(key));
                assert!(taken.is_none(), "{key}: {} never hears of it", row.name);
            }
        }
    }

    #[test]
    fn every_command_has_one_row_and_no_key_two_commands_in_a_place() {
        let keymap = Keymap::default();
        let keys: usize = TABLE.iter().map(|row| row.keys.len()).sum();
        assert_eq!(keymap.bound.len(), keys);
        for (at, row) in TABLE.iter().enumerate() {
            let twice =
                TABLE[..at].iter().find(|other| other.command == row.command || other.name == row.name);
            assert!(twice.is_none(), "{row:?} {twice:?}");
        }
    }
}
