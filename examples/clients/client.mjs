#!/usr/bin/env node
// Chats with a session of `tiller serve`. Node 18.3 or later, no packages; docs/server.md describes the API.
//
//     TILLER_TOKEN=... client.mjs [--url URL] [--session ID]
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { url: { type: "string" }, session: { type: "string" } } });
const { url = "http://127.0.0.1:4747", session } = values;
const headers = { Authorization: `Bearer ${process.env.TILLER_TOKEN}`, "Content-Type": "application/json" };

/** Returns the next line of the input. The program ends with it. */
async function ask(prompt) {
  process.stdout.write(prompt);
  return (await lines.next()).value ?? process.exit();
}

/** Sends a body or gets a resource; returns the response. A response that is an error fails with its `status`. */
async function send(path, body) {
  const response = await fetch(url + path, { method: body ? "POST" : "GET", headers, body: JSON.stringify(body) });
  if (response.ok) return response;
  const { title = response.statusText, detail } = await response.json().catch(() => ({}));
  throw Object.assign(new Error(detail ? `${title}: ${detail}` : title), { status: response.status });
}

/** Opens the session unless it is open; returns the id of its newest event. */
const resume = async () => (await (await send(`${path}/resume`, {})).json()).lastEventId;

/** Yields the name and data of each event after this one, on as many connections as it takes. */
async function* events(last) {
  for (;; await sleep(1000)) {
    try {
      await resume(); // A server that was restarted has closed the session.
      const { body } = await send(`${path}/stream?lastEventId=${last}`);
      let text = "";
      for await (const piece of body.pipeThrough(new TextDecoderStream())) {
        const blocks = (text + piece).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const [, id, name, data] = block.match(/^id: (.*)\nevent: (.*)\ndata: (.*)$/) ?? [];
          last = id ?? last; // Without an id it is a comment, which shows that the connection lives.
          if (id) yield [name, JSON.parse(data)];
        }
      }
    } catch (error) {
      if (error.status < 500) throw error;
    }
  }
}

async function chat(message) {
  const last = await resume();
  await send(`${path}/chat`, { message });
  for await (const [name, data] of events(last)) {
    if (name === "text_delta") process.stdout.write(data.delta);
    if (name === "tool_call") console.log(`\n[${data.toolName}]`);
    if (name === "error") console.log("error:", data.errorMessage);
    if (name === "snapshot") console.log("\n[reconnected]"); // Events were missed, by a restart or an interruption.
    for (const { toolName, args, toolCallId } of name === "approval_required" ? [data] : (data.approvals ?? [])) {
      const answer = await ask(`\nallow ${toolName} ${JSON.stringify(args)}? [y/n] `);
      const answered = send(`${path}/approvals/${toolCallId}`, { approved: answer.trim() === "y" });
      await answered.catch(() => {}); // Someone else answered, or the run was stopped.
    }
    if (name === "agent_settled" || (name === "snapshot" && data.runningSince === null)) return console.log();
  }
}

const report = (error) => console.error(`${url}: ${error.cause?.code ?? error.message}`);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let path;
try {
  const id = session ?? (await (await send("/api/sessions", { workspacePath: process.cwd() })).json()).id;
  path = `/api/sessions/${id}`;
  await resume();
  console.log("session", id);
  for (;;) {
    const message = await ask("> ");
    if (message.trim()) await chat(message).catch(report);
  }
} catch (error) {
  report(error);
  process.exit(1);
}
