"use strict";
// Work outside the run: background jobs, and agents with tasks of the session.
const background = (() => {
  const list = find(".background");
  const rows = new Map(); // id -> element, start, elapsed, activity

  const add = (id, since, kind, text) => {
    remove(id);
    const [elapsed, activity] = [make("span", { className: "note" }), make("span", { className: "note" })];
    const label = make("span", { className: "label" }, kind);
    const path = `${session.path}/${kind}s/${encodeURIComponent(id)}/stop`;
    const stop = buttonFor(text.textContent, "Stop", () => request("POST", path));
    const element = make("div", { className: "queued" }, label, text, activity, elapsed, stop);
    rows.set(id, { element, since, elapsed, activity });
    list.append(element);
    list.hidden = false;
  };
  const remove = (id) => {
    removeElement(rows.get(id)?.element);
    rows.delete(id);
    list.hidden = rows.size === 0;
  };
  const addJob = ({ jobId, since, command }) => {
    const shown = visible(command);
    add(jobId, since, "job", make("code", { className: "text", title: shown }, shown));
  };
  const addAgent = ({ agentId, since, name, task }) => {
    const href = `?session=${encodeURIComponent(agentId)}`;
    const link = make("a", { className: "text", href, title: visible(task) }, visible(`${name}: ${task}`));
    add(agentId, since ?? Date.now(), "agent", link);
  };
  // The newest call of an agent, also of one that works for another agent.
  const showActivity = ({ agentId, event }) => {
    const row = rows.get(agentId);
    if (row && event.type === "tool_execution_start") row.activity.textContent = event.toolName;
  };
  const tick = () => {
    for (const { since, elapsed } of rows.values()) elapsed.textContent = elapsedText(since);
  };
  const clear = () => [...rows.keys()].forEach(remove);
  return { addJob, addAgent, showActivity, remove, tick, clear };
})();
