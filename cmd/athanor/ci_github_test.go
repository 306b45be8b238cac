//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// github is a server that answers as GitHub's API does, as far as the recipes ask, and runs jobs of workflows.
type github struct {
	*ciRepository
	*httptest.Server
	pulls     []*ghPull
	comments  []*ghComment
	runs      []*ghRun
	tokens    map[string]map[string]string // what each token may
	artifacts map[string][]byte            // RUN/NAME: zipped
	ids       int
	refused   []string
}

type ghPull struct {
	number              int
	owner, branch, head string
	merged              string // the commit on main
}

type ghComment struct {
	id, pull int
	body     string
}

type ghRun struct {
	id                    int
	workflow, head, owner string
	failed                bool
}

// ghEvent is what starts a workflow.
type ghEvent struct {
	name, action string
	pull         *ghPull
	run          *ghRun
	commit       string
}

func (e ghEvent) fork() bool { return e.name == "pull_request" && e.pull.owner != "acme" }

func newGitHub(t *testing.T) *github {
	t.Helper()
	g := &github{ciRepository: newCIRepository(t, "../../ci/github", ".github"), tokens: map[string]map[string]string{}, artifacts: map[string][]byte{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.answer))
	t.Cleanup(g.Close)
	return g
}

func (g *github) next() int {
	g.ids++
	return g.ids
}

func (g *github) answer(w http.ResponseWriter, r *http.Request) {
	path, inside := strings.CutPrefix(r.URL.Path, "/repos/acme/shop/")
	if id, ok := strings.CutPrefix(r.URL.Path, "/blob/"); ok {
		if r.Header.Get("Authorization") != "" {
			http.Error(w, "the token was sent to the storage", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(g.artifacts[id])
		return
	}
	may := g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	need := func(what, how string) bool {
		if have := may[what]; have == "write" || have == how {
			return true
		}
		g.refused = append(g.refused, r.Method+" "+r.URL.Path)
		http.Error(w, `{"message":"Resource not accessible by integration"}`, http.StatusForbidden)
		return false
	}
	say := func(v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			g.t.Error(err)
		}
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	first := func(all []any) any { // one page holds everything
		if page > 1 {
			return []any{}
		}
		return all
	}
	var of []any
	parts := strings.Split(path, "/")
	switch {
	case !inside || may == nil:
		http.NotFound(w, r)
	case r.Method == "GET" && path == "pulls":
		if !need("pull-requests", "read") {
			return
		}
		for _, p := range g.pulls {
			if p.owner+":"+p.branch == r.URL.Query().Get("head") && (p.merged == "" || r.URL.Query().Get("state") == "all") {
				of = append(of, p.document())
			}
		}
		say(first(of))
	case r.Method == "GET" && len(parts) == 3 && parts[0] == "commits":
		if !need("pull-requests", "read") {
			return
		}
		of = []any{}
		for _, p := range g.pulls {
			if p.merged == parts[1] || p.head == parts[1] {
				of = append(of, p.document())
			}
		}
		say(of)
	case r.Method == "GET" && len(parts) == 3 && parts[0] == "issues":
		if !need("pull-requests", "read") {
			return
		}
		for _, c := range g.comments {
			if strconv.Itoa(c.pull) == parts[1] {
				of = append(of, map[string]any{"id": c.id, "body": c.body, "user": map[string]any{"type": "Bot"}})
			}
		}
		// A person may have written the same comment.
		of = append([]any{map[string]any{"id": 1 << 30, "body": "<!-- athanor: plan -->", "user": map[string]any{"type": "User"}}}, of...)
		say(first(of))
	case r.Method == "POST" && len(parts) == 3 || r.Method == "PATCH" && len(parts) == 3 && parts[1] == "comments":
		if !need("pull-requests", "write") {
			return
		}
		var in struct{ Body string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len([]rune(in.Body)) > 65536 {
			http.Error(w, "body is too long", http.StatusUnprocessableEntity)
			return
		}
		if r.Method == "POST" {
			pull, _ := strconv.Atoi(parts[1])
			g.comments = append(g.comments, &ghComment{g.next(), pull, in.Body})
		} else {
			at := slices.IndexFunc(g.comments, func(c *ghComment) bool { return strconv.Itoa(c.id) == parts[2] })
			if at < 0 {
				http.NotFound(w, r)
				return
			}
			g.comments[at].body = in.Body
		}
		say(map[string]any{})
	case parts[0] == "actions" && !need("actions", "read"):
	case r.Method == "GET" && len(parts) == 4 && parts[1] == "workflows":
		of = []any{}
		for _, run := range g.runs {
			if run.workflow == parts[2] && run.head == r.URL.Query().Get("head_sha") && !run.failed {
				of = append(of, map[string]any{"id": run.id, "head_repository": map[string]any{"full_name": run.owner + "/shop"}})
			}
		}
		say(map[string]any{"workflow_runs": of})
	case r.Method == "GET" && len(parts) == 4 && parts[1] == "runs":
		of = []any{}
		if id := parts[2] + "/" + r.URL.Query().Get("name"); g.artifacts[id] != nil {
			of = append(of, map[string]any{"id": id, "expired": false})
		}
		say(map[string]any{"artifacts": of})
	case r.Method == "GET" && len(parts) == 5 && parts[1] == "artifacts":
		http.Redirect(w, r, g.URL+"/blob/"+parts[2]+"/"+parts[3], http.StatusFound)
	default:
		g.t.Errorf("unexpected %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	}
}

func (p *ghPull) document() map[string]any {
	var merged any
	if p.merged != "" {
		merged = "2026-01-02T03:04:05Z"
	}
	return map[string]any{
		"number": p.number, "merged_at": merged, "merge_commit_sha": p.merged,
		"head": map[string]any{"sha": p.head, "ref": p.branch, "repo": map[string]any{"full_name": p.owner + "/shop"}},
	}
}

func (g *github) pull(owner, branch, head string) *ghPull {
	p := &ghPull{number: g.next(), owner: owner, branch: branch, head: head}
	g.pulls = append(g.pulls, p)
	return p
}

// ghJob is how a job went.
type ghJob struct {
	ran, failed bool
	log         string
	env         []string // the names and values that its last step saw
	outputs     map[string]any
}

// start runs a workflow for an event, each of its jobs in their order, and gives the run.
func (g *github) start(workflow string, e ghEvent) (*ghRun, map[string]*ghJob) {
	g.t.Helper()
	file := yamlTree(g.t, filepath.Join(g.dir, ".github/workflows", workflow))
	run := &ghRun{id: g.next(), workflow: workflow, owner: "acme"}
	event := map[string]any{"action": e.action}
	sha := e.commit
	if e.pull != nil && e.name == "pull_request" {
		run.head, run.owner, sha = e.pull.head, e.pull.owner, e.pull.head
		event["pull_request"] = map[string]any{"number": e.pull.number, "head": map[string]any{"repo": map[string]any{"full_name": e.pull.owner + "/shop"}}}
	}
	if e.run != nil {
		p := g.pulls[slices.IndexFunc(g.pulls, func(p *ghPull) bool { return p.head == e.run.head })]
		event["workflow_run"] = map[string]any{
			"id": e.run.id, "event": "pull_request", "head_sha": e.run.head, "head_branch": p.branch,
			"head_repository": map[string]any{"owner": map[string]any{"login": e.run.owner}},
		}
	}
	g.runs = append(g.runs, run)
	jobs := map[string]*ghJob{}
	needs := map[string]any{}
	definitions, _ := file["jobs"].(map[string]any)
	names := make([]string, 0, len(definitions))
	for name, d := range definitions {
		if valueAt(d, "needs") == nil {
			names = append([]string{name}, names...)
		} else {
			names = append(names, name)
		}
	}
	for _, name := range names {
		d := definitions[name].(map[string]any)
		may := joined(textsOf(file["permissions"]), textsOf(d["permissions"]))
		vars := map[string]any{"ATHANOR_STORE": g.store, "AWS_REGION": "eu-north-1", "AWS_PLAN_ROLE": "plan", "AWS_DEPLOY_ROLE": "deploy", "AWS_PREVIEW_ROLE": "preview"}
		secrets := map[string]any{"ATHANOR_PASSPHRASE": g.secret}
		if e.fork() {
			for what := range may {
				may[what] = "read"
			}
			delete(may, "id-token")
			vars, secrets = nil, nil
		}
		token := fmt.Sprintf("token-%d-%s", run.id, name)
		g.tokens[token] = may
		c := &ghContext{g: g, run: run, may: may, job: &ghJob{}, temp: g.t.TempDir(), values: map[string]any{
			"vars": vars, "secrets": secrets, "needs": needs, "steps": map[string]any{},
			"github": map[string]any{"event": event, "repository": "acme/shop", "repository_owner": "acme", "sha": sha, "token": token},
		}}
		c.values["runner"] = map[string]any{"temp": c.temp}
		c.workspace = filepath.Join(g.t.TempDir(), "work")
		jobs[name] = c.job
		condition, _ := d["if"].(string)
		failed := false
		if needed, ok := d["needs"].(string); ok {
			failed = jobs[needed].failed
			needs[needed] = map[string]any{"outputs": jobs[needed].outputs}
		}
		if !c.holds(condition, failed) {
			continue
		}
		c.job.ran = true
		c.env = joined(textsOf(file["env"]), textsOf(d["env"]))
		c.path = []string{"/usr/local/bin", "/usr/bin", "/bin"}
		c.steps(d["steps"].([]any), c.values, "")
		c.job.outputs = map[string]any{}
		for name, text := range textsOf(d["outputs"]) {
			c.job.outputs[name] = c.filled(text, c.values)
		}
		run.failed = run.failed || c.job.failed
	}
	return run, jobs
}

// ghContext is a job at work.
type ghContext struct {
	g               *github
	run             *ghRun
	job             *ghJob
	may             map[string]string
	values          map[string]any
	env             map[string]string
	path            []string
	temp, workspace string
}

var (
	ghExpression = regexp.MustCompile(`\$\{\{ *([\w.-]+) *\}\}`)
	ghCondition  = regexp.MustCompile(`^([\w.-]+) (==|!=) ([\w.-]+|'[^']*')$`)
	ghPinned     = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
)

func (c *ghContext) value(path string, values map[string]any) string {
	if text, ok := strings.CutPrefix(path, "'"); ok {
		return strings.TrimSuffix(text, "'")
	}
	if v := valueAt(values, strings.Split(path, ".")...); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

func (c *ghContext) filled(text string, values map[string]any) string {
	c.g.t.Helper()
	out := ghExpression.ReplaceAllStringFunc(text, func(e string) string { return c.value(ghExpression.FindStringSubmatch(e)[1], values) })
	if strings.Contains(out, "${{") {
		c.g.t.Fatalf("an expression that this test does not know: %s", out)
	}
	return out
}

// holds reports whether a condition is met. Without always() it also asks that nothing failed.
func (c *ghContext) holds(condition string, failed bool) bool {
	c.g.t.Helper()
	always := false
	for part := range strings.SplitSeq(condition, " && ") {
		if part == "always()" {
			always = true
			continue
		}
		if part == "" {
			continue
		}
		m := ghCondition.FindStringSubmatch(part)
		if m == nil {
			c.g.t.Fatalf("a condition that this test does not know: %s", part)
		}
		if (c.value(m[1], c.values) == c.value(m[3], c.values)) != (m[2] == "==") {
			return false
		}
	}
	return always || !failed
}

// steps runs steps of a job, or of an action in a folder.
func (c *ghContext) steps(all []any, values map[string]any, action string) {
	c.g.t.Helper()
	for _, s := range all {
		s := s.(map[string]any)
		condition, _ := s["if"].(string)
		if !c.holds(condition, c.job.failed) {
			continue
		}
		with := textsOf(s["with"])
		for name := range with {
			with[name] = c.filled(with[name], values)
		}
		if uses, ok := s["uses"].(string); ok {
			c.use(uses, with, s, values)
			continue
		}
		c.shell(s, values, action)
	}
}

func (c *ghContext) shell(s, values map[string]any, action string) {
	c.g.t.Helper()
	shell := "bash -e"
	if s["shell"] == "bash" {
		shell = "bash --noprofile --norc -eo pipefail"
	}
	output, path := filepath.Join(c.temp, fmt.Sprint("output", c.g.next())), filepath.Join(c.temp, "path")
	env := joined(c.env, textsOf(s["env"]))
	for name := range env {
		env[name] = c.filled(env[name], values)
	}
	env = joined(env, map[string]string{
		"CI": "true", "HOME": c.temp, "PATH": strings.Join(c.path, ":"), "RUNNER_TEMP": c.temp, "GITHUB_OUTPUT": output, "GITHUB_PATH": path, "LANG": "C.UTF-8",
		"GITHUB_API_URL": c.g.URL, "GITHUB_REPOSITORY": "acme/shop", "GITHUB_SHA": c.value("github.sha", c.values), "GITHUB_ACTION_PATH": action,
	})
	text := s["run"].(string)
	if strings.Contains(text, "${{") {
		c.g.t.Errorf("a script has an expression in it, so that what it stands for is run: %s", text)
	}
	out, code := ciShell(c.g.t, c.workspace, shell, text, env)
	c.job.log += out
	c.job.env = nil
	for name, value := range env {
		c.job.env = append(c.job.env, name+"="+value)
	}
	c.job.failed = c.job.failed || code != 0
	if more, err := os.ReadFile(path); err == nil {
		c.path = append(strings.Fields(string(more)), "/usr/local/bin", "/usr/bin", "/bin")
	}
	if id, ok := s["id"].(string); ok {
		set := map[string]any{}
		text, err := os.ReadFile(output)
		if err == nil {
			for line := range strings.Lines(string(text)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				set[name] = value
			}
		}
		values["steps"].(map[string]any)[id] = map[string]any{"outputs": set}
	}
}

func (c *ghContext) use(uses string, with map[string]string, s, values map[string]any) {
	t := c.g.t
	t.Helper()
	if folder, local := strings.CutPrefix(uses, "./"); local {
		dir := filepath.Join(c.workspace, folder)
		file := yamlTree(t, filepath.Join(dir, "action.yml"))
		inputs := map[string]any{}
		for name, d := range file["inputs"].(map[string]any) {
			given, ok := with[name]
			if !ok {
				given = fmt.Sprint(valueAt(d, "default"))
				if valueAt(d, "required") == true {
					t.Fatalf("%s needs %s", uses, name)
				}
			}
			inputs[name] = given
			delete(with, name)
		}
		if len(with) > 0 {
			t.Fatalf("%s has no %v", uses, with)
		}
		inside := map[string]any{"inputs": inputs, "steps": map[string]any{}}
		c.steps(valueAt(file, "runs", "steps").([]any), inside, dir)
		if id, ok := s["id"].(string); ok {
			outputs := map[string]any{}
			o, _ := file["outputs"].(map[string]any)
			for name, d := range o {
				outputs[name] = c.filled(fmt.Sprint(valueAt(d, "value")), inside)
			}
			values["steps"].(map[string]any)[id] = map[string]any{"outputs": outputs}
		}
		return
	}
	if !ghPinned.MatchString(uses) {
		t.Errorf("%s is not pinned by a commit", uses)
	}
	name, _, _ := strings.Cut(uses, "@")
	switch name {
	case "actions/checkout":
		if with["persist-credentials"] != "false" {
			t.Error("a checkout leaves its token in the clone")
		}
		c.g.clone(c.workspace, c.value("github.sha", c.values))
	case "aws-actions/configure-aws-credentials":
		if c.may["id-token"] != "write" {
			c.job.failed = true
			c.job.log += "Credentials could not be loaded\n"
			return
		}
		c.env = joined(c.env, map[string]string{"AWS_ACCESS_KEY_ID": "of " + with["role-to-assume"], "AWS_REGION": with["aws-region"]})
	case "actions/upload-artifact":
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		count := 0
		for file := range strings.FieldsSeq(with["path"]) {
			data, err := os.ReadFile(filepath.Join(c.workspace, file))
			if err != nil {
				continue
			}
			count++
			w, err := z.Create(file)
			if err == nil {
				_, err = w.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if count > 0 {
			c.g.artifacts[fmt.Sprintf("%d/%s", c.run.id, with["name"])] = b.Bytes()
		}
	case "actions/download-artifact":
		id := strconv.Itoa(c.run.id)
		if other := with["run-id"]; other != "" {
			if id = other; c.g.tokens[with["github-token"]]["actions"] != "read" {
				t.Error("an artifact of another run needs a token that may read actions")
			}
		}
		data := c.g.artifacts[id+"/"+with["name"]]
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			c.job.failed = true
			c.job.log += "Artifact not found\n"
			return
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil || os.MkdirAll(with["path"], 0o700) != nil || os.WriteFile(filepath.Join(with["path"], f.Name), text, 0o600) != nil {
				t.Fatal(f.Name, err)
			}
		}
	default:
		t.Fatalf("unknown action %s", uses)
	}
}

// planned plans a pull request and comments on it.
func (g *github) planned(p *ghPull) map[string]*ghJob {
	g.t.Helper()
	run, jobs := g.start("athanor-plan.yml", ghEvent{name: "pull_request", action: "synchronize", pull: p})
	_, comment := g.start("athanor-comment.yml", ghEvent{name: "workflow_run", run: run, commit: "main"})
	if c := comment["comment"]; c.failed {
		g.t.Errorf("the comment failed: %s", c.log)
	}
	return jobs
}

func (g *github) commented(p *ghPull, count int, want ...string) string {
	g.t.Helper()
	var all []string
	for _, c := range g.comments {
		if c.pull == p.number {
			all = append(all, c.body)
		}
	}
	text := strings.Join(all, "\n\n")
	if len(all) != count {
		g.t.Errorf("pull request %d has %d comments, want %d: %s", p.number, len(all), count, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			g.t.Errorf("no comment of pull request %d has %q: %s", p.number, w, text)
		}
	}
	return text
}

func (j *ghJob) want(t *testing.T, ran, failed bool, log ...string) {
	t.Helper()
	if j.ran != ran || j.failed != failed {
		t.Errorf("ran %t, failed %t; want %t, %t: %s", j.ran, j.failed, ran, failed, j.log)
	}
	for _, text := range log {
		if !strings.Contains(j.log, text) {
			t.Errorf("the log has no %q: %s", text, j.log)
		}
	}
}

// TestGitHubReviewed: a pull request is planned, its comment is updated in place, and its merge deploys what was reviewed.
func TestGitHubReviewed(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	p := g.pull("acme", "change", g.branch("change", "one"))
	jobs := g.planned(p)
	jobs["plan"].want(t, true, false)
	jobs["fork"].want(t, false, false)
	if !slices.Contains(jobs["plan"].env, "AWS_ACCESS_KEY_ID=of plan") {
		t.Error("the plan has no credentials")
	}
	g.commented(p, 1, "shop/prod`: 1 to create", p.head[:12])
	p.head = g.branch("change", "one", "two")
	g.planned(p)
	text := g.commented(p, 1, "shop/prod`: 2 to create", p.head[:12])
	if strings.Contains(text, g.secret) {
		t.Error("the comment has the passphrase")
	}
	p.head = g.branch("change", "one", "two: [")
	g.planned(p)
	g.commented(p, 1, "### athanor plan failed with exit code 1", "    error:")
	p.head = g.branch("change", "one", "two")
	g.planned(p)

	p.merged = g.merge("one", "two")
	_, jobs = g.start("athanor-deploy.yml", ghEvent{name: "push", commit: p.merged})
	jobs["deploy"].want(t, true, false, fmt.Sprintf("the plan of pull request %d", p.number), "2 created")
	jobs["refused"].want(t, false, false)
	g.deployed("one", "two")
	g.commented(p, 1)

	// Nothing was reviewed: a push of its own, and a pull request whose last commit has no plan.
	_, jobs = g.start("athanor-deploy.yml", ghEvent{name: "push", commit: g.merge("pushed")})
	jobs["deploy"].want(t, true, true, "is the merge of no pull request")
	late := g.pull("acme", "late", g.branch("late", "late"))
	late.merged = g.merge("late")
	_, jobs = g.start("athanor-deploy.yml", ghEvent{name: "push", commit: late.merged})
	jobs["deploy"].want(t, true, true, fmt.Sprintf("pull request %d has no plan of its last commit", late.number))
	g.deployed("one", "two")
}

// TestGitHubRefused: when the merged commit does more than was reviewed, nothing is deployed, and the difference is a comment.
func TestGitHubRefused(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	p := g.pull("acme", "change", g.branch("change", "one"))
	g.planned(p)
	p.merged = g.merge("one", "smuggled")
	_, jobs := g.start("athanor-deploy.yml", ghEvent{name: "push", commit: p.merged})
	jobs["deploy"].want(t, true, true)
	jobs["refused"].want(t, true, false)
	g.commented(p, 2, "<!-- athanor: deploy -->", "the plan does what was not reviewed; nothing was changed: value1: create")
	if out := g.athanor(0, "stage", "list"); strings.Contains(out, "prod") {
		t.Errorf("something was deployed: %s", out)
	}
	// An artifact that somebody changed is not what was reviewed.
	q := g.pull("acme", "other", g.branch("other", "two"))
	run, _ := g.start("athanor-plan.yml", ghEvent{name: "pull_request", pull: q})
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("plan.json")
	if err == nil {
		_, err = w.Write([]byte(strings.ReplaceAll(artifactText(t, g.artifacts[fmt.Sprintf("%d/athanor-plan", run.id)], "plan.json"), "two", "six")))
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	g.artifacts[fmt.Sprintf("%d/athanor-plan", run.id)] = b.Bytes()
	q.merged = g.merge("six")
	_, jobs = g.start("athanor-deploy.yml", ghEvent{name: "push", commit: q.merged})
	jobs["deploy"].want(t, true, true, "was changed since it was made")
}

func artifactText(t *testing.T, data []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGitHubFork: a fork's pull request is planned without credentials, its file is shown as text on its own pull request,
// and what it tries to write itself is refused.
func TestGitHubFork(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	own := g.pull("acme", "change", g.branch("change", "one"))
	p := g.pull("mallory", "change", g.branch("fork", "theirs"))
	jobs := g.planned(p)
	jobs["plan"].want(t, false, false)
	jobs["fork"].want(t, true, false)
	for _, v := range jobs["fork"].env {
		for _, hidden := range []string{g.secret, g.store, "AWS_", "ATHANOR_STORE"} {
			if strings.Contains(v, hidden) {
				t.Errorf("a fork's job has %s", v)
			}
		}
	}
	g.commented(p, 1, "From a fork, as its code wrote it:", "    ### athanor plan `shop/prod`: not observed")

	// Its file is what it wants.
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("plan.md")
	if err == nil {
		_, err = w.Write([]byte("@acme/everybody approved\n<!-- athanor: plan -->\n" + strings.Repeat("x", 100_000)))
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	run := g.runs[len(g.runs)-2]
	g.artifacts[fmt.Sprintf("%d/athanor-plan", run.id)] = b.Bytes()
	_, comment := g.start("athanor-comment.yml", ghEvent{name: "workflow_run", run: run, commit: "main"})
	comment["comment"].want(t, true, false)
	for line := range strings.Lines(g.commented(p, 1, "    @acme/everybody approved", "(cut)")) {
		if strings.HasPrefix(line, "@") {
			t.Errorf("it calls somebody: %s", line)
		}
	}
	g.commented(own, 0)

	// It changes the workflow so that this writes a comment: its token may not.
	g.git("checkout", "-q", "fork")
	text, err := os.ReadFile(filepath.Join(g.dir, ".github/workflows/athanor-comment.yml"))
	if err != nil {
		t.Fatal(err)
	}
	hostile := strings.NewReplacer("github.event.workflow_run.event == 'pull_request'", "github.event.action == 'synchronize'", "workflow_run.head_repository.owner.login", "pull_request.head.owner",
		"github.event.workflow_run.head_sha", "github.sha", "github.event.workflow_run.id", "github.none").Replace(string(text))
	hostile = regexp.MustCompile(`(?m)^      - uses: actions/download-artifact.*\n.*\n`).ReplaceAllString(hostile, "      - run: mkdir -p \"$RUNNER_TEMP/plan\" && echo hello > \"$RUNNER_TEMP/plan/plan.md\"\n")
	g.write(".github/workflows/hostile.yml", hostile)
	p.head = g.commit()
	g.refused = nil
	_, jobs = g.start("hostile.yml", ghEvent{name: "pull_request", action: "synchronize", pull: p})
	if j := jobs["comment"]; !j.ran || len(g.comments) != 1 {
		t.Errorf("%+v, %d comments", j, len(g.comments))
	}
	// And for credentials.
	text, err = os.ReadFile(filepath.Join(g.dir, ".github/workflows/athanor-plan.yml"))
	if err != nil {
		t.Fatal(err)
	}
	g.write(".github/workflows/hostile.yml", strings.ReplaceAll(string(text), "full_name == github", "full_name != github"))
	p.head = g.commit()
	_, jobs = g.start("hostile.yml", ghEvent{name: "pull_request", pull: p})
	jobs["plan"].want(t, true, true, "Credentials could not be loaded")

	// Its merge has no plan that was reviewed.
	p.head = g.branch("fork", "theirs")
	g.planned(p)
	p.merged = g.merge("theirs")
	_, jobs = g.start("athanor-deploy.yml", ghEvent{name: "push", commit: p.merged})
	jobs["deploy"].want(t, true, true, "has no plan of its last commit")
}

// TestGitHubToken: a comment needs a token that may write, and one of a fork may not.
func TestGitHubToken(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	p := g.pull("acme", "change", g.branch("change", "one"))
	g.tokens["read"] = map[string]string{"pull-requests": "read", "actions": "read"}
	file := filepath.Join(t.TempDir(), "plan.md")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := ciShell(t, t.TempDir(), "bash -e", "python3 "+filepath.Join(g.dir, ".github/actions/athanor-comment/comment.py"), map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "GITHUB_API_URL": g.URL, "GITHUB_REPOSITORY": "acme/shop", "TOKEN": "read", "OWNER": "acme", "BRANCH": "change",
		"COMMIT": p.head, "ABOUT": "plan", "FILE": file,
	})
	if code == 0 || !strings.Contains(out, "403") || len(g.comments) != 0 || len(g.refused) != 1 {
		t.Errorf("%d: %s, refused %v", code, out, g.refused)
	}
}

// TestGitHubStages: a pull request has a stage of its own, and drift and stages that are over are found on a schedule.
func TestGitHubStages(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	g.athanor(0, "deploy", "--yes")
	p := g.pull("acme", "change", g.branch("change", "one", "two"))
	stage := fmt.Sprintf("pr-%d", p.number)
	_, jobs := g.start("athanor-preview.yml", ghEvent{name: "pull_request", action: "opened", pull: p})
	jobs["preview"].want(t, true, false, "2 created")
	if out := g.athanor(0, "stage", "list"); !regexp.MustCompile(stage + ` +deployed, expires in (7\d h|[23] days)`).MatchString(out) {
		t.Errorf("%s", out)
	}
	_, jobs = g.start("athanor-preview.yml", ghEvent{name: "pull_request", action: "closed", pull: p})
	jobs["preview"].want(t, true, false, "2 deleted")
	fork := g.pull("mallory", "change", g.branch("fork", "theirs"))
	_, jobs = g.start("athanor-preview.yml", ghEvent{name: "pull_request", action: "opened", pull: fork})
	jobs["preview"].want(t, false, false)

	g.athanor(0, "deploy", "--yes", "--stage", "pr-9", "--new-stage", "--ttl", "1ms")
	run, jobs := g.start("athanor-drift.yml", ghEvent{name: "schedule", commit: "main"})
	jobs["drift"].want(t, true, false)
	jobs["reap"].want(t, true, false, "shop/pr-9  deleted")
	if text := artifactText(t, g.artifacts[fmt.Sprintf("%d/athanor-drift", run.id)], "drift.xml"); !strings.Contains(text, `name="shop/prod" tests="1" failures="0"`) {
		t.Error(text)
	}
	if out := g.athanor(0, "stage", "list"); !regexp.MustCompile(`pr-9 +empty`).MatchString(out) || !regexp.MustCompile(`prod +deployed`).MatchString(out) {
		t.Errorf("%s", out)
	}

	// A file that is in no clone is one that somebody deleted.
	g.git("checkout", "-q", "main")
	g.write("athanor.yaml", "stack: shop\nresources:\n  value0: {kind: local.Value, props: {input: one}}\n  page: {kind: local.File, props: {path: page.txt, content: x}}\n")
	g.commit()
	g.athanor(0, "deploy", "--yes")
	run, jobs = g.start("athanor-drift.yml", ghEvent{name: "schedule", commit: "main"})
	jobs["drift"].want(t, true, true)
	if text := artifactText(t, g.artifacts[fmt.Sprintf("%d/athanor-drift", run.id)], "drift.xml"); !strings.Contains(text, `tests="2" failures="1"`) {
		t.Error(text)
	}
}

// TestGitHubWorkflows: no workflow runs where a stranger's code would have credentials, and each names what its jobs may.
func TestGitHubWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../ci/github/workflows/*.yml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		file := yamlTree(t, path)
		if on := fmt.Sprint(file["on"]); strings.Contains(on, "pull_request_target") || strings.Contains(on, "issue_comment") {
			t.Errorf("%s runs on %s", path, on)
		}
		if len(textsOf(file["permissions"])) > 0 || file["permissions"] == nil {
			t.Errorf("%s: the default of what jobs may is not nothing", path)
		}
		for name, job := range file["jobs"].(map[string]any) {
			may := textsOf(valueAt(job, "permissions"))
			if len(may) == 0 || may["contents"] != "read" {
				t.Errorf("%s: %s may %v", path, name, may)
			}
			if may["pull-requests"] == "write" && (may["id-token"] != "" || strings.Contains(fmt.Sprint(job), "secrets.")) {
				t.Errorf("%s: %s may write and has credentials", path, name)
			}
		}
	}
}
