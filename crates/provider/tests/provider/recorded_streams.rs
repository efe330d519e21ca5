//! Streams with the structure of recorded ones: events, fields, order and ids as the provider sent them, with other
//! content. The first line of each names provider and model, the date if the recording has one, and the parts with
//! another origin. They are seeds of the fuzz targets, which cut them at every position.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use futures_util::StreamExt;
use tiller_core::message::Usage;
use tiller_provider::compat::Compat;
use tiller_provider::{
    Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, ProviderError, ProviderStream, StreamEvent,
};

/// The beginning of a stream with the structure of a recorded one.
const MARK: &str = ": Structure of ";

/// The directory of a wire format's streams, and the answers in them by file name.
struct Recordings {
    dir: &'static str,
    decode: fn(Vec<Bytes>) -> ProviderStream,
    answers: &'static [(&'static str, &'static str)],
}

fn endpoint() -> Endpoint {
    Endpoint::new("recorded", "http://localhost", "KEY")
}

const RECORDINGS: [Recordings; 4] = [
    Recordings {
        dir: "anthropic_answer",
        decode: |pieces| Anthropic::new(endpoint()).unwrap().decode(pieces),
        answers: &[
            (
                "duplicate-start",
                r#"text "Hello!"
usage [17, 227, 0, 0]
Stop
"#,
            ),
            (
                "fallback-model",
                r#"thinking "One way." signed b25l
thinking "Another." signed dHdv
call toolu_01BbCdEfGhIjKlMnOpQrStUv grep "{\"pattern\":\"x\"}"
usage [10, 70, 0, 0]
trace unknown_event
ToolUse
"#,
            ),
            (
                "late-input-count",
                r#"text "ping"
usage [61, 2, 0, 0]
Stop
"#,
            ),
            (
                "no-arguments",
                r#"text "I look around."
call toolu_01AbCdEfGhIjKlMnOpQrStUv list_files ""
usage [565, 48, 0, 0]
ToolUse
"#,
            ),
            (
                "padded-thinking",
                r#"thinking "I divide first." signed EsECCokBCBAYAipAc2lnbmF0dXJl
text "1071 = 2 × 462 + 147 ✓"
usage [47, 373, 0, 0]
Stop
"#,
            ),
            (
                "parallel-calls",
                r#"call toolu_01CbCdEfGhIjKlMnOpQrStUv edit "{\"path\": \"a.md\", \"text\": \"say \\\"hi\\\".\"}"
call toolu_01DbCdEfGhIjKlMnOpQrStUv grep "{\"pattern\": \"ä\"}"
usage [912, 118, 0, 0]
ToolUse
"#,
            ),
            (
                "refusal",
                r#"usage [18, 5, 0, 0]
Fatal: the model declined to answer: The request was blocked.
"#,
            ),
        ],
    },
    Recordings {
        dir: "gemini_answer",
        decode: |pieces| Gemini::new(endpoint()).unwrap().decode(pieces),
        answers: &[
            (
                "gemma-thinking",
                r#"thinking "*   Input: \"say hello\"\n    *   Output: hello"
text "hello"
usage [6, 77, 0, 0]
Stop
"#,
            ),
            (
                "nested-arguments",
                r#"call call_decoded_0 edit "{\"edits\":[{\"old\":\"one\",\"line\":7},{\"old\":\"two\",\"line\":0.5}]}" signed CmIBjz1rc2lnbmF0dXJl
usage [26, 155, 0, 0]
ToolUse
"#,
            ),
            (
                "refused-prompt",
                r#"usage [9, 0, 0, 0]
Fatal: the provider refused the prompt (PROHIBITED_CONTENT)
"#,
            ),
            (
                "signed-call",
                r#"call call_decoded_0 grep "{\"pattern\":\"größe\"}" signed EpEgCo4gAb4c2lnbmF0dXJl
usage [29, 819, 0, 0]
ToolUse
"#,
            ),
            (
                "signed-text",
                r#"text "Four" signed EqkECqYEc2lnbmF0dXJl
usage [7, 96, 0, 0]
Stop
"#,
            ),
            (
                "streamed-arguments",
                r#"call call_decoded_0 read_file "{\"path\":\"src/ä.rs\"}" signed CiMBjz1rc2lnbmF0dXJl
call call_decoded_1 read_file "{\"path\":\"b.rs\"}"
usage [26, 155, 0, 0]
ToolUse
"#,
            ),
            (
                "unstreamed-call",
                r#"thinking "**First the theme**\n\nThen the rest.\n\n\n"
call call_decoded_0 list_files "" signed AY89a18ac2lnbmF0dXJl
call call_decoded_1 read_file "{\"path\":\"A\"}"
usage [26, 155, 0, 0]
ToolUse
"#,
            ),
        ],
    },
    Recordings {
        dir: "openai_chat_answer",
        decode: |pieces| OpenAiChat::new(endpoint(), Compat::COMMON).unwrap().decode(pieces),
        answers: &[
            (
                "azure-text",
                r#"text "Copenhagen."
usage [15, 78, 0, 0]
Stop
"#,
            ),
            (
                "cerebras-call",
                r#"thinking "List them.\n\n"
call 0a1b2c3d4 list_files "{}"
usage [66, 104, 256, 0]
ToolUse
"#,
            ),
            (
                "deepseek-call",
                r#"thinking "Look for it."
call call_00_AbCdEfGhIjKlMnOpQrSt0123 grep "{\"pattern\": \"Größe\"}"
usage [118, 61, 256, 0]
ToolUse
"#,
            ),
            (
                "deepseek-logprobs",
                r#"text "OK"
usage [9, 1, 0, 0]
Stop
"#,
            ),
            (
                "empty-fields",
                r#"thinking "Hm, two."
text "Two"
usage [0, 0, 0, 0]
Stop
"#,
            ),
            (
                "groq-call",
                r#"call tk0a1b2c3 list_files "{}"
usage [210, 15, 0, 0]
ToolUse
"#,
            ),
            (
                "groq-reasoning",
                r#"thinking "Three files.\n"
text "There are **3**."
usage [17, 1107, 0, 0]
Stop
"#,
            ),
            (
                "llamacpp-calls",
                r#"call AbCdEfGhIjKlMnOpQrStUv0123456789 grep "{\"pattern\": \"näher\"}"
call ZyXwVuTsRqPoNmLkJiHgFe9876543210 grep "{\"pattern\": \"näher\"}"
usage [373, 64, 160, 0]
Length
"#,
            ),
            (
                "mistral-call",
                r#"call aB3dE5gH7 read_file "{\"path\": \"src/ä.rs\"}"
usage [124, 22, 0, 0]
ToolUse
"#,
            ),
            (
                "mistral-glm-call",
                r#"call chatcmpl-tool-0011223344556677 web_search "{\"query\": \"sse\"}"
usage [43, 14, 128, 0]
ToolUse
"#,
            ),
            (
                "mistral-thinking",
                r#"thinking "Seventeen times three."
text "51"
usage [28, 139, 0, 0]
Stop
"#,
            ),
            (
                "moonshot-call",
                r#"thinking "Paris first."
call fetch_0 fetch "{\"url\": \"https://example.com\"}"
usage [13, 99, 200, 0]
ToolUse
"#,
            ),
            (
                "moonshot-error",
                r#"text "Half an"
usage [0, 0, 0, 0]
Transient { retry_after: None }: The stream failed
"#,
            ),
            (
                "moonshot-no-index",
                r#"call glob_0 glob "{\"pattern\":\"*.rs\"}"
call grep_1 grep "{\"pattern\":\"fn\"}"
usage [61, 25, 0, 0]
ToolUse
"#,
            ),
            (
                "openai-call",
                r#"text "I look."
call call_AbCdEfGhIjKlMnOpQrStUvWx list_files "{}"
usage [58, 12, 0, 0]
ToolUse
"#,
            ),
            (
                "xai-call",
                r#"thinking "The user asks."
call call_00112233 read_file "{\"path\":\"a b\"}"
usage [1, 253, 306, 0]
ToolUse
"#,
            ),
        ],
    },
    Recordings {
        dir: "openai_responses_answer",
        decode: |pieces| OpenAiResponses::new(endpoint()).unwrap().decode(pieces),
        answers: &[
            (
                "call",
                r#"call call_AbCdEfGhIjKlMnOpQrStUvWx grep "{\"pattern\":\"ä\"}"
usage [45, 25, 0, 0]
ToolUse
"#,
            ),
            (
                "changing-ids",
                r#"thinking "**Counting letters**"
text "Three “r”." signed {"v":1,"id":"item-9","phase":"final_answer"}
usage [19, 105, 0, 0]
Stop
"#,
            ),
            (
                "encrypted-reasoning",
                r#"thinking "**Who invented it**\n\nTwo claims." signed {"type":"reasoning","id":"rs_00112233445566778899aabbccddeeff0011223344556677","summary":[{"type":"summary_text","text":"**Who invented it**\n\nTwo claims."}],"encrypted_content":"gAAAAABpZW5k"}
text "Unclear." signed {"v":1,"id":"msg_00112233445566778899aabbccddeeff0011223344556677","phase":"final_answer"}
usage [19, 200, 0, 0]
Stop
"#,
            ),
            (
                "failed-only",
                r#"usage [0, 0, 0, 0]
Overflow: Request too large for gpt-4o-mini on tokens per min (TPM): Limit 30000, Requested 35364.
"#,
            ),
            (
                "lmstudio-call",
                r#"thinking "One file." signed {"type":"reasoning","id":"rs_0a1b2c3d4e5f6g7h8i9j0","summary":[],"content":[{"type":"reasoning_text","text":"One file."}]}
text "I read it."
call call_0a1b2c3d4e5f6g7h8i9j0 read_file "{\"path\":\"a\"}"
usage [190, 74, 0, 0]
ToolUse
"#,
            ),
            (
                "null-code",
                r#"usage [0, 0, 0, 0]
Transient { retry_after: None }: Sorry, something went wrong.
"#,
            ),
            (
                "quota",
                r#"usage [0, 0, 0, 0]
Quota: You exceeded your current quota, please check your plan.
"#,
            ),
            (
                "truncated-reasoning",
                r#"thinking ""
usage [1, 1, 0, 0]
Length
"#,
            ),
            (
                "xai-reasoning",
                r#"thinking "First, the file.\n\n\n## Reading it\n- One file." signed {"type":"reasoning","id":"rs_00112233-4455-6677-8899-aabbccddeeff","summary":[{"text":"First, the file.\n\n\n## Reading it\n- One file.","type":"summary_text"}],"encrypted_content":"WjtnRFdCc2VhbA=="}
call call_00112233 read_file "{\"path\":\"a\"}"
usage [115, 253, 192, 0]
ToolUse
"#,
            ),
        ],
    },
];

/// Describes an answer, one line each for its blocks, its last counts (input, output, cache read, cache write) and its
/// end.
fn describe(items: &[Result<StreamEvent, ProviderError>]) -> String {
    let mut blocks: Vec<(String, String, String)> = Vec::new();
    let (mut counts, mut others) = (Usage::default(), String::new());
    for item in items {
        let (block, head, text, signature) = match item {
            Ok(StreamEvent::Text { block, text }) => (*block, "text".to_owned(), text.as_str(), ""),
            Ok(StreamEvent::Thinking { block, text }) => (*block, "thinking".to_owned(), text.as_str(), ""),
            Ok(StreamEvent::Signature { block, text }) => (*block, "thinking".to_owned(), "", text.as_str()),
            Ok(StreamEvent::Call { block, id, name }) => (*block, format!("call {id} {name}"), "", ""),
            Ok(StreamEvent::Arguments { block, json }) => (*block, String::new(), json.as_str(), ""),
            Ok(StreamEvent::End { .. }) => continue,
            Ok(StreamEvent::Usage(usage)) => {
                counts = usage.clone();
                continue;
            }
            Ok(StreamEvent::Trace { name, .. }) => {
                writeln!(others, "trace {name}").unwrap();
                continue;
            }
            Ok(StreamEvent::Finished(reason)) => {
                writeln!(others, "{reason:?}").unwrap();
                continue;
            }
            Err(error) => {
                writeln!(others, "{:?}: {}", error.failure, error.message).unwrap();
                continue;
            }
        };
        if block == blocks.len() {
            blocks.push((head, String::new(), String::new()));
        }
        blocks[block].1.push_str(text);
        blocks[block].2.push_str(signature);
    }
    let mut answer = String::new();
    for (head, text, signature) in blocks {
        let signed = if signature.is_empty() { String::new() } else { format!(" signed {signature}") };
        writeln!(answer, "{head} {text:?}{signed}").unwrap();
    }
    let Usage { input, output, cache_read, cache_write, .. } = counts;
    let counts = [input, output, cache_read, cache_write].map(|count| count.0);
    write!(answer, "usage {counts:?}\n{others}").unwrap();
    answer
}

#[tokio::test]
async fn recorded_streams_give_their_answers() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for Recordings { dir, decode, answers } in RECORDINGS {
        let mut found = Vec::new();
        for entry in fs::read_dir(corpus.join(dir)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = Bytes::from(fs::read(&path).unwrap());
            if !bytes.starts_with(MARK.as_bytes()) {
                continue;
            }
            let name = path.file_stem().unwrap().display().to_string();
            let whole: Vec<_> = decode(vec![bytes.clone()]).collect().await;
            let single: Vec<_> =
                decode(bytes.chunks(1).map(Bytes::copy_from_slice).collect()).collect().await;
            assert_eq!(single, whole, "{dir}/{name}, byte by byte");
            let answer = answers.iter().find(|(file, _)| *file == name).map(|(_, answer)| *answer);
            assert_eq!(Some(describe(&whole).as_str()), answer, "{dir}/{name}");
            found.push(name);
        }
        assert_eq!(found.len(), answers.len(), "{dir}: {found:?}");
    }
}
