"use strict";
// The model and thinking level of the session.
const options = (() => {
  const [model, thinking] = [find(".model"), find(".thinking")];
  const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];
  let models = [];
  const nameOf = ({ provider, id }) => `${provider}/${id}`;
  const fill = (select, values, value) => {
    const all = values.includes(value) ? values : [value, ...values];
    if (select.options.length !== all.length || select.value !== value) {
      select.replaceChildren(...all.map((text) => make("option", { value: text }, text)));
      select.value = value;
    }
  };
  const update = () => {
    model.hidden = thinking.hidden = !session?.isOpen || !session.model;
    if (model.hidden) return;
    fill(model, models, nameOf(session.model));
    fill(thinking, LEVELS, session.thinking);
  };
  // Afterwards the choice shows the effective value again, which may be another one.
  const change = (name, body) => attempt(() => request("POST", `${session.path}/${name}`, body)).then(update);
  model.addEventListener("change", () => change("model", { model: model.value }));
  thinking.addEventListener("change", () => change("thinking", { level: thinking.value }));
  const load = async () => {
    models = (await request("GET", "api/models")).models.map(nameOf);
    find("#models").replaceChildren(...models.map((value) => make("option", { value })));
  };
  return { load, update };
})();

// The list of sessions, the form for a new one, and the address of the page.
const sessions = (() => {
  const [list, note, more] = [find(".session-list"), find(".sessions .panel > .note"), find(".more")];
  const search = find(".session-search");
  const form = find(".new-session form");
  const PAGE = 50;
  const MAX_LIMIT = 200; // of one request
  let wanted = PAGE;

  const age = (time) => {
    const minutes = Math.max(0, (Date.now() - time) / 60000);
    if (minutes < 1) return "now";
    if (minutes < 60) return `${Math.floor(minutes)} min`;
    return minutes < 1440 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`;
  };
  const row = ({ id, name, firstPrompt, workspacePath, modified, isOpen }) => {
    const facts = [workspacePath.split("/").pop(), modified ? age(modified) : null, isOpen ? "open" : null];
    const link = make(
      "a",
      { href: `?session=${encodeURIComponent(id)}`, title: visible(workspacePath) },
      make("span", { className: "text" }, visible(name ?? firstPrompt ?? "New session")),
      make("span", { className: "note" }, visible(facts.filter(Boolean).join(" · "))),
    );
    if (id === session?.id) link.setAttribute("aria-current", "page");
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      attempt(() => go(id));
    });
    return make("li", {}, link);
  };
  const refresh = oneAtATime(async () => {
    const query = search.value.trim();
    const found = [];
    let offset = 0;
    do {
      const limit = Math.min(wanted - found.length, MAX_LIMIT);
      const parameters = new URLSearchParams({ limit, offset, ...(query ? { query } : {}) });
      const page = await request("GET", `api/sessions?${parameters}`);
      found.push(...page.sessions);
      offset = page.nextOffset;
    } while (offset !== undefined && found.length < wanted);
    const focused = list.contains(document.activeElement) ? document.activeElement.href : null;
    list.replaceChildren(...found.map(row));
    if (focused) [...list.querySelectorAll("a")].find(({ href }) => href === focused)?.focus({ preventScroll: true });
    more.hidden = offset === undefined;
    note.textContent = found.length ? "" : query ? "No session matches." : "No sessions yet.";
    // Another page may have resumed the session.
    if (session && !session.isOpen && found.some(({ id, isOpen }) => id === session.id && isOpen)) await run.open(session.id);
  });
  more.addEventListener("click", () => {
    wanted += PAGE;
    refresh();
  });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 200);
  });
  addEventListener("focus", refresh);

  // Shows a session under its own address.
  const go = async (id) => {
    history.pushState(null, "", `?session=${encodeURIComponent(id)}`);
    showPanel(null);
    await run.open(id);
    await refresh();
  };
  // Opens a session with its own model. If that can't be used anymore, the server chooses another one, with a notice.
  const resume = async (id) => {
    const { state } = await request("POST", `api/sessions/${encodeURIComponent(id)}/resume`, {});
    await go(id);
    showProblem(state.notices.join("\n"));
  };
  const showAddress = () => {
    const id = new URLSearchParams(location.search).get("session");
    if (id === (session?.id ?? null)) return;
    attempt(() => (id ? run.open(id) : run.close())).then(refresh);
  };
  addEventListener("popstate", showAddress);

  const start = once(() =>
    attempt(async () => {
      const fields = new FormData(form);
      const body = { workspacePath: fields.get("workspacePath"), autoApprove: fields.has("autoApprove") };
      for (const name of ["name", "model"]) if (fields.get(name).trim()) body[name] = fields.get(name).trim();
      const { id, state } = await request("POST", "api/sessions", body);
      form.elements.name.value = "";
      find(".new-session").open = false;
      await go(id);
      showProblem(state.notices.join("\n"));
      find(".composer textarea").focus();
    }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start();
  });
  onClick(find("[data-do=resume]"), () => attempt(() => resume(session.id)));
  onClick(find("[data-do=close]"), () =>
    attempt(async () => {
      await request("POST", `${session.path}/close`);
      await go(session.id);
    }),
  );

  // The panels of a narrow screen.
  const toggles = [...document.querySelectorAll("button[data-panel]")];
  const showPanel = (name) => {
    if (name) document.body.dataset.panel = name;
    else delete document.body.dataset.panel;
    for (const toggle of toggles) toggle.setAttribute("aria-expanded", String(toggle.dataset.panel === name));
  };
  for (const toggle of toggles) {
    const { panel } = toggle.dataset;
    toggle.addEventListener("click", () => showPanel(document.body.dataset.panel === panel ? null : panel));
  }

  const load = async () => {
    const { roots } = await request("GET", "api/roots");
    form.elements.workspacePath.value = roots[0] ?? "";
    find("#roots").replaceChildren(...roots.map((value) => make("option", { value })));
    await options.load();
    run.update();
  };
  attempt(load);
  showAddress();
  if (!location.search.includes("session=")) {
    showPanel("sessions");
    refresh();
    run.update();
  }
  return { go, refresh, resume, showPanel };
})();
