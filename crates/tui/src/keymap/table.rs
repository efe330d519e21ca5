//! The table of key bindings: every command with its name, default keys, context and description.
//!
//! Some commands have conditions beyond their context: `ctrl+d` quits only from an empty editor. The code
//! that runs a command checks them. A key whose command doesn't apply at the moment falls through to the next
//! context.

use crate::editor::edit_command::EditCommand;
use crate::keymap::chord::Chord;

/// Where a key binding applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyContext {
    /// The transcript and the editor.
    Main,
    /// The text in the editor. Only keys without a meaning in `Main` get here.
    Editor,
    /// A pending approval request, while the editor is empty.
    Approval,
    /// The queued messages.
    Queue,
    /// Any overlay over the transcript.
    Popup,
    /// A page of text; `Popup` keys apply too.
    Page,
    /// The session tree; `Popup` keys apply too.
    Tree,
    /// A session list; `Popup` keys apply too.
    Sessions,
    /// The model list; `Popup` keys apply too.
    Models,
    /// The settings list; `Popup` keys apply too.
    Settings,
    /// The list of the session's permissions; `Popup` keys apply too.
    Permissions,
    /// A selected block of the transcript, while the editor is empty.
    Block,
    /// The search line of the transcript.
    Search,
}

/// A command that keys are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyCommand {
    Send,
    SteerNow,
    FollowUp,
    Newline,
    Stop,
    MoveToBackground,
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
    FoldPlan,
    Agents,
    PageUp,
    PageDown,
    Top,
    Bottom,
    SearchHistory,
    ExternalEditor,
    PasteImage,
    Suspend,
    Help,
    /// An edit of the text or a cursor movement.
    Edit(EditCommand),
    Allow,
    AllowSession,
    AllowAlways,
    Deny,
    DenyWithReason,
    ShowCall,
    CallUp,
    CallDown,
    NextAnswer,
    PreviousAnswer,
    ConfirmAnswer,
    ClearAnswer,
    QueueUp,
    QueueDown,
    QueueEdit,
    QueueEarlier,
    QueueLater,
    QueueSwitch,
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
    ModelAndThinking,
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

#[derive(Debug)]
pub(crate) struct KeyBinding {
    pub(crate) command: KeyCommand,
    /// The name in `keybindings.json`.
    pub(crate) name: &'static str,
    pub(crate) context: KeyContext,
    /// Default keys, in the syntax of [`Chord::parse`].
    pub(crate) keys: &'static [&'static str],
    pub(crate) about: &'static str,
}

const fn row(
    command: KeyCommand,
    (context, name): (KeyContext, &'static str),
    keys: &'static [&'static str],
    about: &'static str,
) -> KeyBinding {
    KeyBinding { command, name, context, keys, about }
}

/// A row of [`KeyContext::Editor`].
const fn edit(
    command: EditCommand,
    name: &'static str,
    keys: &'static [&'static str],
    about: &'static str,
) -> KeyBinding {
    row(KeyCommand::Edit(command), (Editor, name), keys, about)
}

use KeyContext::{
    Approval, Block, Editor, Main, Models, Page, Permissions, Popup, Queue, Search, Sessions, Settings, Tree,
};
use {EditCommand as E, KeyCommand as K};

/// Every command, in the order of display.
pub(crate) const TABLE: &[KeyBinding] = &[
    row(
        K::Send,
        (Main, "send"),
        &["enter"],
        "send; while the agent works: steer it before its next tool call",
    ),
    row(
        K::SteerNow,
        (Main, "steer_now"),
        &["ctrl+enter"],
        "send now: interrupt the agent, keep its partial answer (empty editor: deliver the queued steering message now)",
    ),
    row(K::FollowUp, (Main, "follow_up"), &["alt+enter", "ctrl+q"], "send after the agent has finished"),
    row(
        K::Newline,
        (Main, "newline"),
        &["shift+enter", "ctrl+j"],
        "insert a new line (or type \\ before enter)",
    ),
    row(
        K::Stop,
        (Main, "stop"),
        &["esc"],
        "stop the agent and put queued messages back into the editor; twice when idle: open the tree",
    ),
    row(
        K::MoveToBackground,
        (Main, "move_to_background"),
        &["ctrl+b"],
        "move the running command to the background (editor empty)",
    ),
    row(K::EditQueue, (Main, "edit_queue"), &["alt+up"], "edit, reorder or remove queued messages"),
    row(
        K::Clear,
        (Main, "clear"),
        &["ctrl+c"],
        "clear the editor; editor empty: stop the agent; twice: quit",
    ),
    row(K::Quit, (Main, "quit"), &["ctrl+d"], "quit (agent idle, editor empty)"),
    row(K::PickModel, (Main, "pick_model"), &["ctrl+l"], "choose a model"),
    row(K::NextModel, (Main, "next_model"), &["ctrl+p"], "next model"),
    row(K::PreviousModel, (Main, "previous_model"), &["ctrl+shift+p"], "previous model"),
    row(
        K::NextThinking,
        (Main, "next_thinking"),
        &["shift+tab"],
        "next thinking level; in plan mode: exit plan mode",
    ),
    row(
        K::NextApproval,
        (Main, "next_approval"),
        &["alt+a"],
        "next approval mode: ask, auto, plan, read-only",
    ),
    row(K::UnfoldOutput, (Main, "unfold_output"), &["ctrl+o"], "expand or collapse output and summaries"),
    row(K::UnfoldThinking, (Main, "unfold_thinking"), &["ctrl+t"], "expand or collapse thinking"),
    row(K::FoldPlan, (Main, "fold_plan"), &["alt+t"], "collapse or expand the plan"),
    row(K::Agents, (Main, "agents"), &["alt+g"], "list running agents; in an agent's session: return"),
    row(K::PageUp, (Main, "page_up"), &["pgup"], "scroll up"),
    row(K::PageDown, (Main, "page_down"), &["pgdn"], "scroll down"),
    row(K::Top, (Main, "top"), &["home"], "go to the beginning (editor empty)"),
    row(
        K::Bottom,
        (Main, "bottom"),
        &["end"],
        "go to the end and follow new output (editor empty, or cursor at the end of its line)",
    ),
    row(K::Oldest, (Main, "oldest"), &["ctrl+home"], "go to the beginning, even with text in the editor"),
    row(K::Newest, (Main, "newest"), &["ctrl+end"], "go to the end, even with text in the editor"),
    row(K::OlderPrompt, (Main, "older_prompt"), &["alt+pgup", "alt+p"], "go to the previous prompt"),
    row(K::NewerPrompt, (Main, "newer_prompt"), &["alt+pgdn", "alt+n"], "go to the next prompt"),
    row(
        K::ChooseOlder,
        (Main, "choose_older"),
        &["alt+k"],
        "select a block of the transcript; again: the block above",
    ),
    row(K::ChooseNewer, (Main, "choose_newer"), &["alt+j"], "select a block; again: the block below"),
    row(K::Search, (Main, "search"), &["ctrl+f"], "search the transcript"),
    row(K::SearchHistory, (Main, "search_history"), &["ctrl+r"], "search earlier prompts"),
    row(K::ExternalEditor, (Main, "external_editor"), &["ctrl+g"], "edit the prompt in $EDITOR"),
    row(K::PasteImage, (Main, "paste_image"), &["ctrl+v"], "attach an image from the clipboard"),
    row(K::Suspend, (Main, "suspend"), &["ctrl+z"], "suspend tiller"),
    row(K::Help, (Main, "help"), &["?"], "show help (editor empty)"),
    edit(E::Left, "cursor_left", &["left", "ctrl+b"], "move one character left"),
    edit(E::Right, "cursor_right", &["right"], "move one character right"),
    edit(E::Up, "cursor_up", &["up"], "move one row up; on the first row: previous prompt in the history"),
    edit(E::Down, "cursor_down", &["down"], "move one row down; on the last row: next prompt in the history"),
    edit(E::WordLeft, "word_left", &["alt+b", "alt+left", "ctrl+left"], "move to the beginning of the word"),
    edit(E::WordRight, "word_right", &["alt+f", "alt+right", "ctrl+right"], "move to the end of the word"),
    edit(E::LineStart, "line_start", &["ctrl+a", "home"], "move to the beginning of the line"),
    edit(E::LineEnd, "line_end", &["ctrl+e", "end"], "move to the end of the line"),
    edit(E::TextStart, "text_start", &["alt+<"], "move to the beginning of the text"),
    edit(E::TextEnd, "text_end", &["alt+>"], "move to the end of the text"),
    edit(
        E::DeleteBack,
        "delete_back",
        &["backspace", "shift+backspace", "ctrl+h"],
        "delete the character before the cursor",
    ),
    edit(E::DeleteForward, "delete_forward", &["delete", "ctrl+d"], "delete the character after the cursor"),
    edit(
        E::DeleteWordBack,
        "delete_word_back",
        &["ctrl+w", "alt+backspace", "ctrl+backspace"],
        "cut the word before the cursor",
    ),
    edit(
        E::DeleteWordForward,
        "delete_word_forward",
        &["alt+d", "alt+delete", "ctrl+delete"],
        "cut the word after the cursor",
    ),
    edit(E::DeleteToLineStart, "delete_to_line_start", &["ctrl+u"], "cut to the beginning of the line"),
    edit(E::DeleteToLineEnd, "delete_to_line_end", &["ctrl+k"], "cut to the end of the line"),
    edit(E::Yank, "yank", &["ctrl+y"], "paste the last cut text"),
    edit(
        E::YankBefore,
        "yank_before",
        &["alt+y"],
        "after yank: replace the pasted text with the previous cut",
    ),
    // Ctrl+_ arrives as ctrl+7 from terminals without the keyboard protocol, and as the unmodified key's
    // character from terminals with it.
    edit(E::Undo, "undo", &["alt+u", "ctrl+_", "ctrl+-", "ctrl+shift+-", "ctrl+7"], "undo the last edit"),
    edit(E::Redo, "redo", &["alt+r", "alt+_"], "redo the last undone edit"),
    row(K::Allow, (Approval, "allow"), &["y"], "allow the call once"),
    row(K::AllowSession, (Approval, "allow_session"), &["a"], "allow it and similar calls for this session"),
    row(
        K::AllowAlways,
        (Approval, "allow_always"),
        &["A"],
        "save a rule that always allows it and similar calls; the rule can be edited first",
    ),
    row(K::Deny, (Approval, "deny"), &["n"], "deny the call"),
    row(
        K::DenyWithReason,
        (Approval, "deny_with_reason"),
        &["d", "tab"],
        "deny the call and tell the model why",
    ),
    row(K::ShowCall, (Approval, "show_call"), &["v"], "show the full call on a page"),
    row(K::CallUp, (Approval, "call_up"), &["shift+up"], "scroll the call up"),
    row(K::CallDown, (Approval, "call_down"), &["shift+down"], "scroll the call down"),
    row(K::NextAnswer, (Approval, "next_answer"), &["right"], "select the next answer"),
    row(K::PreviousAnswer, (Approval, "previous_answer"), &["left"], "select the previous answer"),
    row(K::ConfirmAnswer, (Approval, "confirm_answer"), &["enter"], "confirm the selected answer"),
    row(K::ClearAnswer, (Approval, "clear_answer"), &["esc"], "clear the selection"),
    row(K::QueueUp, (Queue, "queue_up"), &["up", "k"], "select the message above"),
    row(K::QueueDown, (Queue, "queue_down"), &["down", "j"], "select the message below"),
    row(
        K::QueueEdit,
        (Queue, "queue_edit"),
        &["enter", "e"],
        "edit the message; enter saves the change, esc discards it",
    ),
    row(K::QueueEarlier, (Queue, "queue_earlier"), &["shift+up", "alt+up"], "deliver the message earlier"),
    row(K::QueueLater, (Queue, "queue_later"), &["shift+down", "alt+down"], "deliver the message later"),
    row(K::QueueSwitch, (Queue, "queue_switch"), &["p"], "switch between steering and follow-up"),
    row(K::QueueRelease, (Queue, "queue_release"), &["r"], "release a held message"),
    row(K::QueueRemove, (Queue, "queue_remove"), &["d", "backspace", "delete"], "remove the message"),
    row(K::QueueUndo, (Queue, "queue_undo"), &["u"], "undo the last removal"),
    row(K::QueueClear, (Queue, "queue_clear"), &["D"], "remove all queued messages"),
    row(K::QueueBack, (Queue, "queue_back"), &["esc", "ctrl+c"], "return to the editor"),
    row(K::Up, (Popup, "up"), &["up", "ctrl+p"], "move up"),
    row(K::Down, (Popup, "down"), &["down", "ctrl+n"], "move down"),
    row(K::PopupPageUp, (Popup, "list_page_up"), &["pgup"], "one page up"),
    row(K::PopupPageDown, (Popup, "list_page_down"), &["pgdn"], "one page down"),
    row(K::First, (Popup, "first"), &["home"], "go to the first row"),
    row(K::Last, (Popup, "last"), &["end"], "go to the last row"),
    row(K::Accept, (Popup, "accept"), &["enter"], "accept the selected row"),
    row(K::Back, (Popup, "back"), &["esc"], "go back one level"),
    row(K::Close, (Popup, "close"), &["ctrl+c"], "return to the transcript"),
    row(K::ClearFilter, (Popup, "clear_filter"), &["ctrl+u"], "clear the filter"),
    row(K::DeleteWord, (Popup, "delete_word"), &["ctrl+w"], "delete the last word of the filter"),
    row(K::Switch, (Popup, "switch"), &["tab"], "switch between this directory's sessions and all sessions"),
    row(K::LeavePage, (Page, "leave_page"), &["q", "?", "enter"], "close the page"),
    row(K::FindInPage, (Page, "find_in_page"), &["/"], "show only lines that contain the typed text"),
    row(K::Rename, (Sessions, "rename_session"), &["ctrl+r"], "rename the session"),
    row(K::Trash, (Sessions, "trash_session"), &["ctrl+x", "delete"], "move the session to the trash"),
    row(K::Untrash, (Sessions, "undo_trash"), &["ctrl+z"], "restore the last trashed session"),
    row(
        K::Threads,
        (Sessions, "threads"),
        &["ctrl+t"],
        "group forks under their parent, or sort newest first",
    ),
    row(
        K::ModelAndThinking,
        (Models, "model_and_thinking"),
        &["shift+tab"],
        "choose the model, then its thinking level",
    ),
    row(
        K::ResetSetting,
        (Settings, "reset_setting"),
        &["ctrl+x", "delete"],
        "remove the setting from your settings file",
    ),
    row(K::Revoke, (Permissions, "revoke"), &["delete"], "remove the rule (like enter)"),
    row(
        K::NextFilter,
        (Tree, "tree_filter"),
        &["tab"],
        "next filter: no tool results, only user messages, only labeled, all",
    ),
    row(K::EditLabel, (Tree, "edit_label"), &["ctrl+l"], "edit the entry's label"),
    row(
        K::Fold,
        (Tree, "fold"),
        &["left"],
        "collapse the descendants; if collapsed, go to the start of the branch",
    ),
    row(K::Unfold, (Tree, "unfold"), &["right"], "expand the descendants"),
    row(K::FoldOthers, (Tree, "fold_others"), &["ctrl+f"], "collapse all other branches, or expand all"),
    row(K::ForkPoint, (Tree, "fork_point"), &["alt+left", "shift+left"], "go to the start of the branch"),
    row(K::PreviousBranch, (Tree, "previous_branch"), &["alt+up", "shift+up"], "go to the branch above"),
    row(K::NextBranch, (Tree, "next_branch"), &["alt+down", "shift+down"], "go to the branch below"),
    row(K::Leaf, (Tree, "leaf"), &["alt+right", "shift+right"], "go to the current entry"),
    row(K::ForkHere, (Tree, "fork_here"), &["alt+enter"], "fork a new session here"),
    row(K::TogglePreview, (Tree, "preview"), &["ctrl+o"], "show or hide the preview"),
    row(K::PreviewDown, (Tree, "preview_down"), &["ctrl+e", "alt+pgdn"], "scroll the preview down"),
    row(K::PreviewUp, (Tree, "preview_up"), &["ctrl+y", "alt+pgup"], "scroll the preview up"),
    row(K::Hide, (Tree, "hide_branch"), &["ctrl+x"], "hide or restore a branch"),
    row(K::ShowHidden, (Tree, "show_hidden"), &["ctrl+a"], "show or hide hidden branches"),
    row(K::BlockOlder, (Block, "block_above"), &["up", "k"], "select the block above"),
    row(K::BlockNewer, (Block, "block_below"), &["down", "j"], "select the block below"),
    row(K::BlockFold, (Block, "fold_block"), &["space", "enter"], "expand or collapse the selected block"),
    row(K::BlockCopy, (Block, "copy_block"), &["c"], "copy the selected block"),
    row(K::BlockBack, (Block, "leave_block"), &["esc"], "clear the selection"),
    row(K::SearchOlder, (Search, "search_older"), &["enter", "up"], "previous match"),
    row(K::SearchNewer, (Search, "search_newer"), &["shift+enter", "down"], "next match"),
    row(K::SearchStay, (Search, "search_stay"), &["tab", "ctrl+f"], "close the search at this match"),
    row(K::SearchClear, (Search, "search_clear"), &["ctrl+u"], "clear the search text"),
    row(K::SearchBack, (Search, "search_back"), &["esc", "ctrl+c"], "cancel and scroll back"),
];

/// The default keys of each row.
pub(crate) fn defaults() -> Vec<Vec<Chord>> {
    let parse = |key: &&str| Chord::parse(key).expect("the table's keys are keys: a test reads them all");
    TABLE.iter().map(|row| row.keys.iter().map(parse).collect()).collect()
}
