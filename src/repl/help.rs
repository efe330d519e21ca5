//! The text of `/help`.

use super::tree::truncate;
use crate::agent::AgentCommand;
use crate::agent::slash_command::InteractiveFrontEnd::Plain;
use crate::agent::slash_command::available_commands;

/// Kinds of lines other than commands.
const LINES: [(&str, &str); 4] = [
    ("TEXT", "send a prompt; while the agent works, steer it between two tool calls"),
    ("> TEXT", "send it after the agent has finished"),
    ("!COMMAND", "run it in the shell; the model sees the output"),
    ("!!COMMAND", "run it in the shell; the model doesn't see it"),
];

/// Formats the help text: kinds of lines, built-in commands, and the agent's commands.
pub(super) fn text(agent_commands: &[AgentCommand]) -> String {
    let lines = LINES.map(|(line, effect)| (line.to_owned(), effect.to_owned()));
    let built_in = available_commands(Plain).map(|row| (row.synopsis(Plain), row.description(Plain)));
    let rows: Vec<(String, String)> = lines.into_iter().chain(built_in).collect();
    let width = rows.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
    let agents = agent_commands.iter().map(|command| {
        let name = format!("/{} {}", command.name, command.argument_hint.as_deref().unwrap_or_default());
        (name.trim_end().to_owned(), truncate(&command.description))
    });
    let lines: String =
        rows.into_iter().chain(agents).map(|(line, effect)| format!("{line:<width$} {effect}\n")).collect();
    format!(
        "{lines}A line that ends in a backslash continues on the next one. While a question is pending, the next line that isn't a command answers it.\n\
         Ctrl+C stops the run. Ctrl+D, or Ctrl+C twice, quits.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::CommandSource;

    #[test]
    fn text_lists_lines_and_commands() {
        let skill = AgentCommand {
            name: "skill:commit".to_owned(),
            description: "write a commit\nmessage".to_owned(),
            argument_hint: None,
            source: CommandSource::Skill,
            location: None,
        };
        insta::assert_snapshot!(text(&[skill]));
    }
}
