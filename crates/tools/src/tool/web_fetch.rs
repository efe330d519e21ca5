//! `web_fetch`: fetches a page as Markdown, or plain text unchanged.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use htmd::HtmlToMarkdown;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, Url};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_core::media::detect_media_type;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits};

use super::http_client::{AddressScope, causes, client, read_body};
use super::{
    OutputOptions, ToolEnvironment, ToolOutput, ToolProgress, TypedTool, blocking, image, limit_output,
};
use crate::policy::is_private_address;
use crate::process::NetworkAccess;

/// Maximum size of a page, in bytes.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// Length of the prefix of a page that may declare its character set, in bytes (HTML Standard, 13.2.3.2).
const META_BYTES: usize = 1024;

/// Maximum depth of a page's elements.
const MAX_NESTING: usize = 2_000;

/// Stack size of the converter, in bytes: 16 KiB for each level.
const CONVERTER_STACK: usize = MAX_NESTING * 16 * 1024;

/// Elements without content, and elements that end at the next one of their kind.
const SELF_ENDING: &[&str] = &[
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option",
    "p", "source", "td", "th", "tr", "track", "wbr",
];

/// Maximum number of redirects on one host.
const MAX_REDIRECTS: usize = 5;

#[derive(Clone, Debug)]
pub(super) struct WebFetch {
    output: OutputOptions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Address of the page: http or https.
    url: String,
}

impl From<&ToolEnvironment> for WebFetch {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { output: environment.output_options() }
    }
}

impl TypedTool for WebFetch {
    type Arguments = Arguments;
    const NAME: &'static str = "web_fetch";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::Named("url"),
        output: OutputKind::Listing,
        set: Some(ToolSet::Web),
        ..ToolTraits::new(Access::Network)
    };

    fn description(&self) -> String {
        "Fetches a web page as Markdown; text and JSON are returned unchanged. A redirect to another host is reported, not \
         followed."
            .into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        parse_address(&arguments.url).map(drop)
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        // The policy has asked about an address that looks private.
        let is_allowed = progress.network() == NetworkAccess::Allowed || is_private_address(&arguments.url);
        let reach = if is_allowed { AddressScope::Anywhere } else { AddressScope::Public };
        match self.fetch(&arguments.url, reach).await {
            Ok(output) => output,
            Err(reason) => ToolOutput::error(reason),
        }
    }
}

fn parse_address(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("argument `url`: {error}"))?;
    match is_web(&url) {
        true => Ok(url),
        false => Err(format!("argument `url`: must begin with http:// or https://, not {}:", url.scheme())),
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

impl WebFetch {
    async fn fetch(&self, address: &str, reach: AddressScope) -> Result<ToolOutput, String> {
        let mut url = parse_address(address)?;
        let client = client(reach)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = client.get(url.clone()).send().await;
            let response = response.map_err(|error| format!("{url}: {}", causes(&error)))?;
            match redirect(&url, &response) {
                Some(target) if target.origin() == url.origin() || is_upgrade(&url, &target) => url = target,
                Some(target) if !is_web(&target) => {
                    return Err(format!(
                        "{url}: redirected to {target}, which isn't an http or https address"
                    ));
                }
                Some(target) => {
                    return Ok(ToolOutput::text(format!(
                        "[redirected to {target}; to follow, fetch this address]"
                    )));
                }
                None => return self.show(url, response).await,
            }
        }
        Err(format!("{address}: more than {MAX_REDIRECTS} redirects"))
    }

    async fn show(&self, url: Url, response: Response) -> Result<ToolOutput, String> {
        let (status, declared) = (response.status(), media_type(response.headers()));
        let (body, is_whole) =
            read_body(response, MAX_BYTES).await.map_err(|error| format!("{url}: {error}"))?;
        if let Some(mime_type) = detect_media_type(&body).filter(|_| is_whole && status.is_success()) {
            return Ok(image::output(url.as_str(), mime_type, &body));
        }
        let kind = declared.unwrap_or_else(|| guess_media_type(&body).to_owned());
        let Some(text) = decode(&kind, &body) else {
            return Err(format!("{url} is not text ({kind}); use bash to download it"));
        };
        let page = Page { text, is_html: kind.contains("html"), is_whole };
        let options = self.output.clone();
        let output = blocking::run(move |_| page.show(&options)).await;
        if status.is_success() {
            return Ok(output);
        }
        let text = tiller_core::message::joined_text(&output.content);
        Err(format!("{url}: status {status}\n{text}"))
    }
}

/// Returns the target of a redirect.
fn redirect(url: &Url, response: &Response) -> Option<Url> {
    let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    url.join(location.to_str().ok()?).ok()
}

/// Returns true if an address is the HTTPS address of the same host.
fn is_upgrade(url: &Url, target: &Url) -> bool {
    let is_usual = |url: &Url, scheme: &str| url.scheme() == scheme && url.port().is_none();
    url.host() == target.host() && is_usual(url, "http") && is_usual(target, "https")
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase())
}

/// Returns the media type of a text that is sent without one.
fn guess_media_type(body: &[u8]) -> &'static str {
    let body = body.trim_ascii_start();
    let begins_with = |tag: &[u8]| body.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    if begins_with(b"<!doctype html") || begins_with(b"<html") { "text/html" } else { "text/plain" }
}

/// Decodes a body according to its byte order mark, its declared character set, or as UTF-8; `None` if it
/// isn't text.
fn decode(kind: &str, body: &[u8]) -> Option<String> {
    let beginning = String::from_utf8_lossy(&body[..body.len().min(META_BYTES)]).to_ascii_lowercase();
    let declared = charset(kind).or_else(|| charset(&beginning).filter(|_| kind.contains("html")));
    let (text, encoding, _) = declared.unwrap_or(UTF_8).decode(body);
    let is_text = !body.contains(&0) || [UTF_16LE, UTF_16BE].contains(&encoding);
    is_text.then(|| text.into_owned())
}

/// Returns the character set declared in a media type or in the beginning of a page, in lower case.
fn charset(text: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once("charset=")?;
    let label = rest.trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}

/// A fetched page.
struct Page {
    text: String,
    is_html: bool,
    is_whole: bool,
}

impl Page {
    /// Returns as much of the page as fits into the limits; a longer page is stored.
    fn show(self, options: &OutputOptions) -> ToolOutput {
        let mut text = if self.is_html { to_markdown(&self.text) } else { self.text };
        let details = Some(json!({ "characters": text.chars().count() }));
        if text.trim().is_empty() {
            "[empty page]".clone_into(&mut text);
        }
        let mut output =
            limit_output(ToolOutput { details, ..ToolOutput::text(text) }, WebFetch::NAME, options);
        if !self.is_whole {
            output.push_cut("the page is longer than 5 MiB; the rest was not fetched".to_owned());
        }
        output
    }
}

/// Converts a page to Markdown, without its head, scripts and styles. A page that is nested too deeply isn't
/// converted.
fn to_markdown(html: &str) -> String {
    if nesting(html) > MAX_NESTING {
        return html.to_owned();
    }
    let page = html.to_owned();
    // The converter is recursive.
    let converted = std::thread::Builder::new().stack_size(CONVERTER_STACK).spawn(move || {
        let skipped = vec!["script", "style", "noscript", "template", "svg", "iframe", "head"];
        HtmlToMarkdown::builder().skip_tags(skipped).build().convert(&page).ok()
    });
    let converted = converted.ok().and_then(|thread| thread.join().ok()).flatten();
    converted.unwrap_or_else(|| html.to_owned())
}

/// Returns an upper bound for the depth of a page's elements. Elements that end implicitly don't count.
fn nesting(html: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
            continue;
        }
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        if !name.is_empty() && !SELF_ENDING.contains(&name.to_ascii_lowercase().as_str()) {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_finds_the_character_set() {
        for (kind, body, expected) in [
            ("text/plain", "é".as_bytes(), Some("é")),
            ("text/plain; charset=iso-8859-1", b"\xe9\x80", Some("é€")),
            ("text/plain; charset=\"windows-1251\"", b"\xcf", Some("П")),
            ("text/html; charset=shift_jis; x=y", b"\x93\xfa", Some("日")),
            ("text/html", b"<meta charset=windows-1252>\xe9", Some("<meta charset=windows-1252>é")),
            ("text/plain", b"<meta charset=windows-1252>\xe9", Some("<meta charset=windows-1252>\u{fffd}")),
            ("text/plain", b"\xff\xfea\0", Some("a")),
            ("text/plain; charset=unknown", "é".as_bytes(), Some("é")),
            ("application/zip", b"PK\0", None),
        ] {
            assert_eq!(decode(kind, body).as_deref(), expected, "{kind} {body:?}");
        }
    }

    #[test]
    fn to_markdown_deeply_nested_page_stays_html() {
        let nested = |depth: usize| format!("{}x{}", "<div>".repeat(depth), "</div>".repeat(depth));
        assert_eq!(to_markdown(&nested(MAX_NESTING)), "x");
        let deep = nested(300_000);
        assert_eq!(to_markdown(&deep), deep);
        let list = "<ul>".to_owned() + &"<li>a<br>".repeat(5_000) + "</ul>";
        assert_eq!(nesting(&list), 1);
    }

    #[test]
    fn is_upgrade_only_to_https_of_the_same_host() {
        let url = |address: &str| Url::parse(address).unwrap();
        for (from, to, expected) in [
            ("http://a.org/x", "https://a.org/y", true),
            ("https://a.org/", "http://a.org/", false),
            ("http://a.org/", "https://b.org/", false),
            ("http://a.org:8080/", "https://a.org/", false),
            ("http://a.org/", "https://a.org:8443/", false),
        ] {
            assert_eq!(is_upgrade(&url(from), &url(to)), expected, "{from} {to}");
        }
    }
}
