"use strict";
// Requests to the server, their problems in words, and elements from data.

const find = (what, within = document) => within.querySelector(what);

// Shows control characters, and those that are invisible or reorder text, as an export does: in a name, they could
// feign another one. Joiners, selectors and tags stay, because emoji need them.
const visible = (text) =>
  text.replace(
    /(?![\t\n\u180b-\u180d\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e01ef}])[\p{Cc}\p{Bidi_C}\p{DI}\u2028\u2029\ufff9-\ufffb]/gu,
    (char) => {
      const code = char.codePointAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code === 0x7f ? "␡" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
    },
  );

// Creates an element. Text is never parsed as HTML.
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
};

// A second click is ignored while the action of the first one runs.
const once = (action) => {
  let running = null;
  return () => {
    running ??= Promise.resolve(action()).finally(() => (running = null));
  };
};

const onClick = (element, action) => element.addEventListener("click", once(action));

const button = (text, action, className = "") => {
  const element = make("button", { type: "button", className }, text);
  onClick(element, action);
  return element;
};

// A button whose name for screen readers includes its subject.
const buttonFor = (subject, text, action) => {
  const element = button(text, action);
  element.setAttribute("aria-label", `${text}: ${subject.slice(0, 60)}`);
  return element;
};

// Removes an element. If the focus is in it, it moves to the dock: otherwise, Tab would continue at the top of the page.
// A text field would open the keyboard of a phone.
const removeElement = (element) => {
  const hadFocus = element?.contains(document.activeElement);
  element?.remove();
  if (hadFocus) find(".dock").focus({ preventScroll: true });
};

const elapsedText = (since) => {
  const seconds = Math.max(0, Math.round((Date.now() - since) / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

// Parses HTML of the server's renderer, which escapes all text. Nothing else is parsed as HTML.
const parseRendered = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
};

const PROBLEMS = {
  unauthorized: "The token of this page is no longer valid. Open the address that `tiller serve` prints.",
  "session-not-open": "The session is closed. Resume it first.",
  "session-locked": "Another program has the session open. Close it there first.",
};

class RequestProblem extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

// A message is shown while a request waits for a response: other windows may use all connections to the server.
const LATE_MS = 3000;
const late = new Set(); // timers of requests that have waited so long
const showIfLate = (response) => {
  const show = () => (find(".late").hidden = late.size === 0);
  const timer = setTimeout(() => {
    late.add(timer);
    show();
  }, LATE_MS);
  return response.finally(() => {
    clearTimeout(timer);
    late.delete(timer);
    show();
  });
};

// Sends a request; returns the JSON of the response, or null if it has none.
const request = async (method, path, body, headers) => (await exchange(method, path, body, headers)).data;

// Sends a request; returns the JSON and the version of the response.
const exchange = async (method, path, body, headers = {}) => {
  const options = { method, headers };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json", ...headers };
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    const sent = fetch(path, options);
    // The response to a command comes at its end.
    response = await (path.endsWith("/bash") ? sent : showIfLate(sent));
  } catch {
    throw new RequestProblem("The server can’t be reached.", "unreachable");
  }
  const data = await response.json().catch(() => null);
  if (response.ok) return { data, version: response.headers.get("ETag") };
  const kind = data?.type?.split(":").pop() ?? "unknown";
  const described = [data?.title ?? `Status ${response.status}`, data?.detail].filter(Boolean).join(": ");
  throw new RequestProblem(PROBLEMS[kind] ?? `${described}.`, kind);
};

const render = async (body) => parseRendered((await request("POST", "api/render", body)).html);

const showProblem = (text) => {
  const problem = find(".problem");
  problem.hidden = !text;
  problem.textContent = text;
};

// Runs an action of the user. A failure is shown; returns true if there was none.
const attempt = async (action) => {
  showProblem("");
  try {
    await action();
    return true;
  } catch (error) {
    showProblem(error.message);
    if (!(error instanceof RequestProblem)) throw error;
    return false;
  }
};

// Runs an action that no user started. A failure is shown.
const inBackground = (action) => action().catch((error) => showProblem(error.message));

// Runs a slow job, but never twice concurrently: calls during a run start one more. Resolves when no run is left.
const oneAtATime = (job) => {
  let [current, again] = [null, false];
  const work = async () => {
    while (again) {
      again = false;
      await inBackground(job);
    }
    current = null;
  };
  return () => {
    again = true;
    current ??= work();
    return current;
  };
};
