//! The head of a page with its Content-Security-Policy, and the scripts at the end of the page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::markup::Markup;

/// The styles of all pages.
pub(super) const STYLE_SHEET: &str = include_str!("page.css");

/// Applies the light or dark theme before the first paint.
const THEME_SCRIPT: &str = include_str!("theme.js");

/// Switches branches, folds and searches.
pub(super) const BRANCHES_SCRIPT: &str = include_str!("branches.js");

/// The parts of a page that its Content-Security-Policy must allow.
pub(super) struct PageHead<'a> {
    pub(super) title: &'a str,
    /// The start tag of the body.
    pub(super) body: &'static str,
    pub(super) style_sheets: &'static [&'static str],
    /// The scripts at the end of the page, in the order in which they run.
    pub(super) scripts: &'static [&'static str],
    /// The directive that allows requests; empty for a page that makes none.
    pub(super) connect: &'static str,
}

impl PageHead<'_> {
    /// Writes everything before the body's content.
    pub(super) fn begin(&self, out: &mut Markup) {
        out.tags("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.tags("<meta http-equiv=\"Content-Security-Policy\"")
            .attribute("content", &self.policy())
            .tags(">\n");
        out.tags("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.tags("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"tiller\">\n");
        // Otherwise, browsers would request `/favicon.ico`.
        out.tags(
            "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n",
        );
        out.tags("<title>").text(self.title).tags("</title>\n");
        for style_sheet in self.style_sheets {
            out.tags("<style>").tags(style_sheet).tags("</style>\n");
        }
        out.tags("<script>").tags(THEME_SCRIPT).tags("</script>\n</head>\n").tags(self.body);
    }

    /// Writes the scripts and the end of the page.
    pub(super) fn end(&self, out: &mut Markup) {
        for script in self.scripts {
            out.tags("<script>").tags(script).tags("</script>\n");
        }
        out.tags("</body>\n</html>\n");
    }

    /// Returns the policy: nothing is loaded, and only these styles and scripts apply.
    fn policy(&self) -> String {
        let scripts: Vec<&str> = std::iter::once(THEME_SCRIPT).chain(self.scripts.iter().copied()).collect();
        format!(
            "default-src 'none'; {}img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            self.connect,
            hashes(self.style_sheets),
            hashes(&scripts)
        )
    }
}

fn hashes(sources: &[&str]) -> String {
    let hash = |source: &&str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(source)));
    sources.iter().map(hash).collect::<Vec<_>>().join(" ")
}
