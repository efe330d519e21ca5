//! The HTTP front end: sessions as a JSON API, and their events as server-sent events.
//!
//! [`HttpServer`] holds the router and the open sessions. It knows neither configuration files nor the wiring of a
//! session: a [`SessionHost`] starts, finds and removes sessions. `table` owns the open ones, `feed` replays their
//! events, `access` decides which requests are served. The API is documented in docs/server.md.

mod access;
mod app_state;
mod base_path;
mod connection;
mod event_frame;
mod feed;
mod free_memory;
mod guard;
mod handlers;
mod host;
mod log_queries;
mod metrics;
mod open_session;
mod openapi;
mod params;
mod problem;
mod requests;
mod roots;
mod router;
mod serve;
mod session_view;
mod stream;
mod table;
mod token;
mod watchers;

pub use access::{AccessRules, CookieScope};
pub use base_path::{BasePath, InvalidBasePath};
pub use connection::{TlsError, tls_config};
pub use handlers::attach::ATTACH_PROTOCOL;
pub use host::{
    HostError, HostFuture, HostedSession, NewSession, RenderBody, RenderedEntries, ResumeRequest,
    SessionHost, SessionSettings, SkillSummary,
};
pub use roots::{RootError, WorkspaceRoots};
pub use serve::{BoundSocket, FoundSession, HttpServer};
pub use token::{NoRandomNumbers, is_token, random_token};
