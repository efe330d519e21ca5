#!/usr/bin/env python3
"""Chats with a session of `tiller serve`. Standard library only; docs/server.md describes the API.

    TILLER_TOKEN=... client.py [--url URL] [--session ID] [--provider NAME] [--model NAME]
"""
import argparse, http.client, json, os, time, urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--url", default="http://127.0.0.1:4747")
for option in ("--session", "--provider", "--model"):
    parser.add_argument(option)
args = parser.parse_args()
model = {"provider": args.provider, "model": args.model}
HEADERS = {"Authorization": f"Bearer {os.environ['TILLER_TOKEN']}", "Content-Type": "application/json"}
FAILED = (OSError, http.client.HTTPException)  # HTTPError, a response with an error, is an OSError too.

def send(method, path, body=None):
    """Sends a request; returns the response. A stream is silent for 15 s at most, so 60 s mean it is dead."""
    data = json.dumps(body).encode() if body else None
    return urllib.request.urlopen(urllib.request.Request(args.url + path, data, HEADERS, method=method), timeout=60)

def resume():
    """Opens the session unless it is open; returns the id of its newest event."""
    return json.load(send("POST", f"{path}/resume", model))["lastEventId"]

def events(last):
    """Yields the name and data of each event after this one, on as many connections as it takes."""
    while True:
        try:
            resume()  # A server that was restarted has closed the session.
            for line in send("GET", f"{path}/stream?lastEventId={last}"):
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "id":
                    last = value
                elif field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)
        except FAILED as error:
            if getattr(error, "code", 503) < 500:
                raise
            time.sleep(1)

def approve(request):
    answer = input(f"\nallow {request['toolName']} {json.dumps(request['args'])}? [y/n] ")
    try:
        send("POST", f"{path}/approvals/{request['toolCallId']}", {"approved": answer.strip() == "y"})
    except FAILED as error:
        print(error)  # Someone else answered, the run was stopped, or the server restarts.

def chat(message):
    last = resume()
    send("POST", f"{path}/chat", {"message": message})
    for name, data in events(last):
        if name == "text_delta":
            print(data["delta"], end="", flush=True)
        elif name == "tool_call":
            print(f"\n[{data['toolName']}]", flush=True)
        elif name == "error":
            print("error:", data.get("errorMessage"))
        elif name == "snapshot":  # Events were missed, by a restart or a long interruption.
            print("\n[reconnected]", flush=True)
        for request in [data] if name == "approval_required" else data.get("approvals", []):
            approve(request)
        if name == "agent_settled" or name == "snapshot" and data["runningSince"] is None:
            return print()

session = args.session or json.load(send("POST", "/api/sessions", {"workspacePath": os.getcwd(), **model}))["id"]
path = f"/api/sessions/{session}"
print("session", session)
while True:
    try:
        chat(input("> "))
    except FAILED as error:
        print(error, getattr(error, "read", bytes)().decode())
    except (EOFError, KeyboardInterrupt):
        break
