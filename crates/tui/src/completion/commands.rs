//! Completion of slash command names. The engine has the table and parses lines.

use tiller_engine::AgentCommand;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::{CommandSpec, available_commands, unavailable};

use super::candidate::{Candidate, OnAccept};
use crate::fuzzy::{FuzzyQuery, MatchMode};

/// Candidates for a partial command name: those that begin with it; if there are none, fuzzy matches. Skills also match
/// by their own name. For the name of a command that only `--plain` has there are no fuzzy matches, so that Enter shows
/// the error.
pub(super) fn candidates(typed: &str, agent_commands: &[AgentCommand]) -> Vec<Candidate> {
    let built_in = available_commands(Tui).map(|row| (row.name, built_in_candidate(row)));
    let others = agent_commands.iter().map(|command| {
        let argument = command.argument_hint.as_deref().unwrap_or_default();
        (&*command.name, candidate(&command.name, argument, &command.description))
    });
    let all: Vec<(&str, Candidate)> = built_in.chain(others).collect();
    let begins = |name: &str| {
        let skill = name.strip_prefix("skill:").filter(|_| !typed.is_empty());
        name.starts_with(typed) || skill.is_some_and(|skill| skill.starts_with(typed))
    };
    let prefixed = all.iter().filter(|(name, _)| begins(name)).map(|(_, candidate)| candidate.clone());
    let candidates: Vec<Candidate> = prefixed.chain(aliases(typed, agent_commands)).collect();
    if !candidates.is_empty() || unavailable(typed, Tui).is_some() {
        return candidates;
    }
    let ranked = FuzzyQuery::new(typed, MatchMode::Names).rank(&all, |(name, _)| (name, ""));
    ranked.into_iter().map(|at| all[at].1.clone()).collect()
}

fn built_in_candidate(row: &CommandSpec) -> Candidate {
    let usage = row.usage(Tui);
    candidate(row.name, &usage.argument.to_string(), usage.summary)
}

fn candidate(name: &str, argument: &str, about: &str) -> Candidate {
    let wants_more = !argument.is_empty() && !argument.starts_with('[');
    Candidate {
        name: format!("/{name}"),
        argument: argument.to_owned(),
        about: about.to_owned(),
        insert: format!("/{name} "),
        then: if wants_more { OnAccept::GoOn } else { OnAccept::Send },
    }
}

/// Returns candidates for aliases that start with the typed text, unless the command's own name does too.
fn aliases<'a>(typed: &'a str, agent_commands: &'a [AgentCommand]) -> impl Iterator<Item = Candidate> + 'a {
    let meant = move |row: &&CommandSpec| !typed.is_empty() && !row.name.starts_with(typed);
    let fits = move |alias: &&str| {
        alias.starts_with(typed) && agent_commands.iter().all(|command| command.name != **alias)
    };
    available_commands(Tui).filter(meant).filter_map(move |row| {
        let alias = row.aliases.iter().find(|alias| fits(alias))?;
        let argument = format!("= /{}", row.name);
        Some(Candidate { name: format!("/{alias}"), argument, ..built_in_candidate(row) })
    })
}

#[cfg(test)]
mod tests {
    use tiller_engine::CommandSource;

    use super::*;

    fn agent_commands() -> Vec<AgentCommand> {
        let command = |name: &str, hint: Option<&str>, source| AgentCommand {
            name: name.into(),
            description: "does it".into(),
            argument_hint: hint.map(str::to_owned),
            source,
            location: None,
        };
        vec![
            command("review", Some("[file]"), CommandSource::Prompt),
            command("skill:commit", None, CommandSource::Skill),
        ]
    }

    #[test]
    fn candidates_aliases_follow_names() {
        let shown = |typed| {
            let offers = candidates(typed, &[]).into_iter();
            offers
                .map(|offer| format!("{} {} → {}", offer.name, offer.argument, offer.insert))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown("clea")[0], "/clear = /new → /new ");
        assert_eq!(shown("rena")[0], "/rename = /name → /name ");
        assert_eq!(
            shown("c")[..3],
            ["/clone  → /clone ", "/compact [FOCUS] → /compact ", "/copy [N] → /copy "]
        );
        assert!(!shown("m").iter().any(|shown| shown.starts_with("/models")), "its command begins so too");
        assert!(shown("").iter().all(|shown| !shown.contains(" = /")));
    }

    #[test]
    fn candidates_template_name_beats_alias() {
        let clear = AgentCommand { name: "clear".into(), ..agent_commands().remove(0) };
        let offered = candidates("clear", &[clear]);
        assert_eq!(offered.iter().filter(|offer| offer.name == "/clear").count(), 1);
        assert_eq!(offered[0].insert, "/clear ");
    }

    #[test]
    fn candidates_command_matched_by_alias_is_listed_once() {
        let offered = candidates("re", &[]);
        let trees: Vec<&str> = offered
            .iter()
            .filter(|offer| offer.insert == "/tree ")
            .map(|offer| offer.name.as_str())
            .collect();
        assert_eq!(trees, ["/rewind"]);
    }

    #[test]
    fn candidates_name_of_a_plain_command_has_none() {
        assert_eq!(candidates("go", &[]), []);
        let goal = AgentCommand { name: "goal".into(), ..agent_commands().remove(0) };
        let names: Vec<String> = candidates("go", &[goal]).into_iter().map(|offer| offer.name).collect();
        assert_eq!(names, ["/goal"]);
    }

    #[test]
    fn candidates_prefix_matches_come_first() {
        let agent_commands = agent_commands();
        let names = |typed| {
            candidates(typed, &agent_commands).into_iter().map(|offer| offer.name).collect::<Vec<_>>()
        };
        assert_eq!(names("h")[..2], ["/help", "/hotkeys"]);
        assert_eq!(names("re")[..3], ["/resume", "/reload", "/review"]);
        assert_eq!(names("skill:c"), ["/skill:commit"]);
        assert_eq!(names("com")[..2], ["/compact", "/skill:commit"]);
        assert_eq!(names("comm"), ["/skill:commit"]);
        assert_eq!(names("rsm"), ["/resume"]);
        assert_eq!(names("").len(), available_commands(Tui).count() + 2);
        assert_eq!(candidates("review", &agent_commands)[0].argument, "[file]");
    }
}
