//! A client that checks every response against the API's description.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Request, header};
use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::support::{Answered, TestServer, request};

/// The name of the description among the schemas.
const DOCUMENT: &str = "openapi.json";

pub(crate) struct CheckingClient<'a> {
    server: &'a TestServer,
    document: Value,
    compiler: Compiler,
    schemas: Schemas,
    /// The operations that have succeeded: method and path.
    succeeded: BTreeSet<(String, String)>,
}

impl<'a> CheckingClient<'a> {
    pub(crate) async fn new(server: &'a TestServer) -> Self {
        let document = server.get("/openapi.json").await.json();
        let mut compiler = Compiler::new();
        compiler.add_resource(DOCUMENT, document.clone()).unwrap();
        Self { server, document, compiler, schemas: Schemas::new(), succeeded: BTreeSet::new() }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answered {
        self.send(request("GET", path, None)).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Answered {
        self.send(request("POST", path, Some(&body))).await
    }

    pub(crate) async fn send(&mut self, request: Request<Body>) -> Answered {
        let method = request.method().as_str().to_lowercase();
        let path = self.described_path(request.uri().path());
        let answered = self.server.send(request).await;
        let name = format!("{method} {path} {}", answered.status);
        self.check(&method, &path, &answered).unwrap_or_else(|error| panic!("{name}: {error}\n{answered:?}"));
        if answered.status < 300 {
            self.succeeded.insert((method, path));
        }
        answered
    }

    /// The operations with JSON responses that haven't succeeded.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for (path, methods) in self.document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let mut responses = operation["responses"].as_object().unwrap().values();
                let has_json =
                    responses.any(|response| response.pointer("/content/application~1json").is_some());
                if has_json && !self.succeeded.contains(&(method.clone(), path.clone())) {
                    missing.push(format!("{method} {path}"));
                }
            }
        }
        missing
    }

    /// Returns the path of the description that has this one.
    fn described_path(&self, path: &str) -> String {
        let parts: Vec<&str> = path.split('/').collect();
        let matches = |described: &str| {
            let names: Vec<&str> = described.split('/').collect();
            let mut pairs = names.iter().zip(&parts);
            names.len() == parts.len() && pairs.all(|(name, part)| name.starts_with('{') || name == part)
        };
        let paths = self.document["paths"].as_object().unwrap();
        let found = paths.keys().find(|described| matches(described));
        found.unwrap_or_else(|| panic!("{path} isn't described")).clone()
    }

    fn check(&mut self, method: &str, path: &str, answered: &Answered) -> Result<(), String> {
        let escaped = path.replace('~', "~0").replace('/', "~1");
        let responses = format!("/paths/{escaped}/{method}/responses");
        let described = self.document.pointer(&responses).ok_or("the operation isn't described")?;
        let status = answered.status.to_string();
        let (status, response) = match described.get(&status) {
            Some(response) => (status.as_str(), response),
            None if answered.status >= 400 => ("default", &described["default"]),
            None => return Err("the status isn't described".to_owned()),
        };
        let pointer = match response.get("$ref") {
            Some(reference) => reference.as_str().unwrap().trim_start_matches('#').to_owned(),
            None => format!("{responses}/{status}"),
        };
        let content = self.document.pointer(&format!("{pointer}/content"));
        let media_type = answered.header(header::CONTENT_TYPE).split(';').next().unwrap();
        let Some(content) = content else {
            return if answered.text.is_empty() { Ok(()) } else { Err("a body isn't described".to_owned()) };
        };
        content.get(media_type).ok_or_else(|| format!("{media_type} isn't described"))?;
        if !media_type.ends_with("json") {
            return Ok(());
        }
        let location = format!("{DOCUMENT}#{pointer}/content/{}/schema", media_type.replace('/', "~1"));
        let schema =
            self.compiler.compile(&location, &mut self.schemas).map_err(|error| format!("{error:#}"))?;
        self.schemas.validate(&answered.json(), schema).map_err(|error| error.to_string())
    }
}
