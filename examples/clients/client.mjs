#!/usr/bin/env node
// Chats with a session of `tiller serve`. Node 18.3 or later, no packages; docs/server.md describes the API.
//
//     TILLER_TOKEN=... client.mjs [--url URL] [--session ID] [--provider NAME] [--model NAME]
import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const option = { type: "string" };
const options = { url: option, session: option, provider: option, model: option };
const { url = "http://127.0.0.1:4747", session, ...model } = parseArgs({ options }).values;
const terminal = createInterface({ input: process.stdin, output: process.stdout });
terminal.on("close", () => process.exit());

/** Sends a request; returns the response. Fails with the `status` of a response that is an error. */
async function send(method, path, body, more) {
  const headers = { Authorization: `Bearer ${process.env.TILLER_TOKEN}`, "Content-Type": "application/json", ...more };
  const response = await fetch(url.replace(/\/$/, "") + path, { method, headers, body: body && JSON.stringify(body) });
  if (response.ok) return response;
  throw Object.assign(new Error(`${response.status} ${await response.text()}`), { status: response.status });
}

/** Opens the session unless it is open; returns the id of its newest event. Waits for a server that restarts. */
async function resume() {
  for (let attempt = 0; attempt < 60; attempt++) {
    try {
      const response = await send("POST", `${path}/resume`, model);
      return (await response.json()).lastEventId;
    } catch (error) {
      if (error.status < 500) throw error;
      await sleep(1000);
    }
  }
  throw new Error("the server can't be reached");
}

/** Yields the name and data of each event after this one, on as many connections as it takes. */
async function* events(last) {
  for (;;) {
    try {
      const response = await send("GET", `${path}/stream`, undefined, { "Last-Event-ID": last });
      let text = "";
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        const blocks = (text + piece).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const event = block.match(/^id: (.*)\nevent: (.*)\ndata: (.*)$/);
          if (!event) continue; // A comment, which shows that the connection lives.
          last = event[1];
          yield [event[2], JSON.parse(event[3])];
        }
      }
    } catch {
      // The connection was lost, or the session isn't open any more.
    }
    await sleep(1000);
    await resume();
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
    if (name === "approval_required") await approve(data);
    if (name === "error") console.log("error:", data.errorMessage);
    if (name === "snapshot") {
      console.log("\n[reconnected]"); // Events were missed, by a restart or a long interruption.
      for (const request of data.approvals) await approve(request);
    }
    if (name === "agent_settled" || (name === "snapshot" && data.runningSince === null)) break;
  }
  console.log();
}

let path = "/api/sessions";
const id = session ?? (await (await send("POST", path, { workspacePath: process.cwd(), ...model })).json()).id;
path += `/${id}`;
console.log("session", id);
for (;;) {
  const message = await terminal.question("> ");
  await chat(message).catch((error) => console.log(error.message));
}
