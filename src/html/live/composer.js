"use strict";
// The message to send, the queue, and the actions on the selected entry.
const composer = (() => {
  const form = find(".composer");
  const input = find("textarea", form);
  const queueList = find(".queue");

  const joined = (...texts) => texts.map((text) => text.trim()).filter(Boolean).join("\n\n");
  // The browser keeps the texts of each session: the draft, and messages that the server hasn't accepted.
  const load = (name) => {
    try {
      return localStorage.getItem(name) ?? "";
    } catch {
      return "";
    }
  };
  const keep = (name, text) => {
    try {
      if (text) localStorage.setItem(name, text);
      else localStorage.removeItem(name);
    } catch {
      // The text then lasts as long as the session is shown.
    }
  };
  const draftOf = (id) => `tiller-draft ${id}`;
  const unsentOf = (id) => `tiller-unsent ${id}`;
  let sending = []; // messages on their way: session, text
  const keepUnsent = (id) => keep(unsentOf(id), joined(...sending.filter((it) => it.id === id).map((it) => it.text)));
  const changed = () => {
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight + 2}px`;
    keep(draftOf(session.id), input.value);
  };
  const showDraft = () => {
    const { id } = session;
    // Of a page that was left before the server answered.
    const unsent = sending.some((it) => it.id === id) ? "" : load(unsentOf(id));
    input.value = unsent ? joined(unsent, load(draftOf(id))) : load(draftOf(id));
    attachments.set([]);
    changed();
    if (unsent) keep(unsentOf(id), "");
  };
  // Replaces the text, if it is empty, or adds to it.
  const insert = (text) => {
    if (!text) return;
    input.value = joined(input.value, text);
    changed();
    input.focus();
  };
  const send = async (behavior) => {
    const message = input.value;
    if (!message.trim() && attachments.isEmpty()) return;
    const [path, body] = requestOf(message, behavior);
    const files = body.command ? [] : attachments.take();
    if (files.length > 0) body.images = files.map(({ data, mimeType }) => ({ data, mimeType }));
    const { id } = session;
    const sent = { id, text: message };
    // A command ends long after it was accepted.
    if (!body.command) sending.push(sent);
    keepUnsent(id);
    input.value = "";
    changed();
    const isSent = await attempt(() => request("POST", path, body));
    sending = sending.filter((it) => it !== sent);
    keepUnsent(id);
    if (isSent) return;
    if (session?.id === id) {
      insert(message);
      attachments.addFiles(files);
    } else {
      keep(draftOf(id), joined(load(draftOf(id)), message));
    }
  };
  // A message, or with `!` a command, whose output the model doesn't see with `!!`.
  const requestOf = (message, behavior) => {
    const [, prefix, command] = /^\s*(!!?)\s*(\S[^]*)$/.exec(message) ?? [];
    if (!command) return [`${session.path}/chat`, { message, behavior }];
    return [`${session.path}/bash`, { command, excludeFromContext: prefix === "!!" }];
  };
  const stop = () =>
    attempt(async () => {
      const { queue, images } = await request("POST", `${session.path}/abort`);
      insert(inOrder(queue.items).map((item) => item.typed ?? item.text).join("\n\n"));
      attachments.addFiles(images.map((image) => ({ name: image.mimeType, ...image })));
    });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send("steer");
  });
  input.addEventListener("input", changed);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(event.altKey ? "followUp" : "steer");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.target.closest("input, select, .queued")) return;
    if (session?.isRunning || session?.bash) stop();
  });
  onClick(find("[data-do=queue]", form), () => send("followUp"));
  onClick(find("[data-do=stop]", form), stop);

  // The queue. Each change is made to the server's current list: if another client changes it meanwhile, once more.
  // `change` gets the ids, to be sent with the changes, and the server's items.
  const changeQueue = (change) => attempt(() => tryChange(`${session.path}/queue`, change));
  const tryChange = async (path, change) => {
    const { data, version } = await exchange("GET", path);
    const items = change(data.items.map(({ id }) => ({ id })), data.items);
    try {
      await request("PUT", path, { items }, { "If-Match": version });
    } catch (error) {
      if (error.kind !== "queue-changed") throw error;
      await tryChange(path, change);
    }
  };
  const CHANGED_BY_OTHER =
    "Someone else has changed this message. Save again to replace it with your text, or Cancel to keep theirs.";
  // id of a queued message that is edited -> its row, the text field, its text before, and the server's item
  const edits = new Map();
  const edit = (row, item) => {
    const text = make("textarea", { value: item.text, rows: 2 });
    text.setAttribute("aria-label", "Queued message");
    const known = { row, text, before: item.text, item };
    // Ends the edit, and shows this message.
    const end = (shown) => {
      edits.delete(item.id);
      row.replaceWith(queueRow(shown));
    };
    const save = async () => {
      const before = known.before;
      let unseen = null;
      const change = (items, queued) => {
        const current = queued.find(({ id }) => id === item.id)?.text ?? before;
        // The same text is there if an earlier attempt succeeded without a response.
        if (![before, text.value].includes(current)) {
          unseen = current;
          throw new RequestProblem(CHANGED_BY_OTHER, "edited");
        }
        const edited = items.find(({ id }) => id === item.id);
        // If it is delivered after this point, it is with this text.
        known.before = edited ? text.value : before;
        if (edited) edited.text = text.value;
        return items;
      };
      if (await changeQueue(change)) end({ ...known.item, text: text.value });
      else known.before = unseen ?? before;
    };
    edits.set(item.id, known);
    row.replaceChildren(text, button("Save", save, "primary"), button("Cancel", () => end(known.item)));
    text.focus();
  };
  // Keeps the text of an edit whose message was delivered or removed.
  const endEdit = (id) => {
    const { text, before } = edits.get(id);
    edits.delete(id);
    if (text.value === before) return;
    insert(text.value);
    showProblem("The message is no longer queued. Your text is in the composer.");
  };
  const queueRow = (item) => {
    const images = item.images ? ` (${item.images === 1 ? "1 image" : `${item.images} images`})` : "";
    const text = (item.typed ?? item.text) + images;
    const kind = item.held ? "held" : item.kind === "followUp" ? "next" : "steer";
    const row = make("div", { className: "queued" });
    const release = () =>
      changeQueue((items) => items.map(({ id }) => (id === item.id ? { id, held: false } : { id })));
    row.append(
      make("span", { className: "label" }, kind),
      make("span", { className: "text" }, text),
      ...(item.held ? [buttonFor(text, "Send", release)] : []),
      buttonFor(text, "Edit", () => edit(row, item)),
      buttonFor(text, "Remove", () => changeQueue((items) => items.filter(({ id }) => id !== item.id))),
    );
    return row;
  };
  // Steering messages are delivered before the others.
  const inOrder = (items) => [
    ...items.filter(({ kind }) => kind !== "followUp"),
    ...items.filter(({ kind }) => kind === "followUp"),
  ];
  const setQueue = (items, total = items.length) => {
    queueList.hidden = items.length === 0;
    for (const item of items) if (edits.has(item.id)) edits.get(item.id).item = item;
    const rows = inOrder(items).map((item) => edits.get(item.id)?.row ?? queueRow(item));
    for (const row of [...queueList.children]) if (!rows.includes(row)) removeElement(row);
    // An edited row stays in its place, or it would lose the focus.
    rows.forEach((row, at) => row !== queueList.children[at] && queueList.insertBefore(row, queueList.children[at]));
    for (const id of [...edits.keys()]) if (!items.some((item) => item.id === id)) endEdit(id);
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
  onClick(find("[data-do=navigate]"), () =>
    attempt(async () => {
      const entryId = selected.id;
      const { text } = await request("POST", `${session.path}/navigate`, { entryId });
      session.follows = true;
      insert(text);
      input.focus();
    }),
  );
  onClick(find("[data-do=fork]"), () =>
    attempt(async () => {
      const { id } = await request("POST", `${session.path}/fork`, { entryId: selected.id });
      await sessions.resume(id);
      // The text of a prompt is held in the queue of its fork.
      const { items } = await request("DELETE", `api/sessions/${encodeURIComponent(id)}/queue`);
      const text = items.map((item) => item.text).join("\n\n");
      if (session?.id === id) insert(text);
      else keep(draftOf(id), text);
    }),
  );

  const update = () => {
    form.hidden = !session?.isOpen;
    find("[data-do=queue]", form).hidden = !session?.isRunning;
    find("[data-do=stop]", form).hidden = !session?.isRunning && !session?.bash;
    find("[type=submit]", form).textContent = session?.isRunning ? "Steer" : "Send";
    entryActions.hidden = !session?.isOpen || !selected;
  };
  return { deselect, focus: () => input.focus(), setQueue, showDraft, update };
})();
