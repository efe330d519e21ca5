"use strict";
// Approval requests, questions of tool servers, and the choice after a failed compaction.
const questions = (() => {
  const panel = find(".questions");
  const open = new Map(); // key -> element

  const remove = (key) => {
    const element = open.get(key);
    open.delete(key);
    removeElement(element);
  };
  // Shows a question; with the same key it replaces the earlier one.
  const show = (key, title, ...content) => {
    remove(key);
    const element = make("section", { className: "question" }, make("h2", {}, title), ...content);
    open.set(key, element);
    panel.append(element);
    return element;
  };
  const clear = () => [...open.keys()].forEach(remove);
  const answer = (path, body) => attempt(() => request("POST", `${session.path}/${path}`, body));

  const text = async (content) => make("p", {}, await render({ kind: "text", text: content }));
  const preview = async (change) => {
    if (!change) return null;
    if (change.kind === "failure") return make("p", { className: "failed" }, change.message);
    return render({ kind: "diff", diff: change.diff, path: change.path });
  };
  const approval = async (call) => {
    const key = `call ${call.toolCallId}`;
    const decide = (body) => answer(`approvals/${encodeURIComponent(call.toolCallId)}`, body);
    const reason = make("input", { type: "text", placeholder: "Reason, for the model" });
    reason.setAttribute("aria-label", "Reason for the denial");
    const deny = () => decide(reason.value.trim() ? { approved: false, reason: reason.value.trim() } : { approved: false });
    reason.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      deny();
    });
    const buttons = make("div", { className: "buttons" }, reason, button("Deny", deny));
    const details = make("div", { className: "details" });
    show(key, `Allow ${call.toolName}?`, details, buttons);
    // A command could hide a part of itself with invisible characters, which the server's renderer shows.
    const [reasonText, rendered, change, rule] = await Promise.all([
      text(`${call.reason}.${call.later ? ` ${call.later} more will need approval after it.` : ""}`),
      render({ kind: "call", name: call.toolName, arguments: call.args }),
      preview(call.preview),
      call.rule ? text(`“For this session” allows ${call.rule}.`) : null,
    ]);
    rule?.classList.add("note");
    details.append(reasonText, find(".inside", rendered), ...[change, rule].filter(Boolean));
    // Only what is shown can be allowed.
    const allow = [button("Allow once", () => decide({ approved: true }), "primary")];
    if (call.rule) allow.push(button("Allow for this session", () => decide({ approved: true, always: true })));
    buttons.prepend(...allow);
  };

  const INPUTS = { text: "text", integer: "number", number: "number", boolean: "checkbox" };
  const field = ({ name, title, description, required, type, options, default: initial }) => {
    let input;
    if (options) {
      input = make("select", { name, required, multiple: type === "choices" });
      if (type === "choice" && !required) input.append(make("option", { value: "" }, ""));
      const chosen = [initial ?? []].flat();
      for (const { value, title: text } of options) {
        input.append(make("option", { value, selected: chosen.includes(value) }, text ?? value));
      }
    } else {
      input = make("input", { name, type: INPUTS[type] ?? "text", required: required && type !== "boolean" });
      if (type === "number") input.step = "any";
      if (type === "boolean") input.checked = initial === true;
      else input.value = initial ?? "";
    }
    input.dataset.type = type;
    return make("label", { title: description ?? "" }, `${title ?? name} `, input);
  };
  const valueOf = (input) => {
    if (input.dataset.type === "boolean") return input.checked;
    if (input.dataset.type === "choices") return [...input.selectedOptions].map((option) => option.value);
    if (input.value === "") return undefined;
    return input.type === "number" ? Number(input.value) : input.value;
  };
  const elicitation = async (asked) => {
    const key = `question ${asked.elicitationId}`;
    const reply = (action, content) => answer(`elicitations/${encodeURIComponent(asked.elicitationId)}`, { action, content });
    const form = make("form", {}, ...(asked.fields ?? []).map(field));
    if (asked.url) {
      const link = make("a", { href: asked.url, target: "_blank", rel: "noopener noreferrer" }, asked.url);
      form.append(make("p", {}, `Open on ${asked.host}: `, link));
    }
    form.append(
      make(
        "div",
        { className: "buttons" },
        make("button", { type: "submit", className: "primary" }, asked.url ? "I have opened it" : "Answer"),
        button("Decline", () => reply("decline")),
        button("Cancel", () => reply("cancel")),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const inputs = [...form.querySelectorAll("[name]")];
      const values = inputs.map((input) => [input.name, valueOf(input)]).filter(([, value]) => value !== undefined);
      reply("accept", Object.fromEntries(values));
    });
    const message = make("p");
    show(key, `Question from ${asked.server ?? "tiller"}`, message, form);
    message.append(await render({ kind: "text", text: asked.message }));
  };

  const CHOICES = { retry: "Try again", truncate: "Drop older messages", go_on: "Continue unchanged" };
  const compaction = (message, choices) => {
    const choose = (choice) => async () => {
      if (await answer("compaction", { choice })) remove("compaction");
    };
    const buttons = choices.map((choice) => button(CHOICES[choice] ?? choice, choose(choice)));
    const row = make("div", { className: "buttons" }, ...buttons);
    show("compaction", "The context could not be compacted", make("p", {}, message), row);
  };

  return {
    approval: (call) => inBackground(() => approval(call)),
    elicitation: (asked) => inBackground(() => elicitation(asked)),
    compaction,
    clear,
    removeCall: (id) => remove(`call ${id}`),
    removeElicitation: (id) => remove(`question ${id}`),
    removeCompaction: () => remove("compaction"),
    get count() {
      return open.size;
    },
    choices: Object.keys(CHOICES),
  };
})();
