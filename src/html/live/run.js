"use strict";
// The session that is shown, and its operations in progress: entries, the growing answer, running calls, the status.
let session = null;

const run = (() => {
  const area = find(".running");
  const answers = []; // growing answers, oldest first: element, blocks, and the entry that replaces them
  const calls = new Map(); // id of a call -> element, start, output
  const TAIL_LINES = 12;
  let source = null;

  // An element in progress is removed when the entry that replaces it is on the page.
  const replaceBy = (item, entryId) => {
    if (item) item.entry = entryId;
    removeReplaced();
  };
  const removeReplaced = () => {
    const isReplaced = (item) => item.entry && branches.has(item.entry);
    for (const answer of answers.filter(isReplaced)) removeAnswer(answer);
    for (const [id, call] of calls) if (isReplaced(call)) removeCall(id);
  };
  const removeAnswer = (answer) => {
    answer.element.remove();
    answers.splice(answers.indexOf(answer), 1);
  };
  const removeCall = (id) => {
    calls.get(id)?.element.remove();
    calls.delete(id);
  };
  const clearProgress = (isRemoved = () => true) => {
    answers.filter(isRemoved).forEach(removeAnswer);
    for (const [id, call] of calls) if (isRemoved(call)) removeCall(id);
  };

  // The growing answer. Its blocks are rendered by the server, one request at a time, each with the newest text.
  const startAnswer = () => {
    const answer = { element: make("article", { className: "answer" }), blocks: new Map(), entry: null };
    area.prepend(answer.element);
    answers.push(answer);
    return answer;
  };
  const blockOf = (index, kind) => {
    const answer = answers.findLast((other) => !other.entry) ?? startAnswer();
    let block = answer.blocks.get(index);
    if (!block) {
      const body = make("div", { className: "prose" });
      const thought = () => make("details", { className: "thought" }, make("summary", {}, "Thinking"), body);
      answer.element.append(kind === "thinking" ? thought() : body);
      block = { body, text: "", rendered: "" };
      answer.blocks.set(index, block);
    }
    return block;
  };
  const grow = (index, kind, delta) => {
    blockOf(index, kind).text += delta;
    renderBlocks();
  };
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const renderBlocks = oneAtATime(async () => {
    for (const answer of answers) {
      for (const block of answer.blocks.values()) {
        const { text } = block;
        if (block.rendered === text) continue;
        block.body.replaceChildren(await render({ kind: "markdown", text }));
        block.rendered = text;
      }
    }
    await nextFrame();
  });

  // Running calls.
  const callOf = (id, name) => {
    let call = calls.get(id);
    if (!call) {
      const element = make("div", { className: "call" }, make("p", { className: "note" }, `${name} …`));
      call = { element, since: null, elapsed: make("span", { className: "note" }), output: "", entry: null };
      call.tail = make("div", { className: "tail" });
      call.showOutput = oneAtATime(async () => call.tail.replaceChildren(await render({ kind: "output", text: call.output })));
      calls.set(id, call);
      area.append(element);
    }
    return call;
  };
  const startCall = async ({ toolCallId, toolName, args, since }) => {
    const call = callOf(toolCallId, toolName);
    call.since = since ?? Date.now();
    const rendered = await render({ kind: "call", name: toolName, arguments: args });
    find("summary", rendered).append(call.elapsed);
    call.element.replaceChildren(rendered, call.tail);
  };
  const showOutput = ({ toolCallId, partialResult }) => {
    const call = calls.get(toolCallId);
    const text = (partialResult?.content ?? []).map((block) => block.text ?? "").join("\n");
    if (!call || !text) return;
    call.output = lastLines(text);
    call.showOutput();
  };
  const lastLines = (text) => text.trimEnd().split("\n").slice(-TAIL_LINES).join("\n");

  // The command of a user, until its record is on the page.
  const BASH = "bash";
  const startBash = ({ command, excludeFromContext, since, time, output = "" }) => {
    session.bash = true;
    removeCall(BASH);
    const toolName = excludeFromContext ? "!!" : "!";
    inBackground(() => startCall({ toolCallId: BASH, toolName, args: { command }, since: since ?? time }));
    growBash(output);
  };
  const growBash = (delta) => {
    const call = calls.get(BASH);
    if (!call || !delta) return;
    // Whole lines are cut off only, so that the next piece continues the last one.
    call.text = ((call.text ?? "") + delta).split("\n").slice(-TAIL_LINES - 1).join("\n");
    call.output = lastLines(call.text);
    call.showOutput();
  };

  // Entries.
  const refresh = oneAtATime(async () => {
    const asked = session;
    if (!asked) return;
    const since = asked.last ? `?since=${encodeURIComponent(asked.last)}` : "";
    const isAtRest = asked.isRunning === false;
    const rendered = await request("GET", `${asked.path}/articles${since}`);
    if (session !== asked) return;
    if (isAtRest && !session.isRunning) session.isBehind = false;
    apply(rendered);
  });
  const apply = ({ title, facts, preface, articles, outline, leaf, lastId }) => {
    const follows = session.follows || branches.endsAt(session.leaf);
    session.follows = false;
    session.title = title;
    find(".facts").replaceChildren(parseRendered(facts));
    find(".preface").replaceChildren(parseRendered(preface));
    branches.add([...parseRendered(articles).children]);
    if (outline !== undefined) branches.setOutline(parseRendered(outline));
    session.leaf = leaf ?? -1;
    session.last = lastId ?? null;
    if (follows) branches.showPath(session.leaf);
    removeReplaced();
    update();
  };

  // The status.
  const stateText = () => {
    if (!session) return "No session";
    if (session.isLost) return "Disconnected. Reconnecting…";
    if (!session.isOpen) return "Closed";
    if (questions.count) return "Waiting for your answer";
    if (session.retry) return `Retry ${session.retry.attempt} of ${session.retry.maxAttempts}: ${session.retry.errorMessage}`;
    if (session.summarizing) return session.summarizing;
    if (session.isRunning) return calls.size ? "Running tools" : "Working";
    if (session.bash) return "Running a command";
    return "Ready";
  };
  const setText = (element, text) => {
    // The same text again would be announced again.
    if (element.textContent !== text) element.textContent = text;
  };
  const contextText = ({ tokens, contextWindow, percent } = {}) =>
    contextWindow ? `${percent}% of ${Math.round(contextWindow / 1000)}k tokens` : tokens ? `${tokens} tokens` : "";
  const update = () => {
    document.body.toggleAttribute("data-running", Boolean(session?.isRunning));
    document.body.toggleAttribute("data-behind", Boolean(session?.isBehind));
    // The name of a session without a log is only in its state.
    const title = visible(session?.name ?? session?.title ?? "tiller");
    setText(find("h1"), title);
    document.title = `${questions.count ? "● " : ""}${title}`;
    setText(find(".state [role=status]"), stateText());
    setText(find(".context"), contextText(session?.context));
    find(".closed").hidden = !session || session.isOpen || session.isLost;
    find("[data-do=close]").hidden = !session?.isOpen;
    find("[data-do=current]").hidden = !session || branches.endsAt(session.leaf);
    composer.update();
    options.update();
  };
  setInterval(() => {
    setText(find(".elapsed"), session?.isRunning && session.since ? elapsedText(session.since) : "");
    for (const call of calls.values()) if (call.since) setText(call.elapsed, elapsedText(call.since));
    background.tick();
  }, 1000);
  addEventListener("hashchange", update);
  find("[data-do=current]").addEventListener("click", () => {
    branches.showPath(session.leaf);
    isAtEnd = true;
    toEnd();
    update();
  });

  // The end of the page stays in view, unless the user scrolls up.
  const root = document.documentElement;
  let isAtEnd = true;
  let position = 0;
  const scrolled = () => {
    // The page may have grown since its own scroll to the end, so only a move up leaves the end.
    const isUp = scrollY < position;
    position = scrollY;
    isAtEnd = (isAtEnd && !isUp) || innerHeight + scrollY >= root.scrollHeight - 80;
    // Anchoring would move the page up too.
    root.style.overflowAnchor = isAtEnd ? "none" : "";
  };
  addEventListener("scroll", scrolled);
  const toEnd = () => {
    // The user may have scrolled up since the last event.
    scrolled();
    if (isAtEnd) scrollTo(0, root.scrollHeight);
  };
  const sizes = new ResizeObserver(toEnd);
  [find("main"), area, find(".dock")].forEach((element) => sizes.observe(element));

  // The marks of missing answers and results are hidden until all entries of a run are on the page.
  const setRunning = (isRunning, since) => {
    Object.assign(session, { isRunning, since });
    session.isBehind ||= isRunning;
  };

  // Events.
  const setState = ({ model, thinkingLevel, contextUsage, sessionName }) =>
    Object.assign(session, { model, thinking: thinkingLevel, context: contextUsage, name: sessionName });
  const refreshState = oneAtATime(async () => {
    const asked = session;
    const { state } = await request("GET", asked.path);
    if (!state || session !== asked) return;
    setState(state);
    update();
  });
  const ofPiece = ({ type, contentIndex, delta, id, toolName }) => {
    if (type === "toolcall_start") callOf(id, toolName);
    else if (type === "text_delta") grow(contentIndex, "text", delta);
    else if (type === "thinking_delta") grow(contentIndex, "thinking", delta);
  };
  const snapshot = (data) => {
    clearProgress();
    questions.clear();
    background.clear();
    const { runningSince, retry } = data;
    setRunning(runningSince !== null, runningSince);
    Object.assign(session, { retry, bash: false });
    setState(data.state);
    (data.partial?.content ?? []).forEach((block, at) => {
      if (block.type === "text") grow(at, "text", block.text);
      if (block.type === "thinking") grow(at, "thinking", block.thinking);
    });
    for (const call of data.calls) {
      inBackground(() => startCall(call));
      showOutput(call);
    }
    if (data.bash) startBash(data.bash);
    (data.backgroundJobs ?? []).forEach(background.addJob);
    (data.agents ?? []).forEach(background.addAgent);
    composer.setQueue(data.queue);
    data.approvals.forEach(questions.approval);
    (data.elicitations ?? []).forEach(questions.elicitation);
    summarizing(data.summary);
    refresh();
  };
  const summarizing = (summary) => {
    session.summarizing = summary && (summary.of === "branch" ? "Summarizing the branch" : "Compacting the context");
    if (summary?.failed) questions.compaction(summary.failed, questions.choices);
  };
  const entryAppended = ({ entryId, entry }) => {
    const { role, toolCallId } = entry.message ?? {};
    if (role === "assistant") replaceBy(answers.find((answer) => !answer.entry), entryId);
    if (role === "toolResult") replaceBy(calls.get(toolCallId), entryId);
    if (role === "bashExecution") replaceBy(calls.get(BASH), entryId);
    refresh();
  };
  const ended = () => {
    setRunning(false, null);
    session.retry = null;
    clearProgress((item) => !item.entry && item !== calls.get(BASH));
    refresh();
    refreshState();
    sessions.refresh();
  };
  const EVENTS = {
    snapshot,
    agent_start: ({ time }) => setRunning(true, time),
    agent_settled: ended,
    turn_start: () => (session.retry = null),
    turn_end: refreshState,
    message_start: ({ message }) => message.role === "assistant" && startAnswer(),
    message_update: ({ assistantMessageEvent }) => ofPiece(assistantMessageEvent),
    text_delta: ofPiece,
    thinking_delta: ofPiece,
    tool_call: (call) => inBackground(() => startCall(call)),
    tool_execution_update: showOutput,
    entry_appended: entryAppended,
    bash_execution_start: startBash,
    bash_execution_update: ({ delta }) => growBash(delta),
    bash_execution_end: () => (session.bash = false),
    background_job_start: background.addJob,
    background_job_end: ({ jobId }) => background.remove(jobId),
    agent_task_start: background.addAgent,
    agent_task_end: ({ agentId }) => background.remove(agentId),
    agent_event: background.showActivity,
    approval_required: questions.approval,
    approval_resolved: ({ toolCallId }) => questions.removeCall(toolCallId),
    elicitation_requested: questions.elicitation,
    elicitation_resolved: ({ elicitationId }) => questions.removeElicitation(elicitationId),
    queue_update: ({ items, total }) => composer.setQueue(items, total),
    model_changed: refreshState,
    thinking_level_changed: ({ level }) => (session.thinking = level),
    session_info_changed: ({ name }) => {
      session.name = name;
      sessions.refresh();
    },
    session_changed: () => {
      session.follows = true;
      refresh();
    },
    auto_retry_start: (retry) => (session.retry = retry),
    auto_retry_end: () => (session.retry = null),
    compaction_start: () => summarizing({ of: "context" }),
    compaction_failed: ({ errorMessage, choices }) => questions.compaction(errorMessage, choices),
    compaction_end: ({ errorMessage }) => {
      summarizing(null);
      questions.removeCompaction();
      if (errorMessage) showProblem(`The context was not compacted: ${errorMessage}`);
      refreshState();
    },
    branch_summary_start: () => summarizing({ of: "branch" }),
    branch_summary_end: () => summarizing(null),
    notice: ({ message }) => showProblem(message),
    warning: ({ message, hint }) => showProblem([message, hint].filter(Boolean).join(". ")),
  };

  const connect = () => {
    source?.close();
    const current = new EventSource(`${session.path}/stream`);
    source = current;
    for (const [name, handle] of Object.entries(EVENTS)) {
      current.addEventListener(name, ({ data }) => {
        if (source !== current) return;
        handle(JSON.parse(data));
        if (!name.endsWith("_delta")) update();
      });
    }
    current.addEventListener("open", () => setLost(current, false));
    current.addEventListener("error", (event) => {
      // The stream has events of this name too; they have data.
      if (event.data !== undefined) return;
      setLost(current, true);
      if (current.readyState === EventSource.CLOSED) setTimeout(reopen, 500, current);
    });
  };
  // A browser opens at most six connections to a server, so a hidden page leaves its stream to the others. It looks
  // for questions now and then, which its title shows.
  const HIDDEN_MS = 3000;
  const LOOK_MS = 15000;
  let hiding;
  const visibilityChanged = () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(pause, HIDDEN_MS);
    else if (session?.isPaused) unpause();
  };
  const pause = () => {
    if (source) session.isPaused = true;
    source?.close();
    source = null;
    hiding = setTimeout(look, LOOK_MS);
  };
  const look = () => {
    if (session?.isPaused) unpause();
    hiding = setTimeout(pause, HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", visibilityChanged);
  // The page may have been opened in a background tab.
  visibilityChanged();
  const unpause = () => {
    session.isPaused = false;
    // Refreshes the entries when the connection stands.
    session.isLost = true;
    connect();
  };
  const setLost = (current, isLost) => {
    if (source !== current) return;
    // A problem of the lost connection is over.
    if (session.isLost && !isLost) {
      showProblem("");
      // An entry whose text could not be fetched meanwhile has no event anymore.
      refresh();
    }
    session.isLost = isLost;
    update();
  };
  // The server refused the stream: the session was closed, the token has changed, or the server is away.
  const reopen = async (current) => {
    if (source !== current) return;
    try {
      const { isOpen } = await request("GET", session.path);
      if (source !== current) return;
      showProblem("");
      if (isOpen) return connect();
      disconnect();
      Object.assign(session, { isOpen: false, isRunning: false, isLost: false });
      // The server has recorded what was in progress.
      refresh();
    } catch (error) {
      if (source !== current) return;
      if (error.kind === "not-found") return gone();
      showProblem(error.message);
      setTimeout(reopen, 1000, current);
    }
    update();
  };
  const disconnect = () => {
    source?.close();
    source = null;
    clearProgress();
    questions.clear();
    background.clear();
    composer.setQueue([]);
  };

  // Removes the session from the page.
  const leave = () => {
    disconnect();
    composer.deselect();
    branches.clear();
    find(".facts").replaceChildren();
    find(".preface").replaceChildren();
    isAtEnd = true;
    position = 0;
  };
  // Shows a session.
  const open = async (id) => {
    leave();
    session = { id, path: `api/sessions/${encodeURIComponent(id)}`, isOpen: false, follows: true, leaf: -1 };
    composer.showDraft();
    const asked = session;
    const { isOpen } = await request("GET", session.path).catch((error) => {
      if (session === asked) close();
      throw error;
    });
    // A snapshot will tell whether an open session is running.
    if (isOpen) asked.isBehind = true;
    await refresh();
    if (session !== asked) return;
    session.isOpen = isOpen;
    if (isOpen) connect();
    branches.goToHash();
    update();
    // A phone would show its keyboard.
    if (matchMedia("(pointer: fine)").matches) composer.focus();
  };
  const close = () => {
    leave();
    session = null;
    update();
  };
  const gone = () => {
    close();
    sessions.refresh();
    showProblem("The session was deleted.");
  };
  return { open, close, update };
})();
