#!/usr/bin/env python3
"""Chats with a session of `tiller serve`. Standard library only; docs/server.md describes the API.

    TILLER_TOKEN=... client.py [--url URL] [--session ID]
"""
import argparse, contextlib, http.client, json, os, sys, time, urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--url", default="http://127.0.0.1:4747")
parser.add_argument("--session")
args = parser.parse_args()
HEADERS = {"Authorization": f"Bearer {os.environ.get('TILLER_TOKEN')}", "Content-Type": "application/json"}
FAILED = (OSError, http.client.HTTPException)  # HTTPError, a response with an error, is an OSError too.
OUTPUT = {"text_delta": "{delta}", "tool_call": "\n[{toolName}]\n", "error": "error: {errorMessage}\n",
          "snapshot": "\n[reconnected]\n"}  # Events were missed, by a restart or a long interruption.

def send(path, body=None):
    """Sends a body or gets a resource; returns the response. A stream that is silent for 60 s is dead."""
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(args.url + path, data, HEADERS), timeout=60)

def resume():
    """Opens the session unless it is open; returns the id of its newest event."""
    return json.load(send(f"{path}/resume", {}))["lastEventId"]

def events(last):
    """Yields the name and data of each event after this one, on as many connections as it takes."""
    while True:
        try:
            resume()  # A server that was restarted has closed the session.
            event = {}
            for line in send(f"{path}/stream?lastEventId={last}"):
                field, _, value = line.decode().rstrip("\n").partition(": ")
                event[field] = value
                if field == "data":
                    last = event["id"]
                    yield event["event"], json.loads(value)
        except FAILED as error:
            if getattr(error, "code", 503) < 500:
                raise
            time.sleep(1)

def chat(message):
    last = resume()
    send(f"{path}/chat", {"message": message})
    for name, data in events(last):
        print(OUTPUT.get(name, "").format(**{"errorMessage": "", **data}), end="", flush=True)
        for request in [data] if name == "approval_required" else data.get("approvals", []):
            answer = input(f"\nallow {request['toolName']} {json.dumps(request['args'])}? [y/n] ")
            with contextlib.suppress(FAILED):  # Someone else answered, or the run was stopped.
                send(f"{path}/approvals/{request['toolCallId']}", {"approved": answer.strip() == "y"})
        if name == "agent_settled" or name == "snapshot" and data["runningSince"] is None:
            return print()

def describe(error):
    is_problem = getattr(error, "headers", {}).get("Content-Type") == "application/problem+json"
    problem = json.load(error) if is_problem else {"title": getattr(error, "reason", error)}
    return ": ".join([args.url] + [str(problem[field]) for field in ("title", "detail") if field in problem])

try:
    session = args.session or json.load(send("/api/sessions", {"workspacePath": os.getcwd()}))["id"]
    path = f"/api/sessions/{session}"
    resume()
    print("session", session)
    while True:
        message = input("> ")
        try:
            if message.strip():
                chat(message)
        except FAILED as error:
            print(describe(error))
except FAILED as error:
    sys.exit(describe(error))
except (EOFError, KeyboardInterrupt):
    pass
