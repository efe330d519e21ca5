//! Lists the simple commands of a line according to the grammar of bash.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget, IoHereDocument, IoRedirect, Pipeline,
    ProcessSubstitutionKind, RedirectList, SeparatorOperator, SimpleCommand, SubshellCommand, Word,
};
use brush_parser::{Parser, ParserOptions, uncached_tokenize_str};

use super::segment::{Segment, SelfCall, UnparsedLine};
use super::words::{PlainWord, SUBSTITUTION, WILDCARDS};
use crate::policy::risk::{SHELLS, base_name, is_assignment};

/// Maximum depth of open parentheses: the time for unclosed `((` grows by a factor of four with each pair.
const PARENTHESES: usize = 12;

/// Maximum depth of open brackets and compound commands: the grammar is recursive.
const NESTING: usize = 32;

/// Maximum number of substitutions in a string.
const SUBSTITUTIONS: usize = 64;

/// Maximum number of conditions in a row.
const TESTS: usize = 64;

/// Maximum depth of substitutions in substitutions.
const DEPTH: usize = 16;

/// Lists the commands of a line, including those in substitutions, subshells and here-documents. Each command
/// precedes the commands in its substitutions.
pub(in crate::policy) fn parse(line: &str) -> Result<Vec<Segment>, UnparsedLine> {
    // `bash -c` has no extended patterns: `!(x)` runs `x`.
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let (segments, functions) = (Vec::new(), Vec::new());
    let mut lister = CommandLister { segments, options, functions, statement: 0, last_statement: 0 };
    lister.read_line(line, DEPTH)?;
    Ok(lister.segments)
}

/// The context of a command in its line.
#[derive(Clone, Copy, Default)]
struct ParseContext {
    depth: usize,
    /// False inside a statement; all parts of a statement have the same number.
    begins_statements: bool,
    reads_pipe: bool,
    writes_pipe: bool,
    /// True in the background or in a pipe, since the beginning of the current function.
    is_beside: bool,
    /// True for a command that a condition or an empty loop skips.
    is_conditional: bool,
}

struct CommandLister {
    segments: Vec<Segment>,
    options: ParserOptions,
    /// The names of the functions around the current command.
    functions: Vec<String>,
    /// The number of the current statement, and of the last one.
    statement: usize,
    last_statement: usize,
}

type ParseResult = Result<(), UnparsedLine>;

impl CommandLister {
    fn read_line(&mut self, line: &str, depth: usize) -> ParseResult {
        let context = ParseContext { depth, begins_statements: true, ..ParseContext::default() };
        self.read_text(line, context)
    }

    fn read_text(&mut self, text: &str, context: ParseContext) -> ParseResult {
        if context.depth == 0 || is_too_nested(text, &self.options) {
            return Err(UnparsedLine::TooNested);
        }
        // The grammar doesn't support this kind of substitution of newer shells.
        if ["${ ", "${\t", "${\n", "${|"].iter().any(|start| text.contains(start)) {
            return Err(UnparsedLine::word("${ …; }"));
        }
        let program = Parser::new(text.as_bytes(), &self.options).parse_program();
        let program = program.map_err(|error| UnparsedLine::Syntax(error.to_string()))?;
        program.complete_commands.iter().try_for_each(|list| self.read_list(list, context))
    }

    fn read_list(&mut self, list: &CompoundList, context: ParseContext) -> ParseResult {
        list.0.iter().try_for_each(|item| {
            let is_beside = context.is_beside || matches!(item.1, SeparatorOperator::Async);
            let context = ParseContext { is_beside, ..context };
            self.read_pipeline(&item.0.first, context)?;
            let conditional = ParseContext { is_conditional: true, ..context };
            item.0.additional.iter().try_for_each(|next| match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.read_pipeline(pipeline, conditional),
            })
        })
    }

    fn read_pipeline(&mut self, pipeline: &Pipeline, context: ParseContext) -> ParseResult {
        if context.begins_statements {
            self.last_statement += 1;
            self.statement = self.last_statement;
        }
        pipeline.seq.iter().enumerate().try_for_each(|(at, command)| {
            let reads_pipe = context.reads_pipe || at > 0;
            let writes_pipe = context.writes_pipe || at + 1 < pipeline.seq.len();
            let is_beside = context.is_beside || pipeline.seq.len() > 1;
            self.read_command(
                command,
                ParseContext { begins_statements: false, reads_pipe, writes_pipe, is_beside, ..context },
            )
        })
    }

    fn read_command(&mut self, command: &Command, context: ParseContext) -> ParseResult {
        match command {
            Command::Simple(simple) => self.read_simple(simple, context),
            Command::Compound(compound, redirects) => {
                self.read_compound(compound, context)?;
                self.read_redirects(redirects.as_ref(), context)
            }
            Command::Function(function) => {
                self.functions.push(function.fname.value.clone());
                let body = ParseContext { is_beside: false, is_conditional: false, ..context };
                let read = self.read_compound(&function.body.0, body);
                self.functions.pop();
                read?;
                self.read_redirects(function.body.1.as_ref(), context)
            }
            Command::ExtendedTest(test, redirects) => {
                let mut builder = CommandBuilder::of("[[");
                test_words(&test.expr)
                    .into_iter()
                    .try_for_each(|word| builder.push_word(word, &self.options))?;
                self.read_test_redirects(builder, redirects.as_ref(), context)
            }
        }
    }

    fn read_test_redirects(
        &mut self,
        mut builder: CommandBuilder,
        redirects: Option<&RedirectList>,
        context: ParseContext,
    ) -> ParseResult {
        redirects
            .into_iter()
            .flat_map(|list| &list.0)
            .try_for_each(|it| builder.push_redirect(it, &self.options))?;
        self.finish(builder, context)
    }

    /// Reads the redirections of a compound command as a command without words.
    fn read_redirects(&mut self, redirects: Option<&RedirectList>, context: ParseContext) -> ParseResult {
        match redirects {
            Some(_) => self.read_test_redirects(CommandBuilder::default(), redirects, context),
            None => Ok(()),
        }
    }

    fn read_compound(&mut self, compound: &CompoundCommand, context: ParseContext) -> ParseResult {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.read_expression(&arithmetic.expr.value, context),
            CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts
                    .into_iter()
                    .flatten()
                    .try_for_each(|part| self.read_expression(&part.value, context))?;
                self.read_list(&clause.body.list, context)
            }
            CompoundCommand::BraceGroup(group) => self.read_list(&group.list, context),
            CompoundCommand::Subshell(subshell) => self.read_list(&subshell.list, context),
            CompoundCommand::ForClause(clause) => {
                let mut builder = CommandBuilder::of("for");
                builder.words.extend([clause.variable_name.clone(), "in".into()]);
                clause.values.iter().flatten().try_for_each(|word| builder.push_word(word, &self.options))?;
                self.finish(builder, context)?;
                self.read_list(&clause.body.list, ParseContext { is_conditional: true, ..context })
            }
            CompoundCommand::CaseClause(clause) => {
                let mut builder = CommandBuilder::of("case");
                builder.push_word(&clause.value, &self.options)?;
                let patterns = clause.cases.iter().flat_map(|case| &case.patterns);
                patterns.into_iter().try_for_each(|word| builder.push_word(word, &self.options))?;
                self.finish(builder, context)?;
                let context = ParseContext { is_conditional: true, ..context };
                let mut bodies = clause.cases.iter().filter_map(|case| case.cmd.as_ref());
                bodies.try_for_each(|list| self.read_list(list, context))
            }
            CompoundCommand::IfClause(clause) => {
                self.read_list(&clause.condition, context)?;
                let context = ParseContext { is_conditional: true, ..context };
                self.read_list(&clause.then, context)?;
                clause.elses.iter().flatten().try_for_each(|branch| {
                    branch.condition.iter().try_for_each(|list| self.read_list(list, context))?;
                    self.read_list(&branch.body, context)
                })
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.read_list(&clause.0, context)?;
                self.read_list(&clause.1.list, ParseContext { is_conditional: true, ..context })
            }
            CompoundCommand::Coprocess(coprocess) => self.read_command(&coprocess.body, context),
        }
    }

    /// Reads the substitutions of an arithmetic expression.
    fn read_expression(&mut self, expression: &str, context: ParseContext) -> ParseResult {
        let lines = PlainWord::list_substitutions(expression, &self.options);
        let lines = lines.ok_or_else(|| UnparsedLine::word(expression))?;
        self.read_substitutions(&lines, context)
    }

    fn read_substitutions(&mut self, lines: &[String], context: ParseContext) -> ParseResult {
        let context =
            ParseContext { depth: context.depth - 1, reads_pipe: false, writes_pipe: true, ..context };
        lines.iter().try_for_each(|line| self.read_text(line, context))
    }

    fn read_simple(&mut self, simple: &SimpleCommand, context: ParseContext) -> ParseResult {
        let mut builder = CommandBuilder::default();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        prefix.into_iter().try_for_each(|item| builder.push_item(item, &self.options))?;
        simple.word_or_name.iter().try_for_each(|word| builder.push_word(word, &self.options))?;
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        suffix.into_iter().try_for_each(|item| builder.push_item(item, &self.options))?;
        self.finish(builder, context)
    }

    /// Adds a command, then the commands in its substitutions and here-documents.
    fn finish(&mut self, builder: CommandBuilder, context: ParseContext) -> ParseResult {
        let (statement, reads_pipe) = (self.statement, context.reads_pipe);
        let self_call = self.find_self_call(&builder.words, context);
        let CommandBuilder { words, mut quoted, patterns, outputs, appended, inputs, .. } = builder;
        let CommandBuilder { after_ampersand, substitutions, subshells, texts, .. } = builder;
        quoted.retain(|word| !patterns.contains(word));
        let name = words.first().map(|word| base_name(word).to_owned()).unwrap_or_default();
        let segment = Segment {
            words,
            quoted,
            outputs,
            appended,
            inputs,
            texts: texts.clone(),
            statement,
            reads_pipe,
            self_call,
        };
        let after = Segment { words: after_ampersand.unwrap_or_default(), statement, ..Segment::default() };
        self.segments.extend([segment, after].into_iter().filter(|segment| !segment.is_empty()));
        self.read_substitutions(&substitutions, context)?;
        subshells.iter().try_for_each(|(list, reads_pipe)| {
            self.read_list(list, ParseContext { reads_pipe: *reads_pipe, writes_pipe: true, ..context })
        })?;
        if !context.writes_pipe && subshells.is_empty() && COPIERS.contains(&&*name) {
            return Ok(());
        }
        texts.iter().try_for_each(|text| self.read_input(text, SHELLS.contains(&&*name), context))
    }

    /// Returns how a command calls a function that it is in.
    fn find_self_call(&self, words: &[String], context: ParseContext) -> Option<SelfCall> {
        let called = words.iter().find(|word| !is_assignment(word))?;
        let call = match context {
            ParseContext { is_beside: false, .. } => SelfCall::Sequential,
            ParseContext { is_conditional: true, .. } => SelfCall::Beside,
            ParseContext { .. } => SelfCall::Multiplying,
        };
        self.functions.contains(called).then_some(call)
    }

    /// Reads the text of a here-document or here-string as commands, in case a shell runs it. Text for other
    /// programs may not be a command line.
    fn read_input(&mut self, text: &str, is_of_shell: bool, context: ParseContext) -> ParseResult {
        let (count, outer) = (self.segments.len(), self.statement);
        let context =
            ParseContext { depth: context.depth - 1, begins_statements: true, ..ParseContext::default() };
        let listed = self.read_text(text, context);
        self.statement = outer;
        if listed.is_err() && !is_of_shell {
            self.segments.truncate(count);
            return Ok(());
        }
        listed
    }
}

/// Words that open a compound command, and words that close one.
const OPENERS: &[&str] = &["[[", "case", "coproc", "for", "function", "if", "select", "until", "while", "{"];
const CLOSERS: &[&str] = &["]]", "done", "esac", "fi", "}"];

/// Returns true if the tokens show that commands are nested too deeply. Text without tokens is left to the
/// parser.
fn is_too_nested(text: &str, options: &ParserOptions) -> bool {
    let starts = ["$(", "<(", ">(", "${", "`"];
    if starts.iter().map(|start| text.matches(start).count()).sum::<usize>() > SUBSTITUTIONS {
        return true;
    }
    let Ok(tokens) = uncached_tokenize_str(text, &options.tokenizer_options()) else { return false };
    let (mut parentheses, mut others, mut tests) = (0_usize, 0_usize, 0_usize);
    tokens.iter().any(|token| {
        match token.to_str() {
            "(" => parentheses += 1,
            ")" => parentheses = parentheses.saturating_sub(1),
            word if OPENERS.contains(&word) => others += 1,
            word if CLOSERS.contains(&word) => others = others.saturating_sub(1),
            "&&" | "||" | "!" => tests += 1,
            ";" | "\n" => tests = 0,
            _ => {}
        }
        parentheses > PARENTHESES || parentheses + others > NESTING || tests > TESTS
    })
}

/// Programs that only copy their input, so that a here-document for them is text.
const COPIERS: &[&str] = &["cat", "tee"];

/// A command that is being parsed.
#[derive(Default)]
struct CommandBuilder {
    words: Vec<String>,
    /// The words and redirections whose wildcards are all in quotes, and the others with wildcards.
    quoted: Vec<String>,
    patterns: Vec<String>,
    outputs: Vec<String>,
    /// Indices of the outputs that it appends to.
    appended: Vec<usize>,
    inputs: Vec<String>,
    /// The words after `&>`, which ends the command in shells other than bash.
    after_ampersand: Option<Vec<String>>,
    substitutions: Vec<String>,
    /// Process substitutions, and whether each reads the command's output.
    subshells: Vec<(CompoundList, bool)>,
    /// Here-documents and here-strings.
    texts: Vec<String>,
}

impl CommandBuilder {
    fn of(keyword: &str) -> Self {
        Self { words: vec![keyword.into()], ..Self::default() }
    }

    fn read_word(&mut self, word: &Word, options: &ParserOptions) -> Result<Vec<String>, UnparsedLine> {
        let plain = PlainWord::parse(&word.value, options).ok_or_else(|| UnparsedLine::word(&word.value))?;
        self.substitutions.extend(plain.substitutions);
        // A value may be expanded later.
        let with_wildcards = plain.texts.iter().filter(|it| it.contains(WILDCARDS) && !is_assignment(it));
        let list = if plain.has_wildcard { &mut self.patterns } else { &mut self.quoted };
        list.extend(with_wildcards.cloned());
        Ok(plain.texts)
    }

    fn push_word(&mut self, word: &Word, options: &ParserOptions) -> ParseResult {
        let texts = self.read_word(word, options)?;
        self.push_texts(texts);
        Ok(())
    }

    fn push_texts(&mut self, texts: Vec<String>) {
        if let Some(words) = &mut self.after_ampersand {
            words.extend(texts.iter().cloned());
        }
        self.words.extend(texts);
    }

    fn push_item(&mut self, item: &CommandPrefixOrSuffixItem, options: &ParserOptions) -> ParseResult {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.push_redirect(redirect, options),
            CommandPrefixOrSuffixItem::Word(word) => self.push_word(word, options),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                self.push_assignment(assignment, word, options)
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                self.push_texts(vec![SUBSTITUTION.into()]);
                self.push_subshell(kind, subshell);
                Ok(())
            }
        }
    }

    fn push_subshell(&mut self, kind: &ProcessSubstitutionKind, subshell: &SubshellCommand) {
        let reads_pipe = matches!(kind, ProcessSubstitutionKind::Write);
        self.subshells.push((subshell.list.clone(), reads_pipe));
    }

    fn push_assignment(
        &mut self,
        assignment: &Assignment,
        word: &Word,
        options: &ParserOptions,
    ) -> ParseResult {
        let AssignmentValue::Array(values) = &assignment.value else { return self.push_word(word, options) };
        let mut texts = Vec::new();
        for (index, value) in values {
            for word in index.iter().chain([value]) {
                texts.extend(self.read_word(word, options)?);
            }
        }
        self.push_texts(vec![format!("{}=({})", assignment.name, texts.join(" "))]);
        Ok(())
    }

    fn push_redirect(&mut self, redirect: &IoRedirect, options: &ParserOptions) -> ParseResult {
        match redirect {
            IoRedirect::File(_, kind, target) => self.push_file(kind, target, options),
            IoRedirect::OutputAndError(word, appends) => {
                let paths = self.read_word(word, options)?;
                self.push_outputs(paths, *appends);
                self.after_ampersand.get_or_insert_default();
                Ok(())
            }
            IoRedirect::HereDocument(_, document) => self.push_document(document, options),
            IoRedirect::HereString(_, word) => {
                let texts = self.read_word(word, options)?;
                self.texts.extend(texts);
                Ok(())
            }
        }
    }

    fn push_file(
        &mut self,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        options: &ParserOptions,
    ) -> ParseResult {
        let word = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => word,
            IoFileRedirectTarget::Fd(_) => return Ok(()),
            IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                self.push_subshell(kind, subshell);
                return Ok(());
            }
        };
        let paths = self.read_word(word, options)?;
        // `2>&1`, `>&-` and `>&3-` don't name a file.
        let is_descriptor = |path: &String| path.chars().all(|c| c.is_ascii_digit() || c == '-');
        match kind {
            IoFileRedirectKind::Read => self.inputs.extend(paths),
            IoFileRedirectKind::DuplicateInput => {}
            IoFileRedirectKind::DuplicateOutput => {
                self.push_outputs(paths.into_iter().filter(|path| !is_descriptor(path)), false);
            }
            IoFileRedirectKind::Append => self.push_outputs(paths, true),
            IoFileRedirectKind::Write | IoFileRedirectKind::ReadAndWrite | IoFileRedirectKind::Clobber => {
                self.push_outputs(paths, false);
            }
        }
        Ok(())
    }

    /// Adds paths, and the known start of a path with a substitution.
    fn push_outputs(&mut self, paths: impl IntoIterator<Item = String>, appends: bool) {
        let first = self.outputs.len();
        for path in paths {
            let head = path.split_once(SUBSTITUTION).map(|(head, _)| head.to_owned());
            self.outputs.push(path);
            self.outputs.extend(head.filter(|head| !head.is_empty()));
        }
        self.appended.extend((first..self.outputs.len()).filter(|_| appends));
    }

    fn push_document(&mut self, document: &IoHereDocument, options: &ParserOptions) -> ParseResult {
        let text = &document.doc.value;
        if document.requires_expansion {
            let lines = PlainWord::list_substitutions(text, options);
            self.substitutions.extend(lines.ok_or_else(|| UnparsedLine::word(text))?);
        }
        self.texts.push(text.clone());
        Ok(())
    }
}

/// Lists the words of a `[[ … ]]`.
fn test_words(test: &ExtendedTestExpr) -> Vec<&Word> {
    match test {
        ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
            [test_words(left), test_words(right)].concat()
        }
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => test_words(inner),
        ExtendedTestExpr::UnaryTest(_, word) => vec![word],
        ExtendedTestExpr::BinaryTest(_, left, right) => vec![left, right],
    }
}
