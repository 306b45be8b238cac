"""Finds the plan of the pull request that a commit of the main branch is the merge of, and writes it to a file. The plan is an
artifact of the run that planned the pull request's last commit; athanor itself verifies that nobody changed it."""
import io
import json
import os
import urllib.parse
import urllib.request
import zipfile

API, REPOSITORY = os.environ["GITHUB_API_URL"], os.environ["GITHUB_REPOSITORY"]


class Signed(urllib.request.HTTPRedirectHandler):
    """An artifact is stored elsewhere, at a signed address: the token is not for that server."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return urllib.request.Request(newurl)


def get(path):
    request = urllib.request.Request(f"{API}/repos/{REPOSITORY}{path}")
    request.add_header("Authorization", "Bearer " + os.environ["TOKEN"])
    request.add_header("X-GitHub-Api-Version", "2022-11-28")
    with urllib.request.build_opener(Signed).open(request, timeout=60) as answer:
        return answer.read()


def fail(why, then):
    raise SystemExit(f"error: {why}\nhint:  {then}")


commit = os.environ["GITHUB_SHA"]
pull = next((p for p in json.loads(get(f"/commits/{commit}/pulls")) if p["merged_at"] and p["merge_commit_sha"] == commit), None)
if pull is None:
    fail(f"{commit[:12]} is the merge of no pull request, so that no plan of it was reviewed", "deploy it from a terminal, or revert it")
sha, name = pull["head"]["sha"], urllib.parse.quote(os.environ["WORKFLOW"])
runs = json.loads(get(f"/actions/workflows/{name}/runs?event=pull_request&status=success&head_sha={sha}"))["workflow_runs"]
runs = [r for r in runs if r["head_repository"]["full_name"] == REPOSITORY]
if not runs:
    fail(f"pull request {pull['number']} has no plan of its last commit {sha[:12]}", "run the workflow that plans again; a fork's plan is none")
run = max(runs, key=lambda r: r["id"])
artifacts = json.loads(get(f"/actions/runs/{run['id']}/artifacts?name=athanor-plan"))["artifacts"]
if not artifacts or artifacts[0]["expired"]:
    fail(f"the plan of pull request {pull['number']} is not kept any more", "plan again, and merge again")
archive = zipfile.ZipFile(io.BytesIO(get(f"/actions/artifacts/{artifacts[0]['id']}/zip")))
file = "reviewed-plan.json"  # athanor reads no file outside of the project
with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
    out.write(archive.read("plan.json"))
with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as out:
    out.write(f"file={file}\ncommit={sha}\nbranch={pull['head']['ref']}\n")
print(f"the plan of pull request {pull['number']}, commit {sha[:12]}")
