"use strict";
// The message to send, the queue, and the actions on the selected entry.
const composer = (() => {
  const form = find(".composer");
  const input = find("textarea", form);
  const queueList = find(".queue");

  const fit = () => {
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight + 2}px`;
  };
  // Replaces the text, if it is empty, or adds to it.
  const insert = (text) => {
    if (!text) return;
    input.value = [input.value.trim(), text].filter(Boolean).join("\n\n");
    fit();
    input.focus();
  };
  const send = async (behavior) => {
    const message = input.value;
    if (!message.trim()) return;
    input.value = "";
    fit();
    const sent = await attempt(() => request("POST", `${session.path}/chat`, { message, behavior }));
    if (!sent) insert(message);
  };
  const stop = () =>
    attempt(async () => {
      const { queue } = await request("POST", `${session.path}/abort`);
      insert(queue.items.map((item) => item.typed ?? item.text).join("\n\n"));
    });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send("steer");
  });
  input.addEventListener("input", fit);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(event.altKey ? "followUp" : "steer");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.target.closest("input, select, .queued")) return;
    if (session?.isRunning) stop();
  });
  find("[data-do=queue]", form).addEventListener("click", () => send("followUp"));
  find("[data-do=stop]", form).addEventListener("click", stop);

  // The queue. Each change is made to the server's current list.
  const changeQueue = (change) =>
    attempt(async () => {
      const { items } = await request("GET", `${session.path}/queue`);
      await request("PUT", `${session.path}/queue`, { items: items.flatMap(({ id }) => change(id)) });
    });
  const edit = (row, item) => {
    const text = make("textarea", { value: item.text, rows: 2 });
    text.setAttribute("aria-label", "Queued message");
    const save = () => changeQueue((id) => [id === item.id ? { id, text: text.value } : { id }]);
    row.replaceChildren(text, button("Save", save, "primary"), button("Cancel", () => row.replaceWith(queueRow(item))));
    text.focus();
  };
  const queueRow = (item) => {
    const text = item.typed ?? item.text;
    const kind = item.held ? "held" : item.kind === "followUp" ? "next" : "steer";
    const row = make("div", { className: "queued" });
    const labelled = (name, action) => {
      const element = button(name, action);
      element.setAttribute("aria-label", `${name}: ${text.slice(0, 60)}`);
      return element;
    };
    row.append(
      make("span", { className: "label" }, kind),
      make("span", { className: "text" }, text),
      ...(item.held ? [labelled("Send", () => changeQueue((id) => [id === item.id ? { id, held: false } : { id }]))] : []),
      labelled("Edit", () => edit(row, item)),
      labelled("Remove", () => changeQueue((id) => (id === item.id ? [] : [{ id }]))),
    );
    return row;
  };
  const setQueue = (items, total = items.length) => {
    queueList.hidden = items.length === 0;
    queueList.replaceChildren(...items.map(queueRow));
    if (total > items.length) queueList.append(make("p", { className: "note" }, `${total - items.length} more`));
  };

  // The selected entry.
  const entryActions = find(".entry-actions");
  const stage = find(".stage");
  let selected = null;
  branches.onSelect = (element) => {
    selected = element;
    entryActions.hidden = !session?.isOpen;
    element.prepend(entryActions);
    sessions.showPanel(null);
  };
  // Takes the actions out of an entry before entries are removed.
  const deselect = () => {
    selected = null;
    entryActions.hidden = true;
    stage.append(entryActions);
  };
  find("[data-do=navigate]").addEventListener("click", () =>
    attempt(async () => {
      const entryId = selected.id;
      const { text } = await request("POST", `${session.path}/navigate`, { entryId });
      session.follows = true;
      insert(text);
      input.focus();
    }),
  );
  find("[data-do=fork]").addEventListener("click", () =>
    attempt(async () => {
      const { id } = await request("POST", `${session.path}/fork`, { entryId: selected.id });
      await sessions.resume(id, session.model);
    }),
  );

  const update = () => {
    form.hidden = !session?.isOpen;
    find("[data-do=queue]", form).hidden = !session?.isRunning;
    find("[data-do=stop]", form).hidden = !session?.isRunning;
    find("[type=submit]", form).textContent = session?.isRunning ? "Steer" : "Send";
    entryActions.hidden = !session?.isOpen || !selected;
  };
  return { deselect, setQueue, update };
})();
