#!/usr/bin/env node
// Chats with a session of `tiller serve`. Node 18.3 or later, no packages; docs/server.md describes the API.
//
//     TILLER_TOKEN=... client.mjs [--url URL] [--session ID] [--provider NAME] [--model NAME]
import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const names = ["url", "session", "provider", "model"];
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
const { url = "http://127.0.0.1:4747", session, ...model } = values;
const headers = { Authorization: `Bearer ${process.env.TILLER_TOKEN}`, "Content-Type": "application/json" };
const terminal = createInterface({ input: process.stdin, output: process.stdout });
terminal.on("close", () => process.exit());

/** Sends a request; returns the response. Fails with the `status` of a response that is an error. */
async function send(method, path, body) {
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  if (response.ok) return response;
  throw Object.assign(new Error(`${response.status} ${await response.text()}`), { status: response.status });
}

/** Opens the session unless it is open; returns the id of its newest event. */
async function resume() {
  return (await (await send("POST", `${path}/resume`, model)).json()).lastEventId;
}

/** Yields the name and data of each event after this one, on as many connections as it takes. */
async function* events(last) {
  for (;; await sleep(1000)) {
    try {
      await resume(); // A server that was restarted has closed the session.
      const { body } = await send("GET", `${path}/stream?lastEventId=${last}`);
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

async function approve({ toolName, args, toolCallId }) {
  const answer = await terminal.question(`\nallow ${toolName} ${JSON.stringify(args)}? [y/n] `);
  const answered = send("POST", `${path}/approvals/${toolCallId}`, { approved: answer.trim() === "y" });
  await answered.catch((error) => console.log(error.message)); // Someone else answered, or the run was stopped.
}

async function chat(message) {
  const last = await resume();
  await send("POST", `${path}/chat`, { message });
  for await (const [name, data] of events(last)) {
    if (name === "text_delta") process.stdout.write(data.delta);
    if (name === "tool_call") console.log(`\n[${data.toolName}]`);
    if (name === "error") console.log("error:", data.errorMessage);
    if (name === "snapshot") console.log("\n[reconnected]"); // Events were missed, by a restart or an interruption.
    for (const request of name === "approval_required" ? [data] : (data.approvals ?? [])) await approve(request);
    if (name === "agent_settled" || (name === "snapshot" && data.runningSince === null)) return console.log();
  }
}

const create = () => send("POST", "/api/sessions", { workspacePath: process.cwd(), ...model });
const id = session ?? (await (await create()).json()).id;
const path = `/api/sessions/${id}`;
console.log("session", id);
for (;;) await chat(await terminal.question("> ")).catch((error) => console.log(error.message));
