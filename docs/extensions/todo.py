#!/usr/bin/env python3
"""An extension of tiller: a to-do list, and a guard against `rm -rf`.

Put it, executable, into ~/.config/tiller/extensions or a project's .tiller/extensions.
The user types `/todo`, `/todo add TEXT` or `/todo done NUMBER`; the model has the tool `todo` for the same.
"""

import json
import re
import sys

TODO = []


def say(line):
    print(json.dumps(line), flush=True)


def ready():
    say({
        "type": "ready",
        "protocol": 1,
        "hooks": ["tool_call", "turn_start"],
        "commands": [
            {"name": "todo", "description": "things to do", "argumentHint": "[add TEXT | done NUMBER]"},
        ],
        "tools": [
            {
                "name": "todo",
                "description": "Reads and changes the user's to-do list.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "add": {"type": "string", "description": "Item to add."},
                        "done": {"type": "integer", "description": "Number of the finished item, from 1."},
                    },
                    "additionalProperties": False,
                },
                "access": "writes",
            },
        ],
    })


def change(add=None, done=None):
    if add:
        TODO.append(add)
    if done is not None:
        if not 1 <= done <= len(TODO):
            raise ValueError(f"no item {done}")
        del TODO[done - 1]
    return "\n".join(f"{number}. {what}" for number, what in enumerate(TODO, 1)) or "nothing to do"


def command(arguments):
    verb, _, rest = arguments.partition(" ")
    if verb == "add" and rest:
        return {"notice": change(add=rest)}
    if verb == "done" and rest.isdigit():
        return {"notice": change(done=int(rest))}
    if not verb:
        return {"notice": change()}
    raise ValueError("usage: /todo, /todo add TEXT or /todo done NUMBER")


def removes_by_force(line):
    """Return True if a command runs `rm` with both -r and -f. A guard against accidents, not a sandbox."""
    for part in re.split(r"[;&|()`\n]+", line):
        words = part.replace("--recursive", "-r").replace("--force", "-f").split()
        if "rm" in words:
            flags = "".join(word for word in words[words.index("rm") :] if word.startswith("-")).lower()
            if "r" in flags and "f" in flags:
                return True
    return False


def judge(call):
    line = call["args"].get("command", "") if call["toolName"] == "bash" else ""
    if removes_by_force(line):
        return {"verdict": "deny", "reason": "rm -rf is not allowed; remove single files instead"}
    return {"verdict": "allow"}


def answer(hook, params):
    if hook == "tool_call":
        return judge(params)
    if hook == "turn_start":
        # An empty list changes nothing, so the prompt cache stays valid.
        return {"system": f"{params['system']}\n\nThe user's list:\n{change()}"} if TODO else None
    if hook == "command":
        return command(params["arguments"])
    if hook == "tool":
        return {"content": change(**params["args"])}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        ready()
    elif message["type"] == "request":
        try:
            say({"type": "answer", "id": message["id"], "result": answer(message["hook"], message["params"])})
        except Exception as error:
            say({"type": "answer", "id": message["id"], "error": str(error)})
    elif message["type"] == "close":
        break
