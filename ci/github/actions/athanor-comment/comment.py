"""Writes a Markdown file as one comment on the pull request of a commit. Which pull request that is, the API says, and
never the file: it may come from a fork, and is shown as text then."""
import json
import os
import urllib.parse
import urllib.request

API, REPOSITORY, LIMIT = os.environ["GITHUB_API_URL"], os.environ["GITHUB_REPOSITORY"], 60000


def call(method, path, body=None):
    request = urllib.request.Request(f"{API}/repos/{REPOSITORY}{path}", method=method, data=body and json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + os.environ["TOKEN"])
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("X-GitHub-Api-Version", "2022-11-28")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def pages(path):
    number = 1
    while part := call("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={number}"):
        yield from part
        number += 1


commit, about = os.environ["COMMIT"], os.environ["ABOUT"]
head = urllib.parse.quote(f"{os.environ['OWNER']}:{os.environ['BRANCH']}")
pull = next((p for p in pages(f"/pulls?state=all&sort=created&direction=desc&head={head}") if p["head"]["sha"] == commit), None)
if pull is None:
    print("no pull request has this commit as its head any more: nothing is written")
    raise SystemExit
with open(os.environ["FILE"], encoding="utf-8", errors="replace") as file:
    text = file.read(LIMIT + 1)
if len(text) > LIMIT:
    text = text[:LIMIT] + "\n\n(cut)"
if (pull["head"]["repo"] or {}).get("full_name") != REPOSITORY:
    text = "From a fork, as its code wrote it:\n\n" + "".join("    " + line + "\n" for line in text.splitlines())
mark = f"<!-- athanor: {about} -->"
body = {"body": f"{mark}\n{text}\n\nCommit {commit[:12]}."}
own = next((c for c in pages(f"/issues/{pull['number']}/comments") if c["body"].startswith(mark) and c["user"]["type"] == "Bot"), None)
if own:
    call("PATCH", f"/issues/comments/{own['id']}", body)
else:
    call("POST", f"/issues/{pull['number']}/comments", body)
