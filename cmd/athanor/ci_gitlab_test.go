//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
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

// gitlab is a server that answers as GitLab's API does, as far as the recipe asks, and runs jobs of pipelines.
type gitlab struct {
	*ciRepository
	*httptest.Server
	requests  []*glRequest
	pipelines []*glPipeline
	notes     []*glNote
	ids       int
}

type glRequest struct {
	iid, source  int // the project that it comes from: 1 is ours
	head, merged string
}

type glPipeline struct {
	id      int
	request *glRequest
	sha     string
	jobs    map[string]*glJob
}

type glNote struct {
	id, request int
	body        string
}

type glJob struct {
	id          int
	ran, failed bool
	log         string
	env         map[string]string
	artifacts   map[string][]byte
}

const glToken = "glpat-of-the-bot"

func newGitLab(t *testing.T) *gitlab {
	t.Helper()
	g := &gitlab{ciRepository: newCIRepository(t, "../../ci/gitlab", ".")}
	g.Server = httptest.NewServer(http.HandlerFunc(g.answer))
	t.Cleanup(g.Close)
	return g
}

func (g *gitlab) next() int {
	g.ids++
	return g.ids
}

func (g *gitlab) answer(w http.ResponseWriter, r *http.Request) {
	say := func(v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			g.t.Error(err)
		}
	}
	if r.Header.Get("PRIVATE-TOKEN") != glToken {
		http.Error(w, `{"message":"401 Unauthorized"}`, http.StatusUnauthorized)
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v4/projects/1/"), "/")
	number := func(at int) int {
		n, err := strconv.Atoi(path[at])
		if err != nil {
			g.t.Error(err)
		}
		return n
	}
	all := []any{}
	switch {
	case r.URL.Path == "/api/v4/user":
		say(map[string]any{"id": 7})
	case path[0] == "merge_requests" && path[2] == "notes" && r.Method == "GET":
		all = append(all, map[string]any{"id": 1 << 30, "body": "<!-- athanor: plan -->", "author": map[string]any{"id": 8}}) // a person's
		for _, n := range g.notes {
			if n.request == number(1) {
				all = append(all, map[string]any{"id": n.id, "body": n.body, "author": map[string]any{"id": 7}})
			}
		}
		if r.URL.Query().Get("page") != "1" {
			all = []any{}
		}
		say(all)
	case path[0] == "merge_requests" && path[2] == "notes":
		var in struct{ Body string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Body) > 1_000_000 {
			http.Error(w, "note is too long", http.StatusBadRequest)
			return
		}
		if r.Method == "POST" {
			g.notes = append(g.notes, &glNote{g.next(), number(1), in.Body})
		} else {
			at := slices.IndexFunc(g.notes, func(n *glNote) bool { return n.id == number(3) })
			if at < 0 {
				http.NotFound(w, r)
				return
			}
			g.notes[at].body = in.Body
		}
		say(map[string]any{})
	case path[0] == "repository":
		for _, m := range g.requests {
			if m.merged == path[2] || m.head == path[2] {
				state := map[bool]string{true: "merged", false: "opened"}[m.merged != ""]
				all = append(all, map[string]any{
					"iid": m.iid, "state": state, "sha": m.head, "merge_commit_sha": nil, "squash_commit_sha": m.merged, "source_project_id": m.source, "target_project_id": 1,
				})
			}
		}
		say(all)
	case path[0] == "merge_requests":
		for _, p := range g.pipelines {
			if p.request != nil && p.request.iid == number(1) {
				all = append(all, map[string]any{"id": p.id, "sha": p.sha})
			}
		}
		say(all)
	case path[0] == "pipelines":
		at := slices.IndexFunc(g.pipelines, func(p *glPipeline) bool { return p.id == number(1) })
		for name, j := range g.pipelines[at].jobs {
			all = append(all, map[string]any{"id": j.id, "name": name, "status": map[bool]string{true: "failed", false: "success"}[j.failed]})
		}
		say(all)
	case path[0] == "jobs":
		for _, p := range g.pipelines {
			for _, j := range p.jobs {
				if j.id == number(1) && j.artifacts[path[3]] != nil {
					_, _ = w.Write(j.artifacts[path[3]])
					return
				}
			}
		}
		http.NotFound(w, r)
	default:
		g.t.Errorf("unexpected %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	}
}

func (g *gitlab) request(source int, head string) *glRequest {
	m := &glRequest{iid: g.next(), source: source, head: head}
	g.requests = append(g.requests, m)
	return m
}

var glRule = regexp.MustCompile(`^\$(\w+) (==|!=) (?:\$(\w+)|"(\w+)")$`)

// rule reports whether the condition of a rule is met.
func (g *gitlab) rule(condition string, env map[string]string) bool {
	g.t.Helper()
	for part := range strings.SplitSeq(condition, " && ") {
		m := glRule.FindStringSubmatch(part)
		if m == nil {
			g.t.Fatalf("a rule that this test does not know: %s", part)
		}
		want := m[4]
		if m[3] != "" {
			want = env[m[3]]
		}
		if (env[m[1]] == want) != (m[2] == "==") {
			return false
		}
	}
	return true
}

// job is a job with what it extends.
func (g *gitlab) job(file map[string]any, name string) map[string]any {
	own, _ := file[name].(map[string]any)
	all := map[string]any{}
	if above, ok := own["extends"].(string); ok {
		all = g.job(file, above)
	}
	maps.Copy(all, own)
	return all
}

// lines are the commands of a script, with what it refers to.
func (g *gitlab) lines(file map[string]any, at any) []string {
	var out []string
	list, _ := at.([]any)
	for _, e := range list {
		if reference, ok := e.([]any); ok {
			out = append(out, g.lines(file, valueAt(file, fmt.Sprint(reference[0]), fmt.Sprint(reference[1])))...)
			continue
		}
		out = append(out, fmt.Sprint(e))
	}
	return out
}

// start runs the pipeline of an event: of a merge request, of a push to main at a commit, or of a schedule.
func (g *gitlab) start(source string, m *glRequest, commit string) *glPipeline {
	g.t.Helper()
	file := yamlTree(g.t, filepath.Join(g.dir, "athanor.gitlab-ci.yml"))
	p := &glPipeline{id: g.next(), request: m, sha: commit, jobs: map[string]*glJob{}}
	g.pipelines = append(g.pipelines, p)
	env := joined(textsOf(file["variables"]), map[string]string{
		"CI": "true", "CI_API_V4_URL": g.URL + "/api/v4", "CI_PROJECT_ID": "1", "CI_PIPELINE_SOURCE": source, "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_SHA": commit,
		"LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin",
	})
	trusted := true
	if m != nil {
		p.sha, env["CI_COMMIT_SHA"] = m.head, m.head
		env["CI_MERGE_REQUEST_IID"], env["CI_MERGE_REQUEST_PROJECT_ID"], env["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] = strconv.Itoa(m.iid), "1", strconv.Itoa(m.source)
		// The pipeline of a fork runs in the fork, which has no variable of ours.
		trusted = m.source == 1
		env["CI_PROJECT_ID"] = strconv.Itoa(m.source)
	} else if source == "push" {
		env["CI_COMMIT_BRANCH"] = "main"
	}
	failed := false
	for _, stage := range file["stages"].([]any) {
		for name := range file {
			d := g.job(file, name)
			if d["stage"] != stage || strings.HasPrefix(name, ".") {
				continue
			}
			j := &glJob{id: g.next(), artifacts: map[string][]byte{}}
			when := "never"
			for _, rule := range d["rules"].([]any) {
				if g.rule(fmt.Sprint(valueAt(rule, "if")), env) {
					when = "on_success"
					if w, ok := valueAt(rule, "when").(string); ok {
						when = w
					}
					break
				}
			}
			if when == "never" || when == "manual" || when == "on_success" && failed || when == "on_failure" && !failed {
				continue
			}
			p.jobs[name] = j
			g.run(file, d, p, j, env, trusted)
			failed = failed || j.failed
		}
	}
	return p
}

// run runs a job.
func (g *gitlab) run(file, d map[string]any, p *glPipeline, j *glJob, env map[string]string, trusted bool) {
	g.t.Helper()
	j.ran = true
	work := filepath.Join(g.t.TempDir(), "build")
	own := textsOf(d["variables"])
	if own["GIT_STRATEGY"] == "none" {
		if err := os.MkdirAll(work, 0o700); err != nil {
			g.t.Fatal(err)
		}
	} else {
		g.clone(work, p.sha)
	}
	j.env = joined(env, own, map[string]string{"HOME": g.t.TempDir(), "CI_PROJECT_DIR": work, "TMPDIR": g.t.TempDir()})
	environment, _, _ := strings.Cut(fmt.Sprint(valueAt(d, "environment", "name")), "/")
	if trusted {
		// Variables are limited to environments: docs/ci.md.
		if environment == "athanor-comment" || environment == "production" {
			j.env["ATHANOR_GITLAB_TOKEN"] = glToken
		}
		if slices.Contains([]string{"athanor-plan", "production", "preview", "athanor-preview"}, environment) {
			j.env = joined(j.env, map[string]string{"ATHANOR_STORE": g.store, "ATHANOR_PASSPHRASE": g.secret, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/" + environment})
		}
	}
	if d["id_tokens"] != nil {
		j.env["ATHANOR_AWS_TOKEN"] = "token of the job"
	}
	needs, _ := d["needs"].([]any)
	for _, n := range needs {
		if needed := p.jobs[fmt.Sprint(valueAt(n, "job"))]; needed != nil {
			for name, data := range needed.artifacts {
				if err := os.WriteFile(filepath.Join(work, name), data, 0o600); err != nil {
					g.t.Fatal(err)
				}
			}
		}
	}
	text := strings.Join(append(g.lines(file, d["before_script"]), g.lines(file, d["script"])...), "\n")
	out, code := ciShell(g.t, work, "bash -eo pipefail", text, j.env)
	j.log, j.failed = out, code != 0
	paths, _ := valueAt(d, "artifacts", "paths").([]any)
	if report, ok := valueAt(d, "artifacts", "reports", "junit").(string); ok {
		paths = append(paths, report)
	}
	for _, name := range paths {
		if data, err := os.ReadFile(filepath.Join(work, fmt.Sprint(name))); err == nil {
			j.artifacts[fmt.Sprint(name)] = data
		}
	}
}

func (j *glJob) want(t *testing.T, failed bool, log ...string) {
	t.Helper()
	if j == nil {
		t.Fatal("the job did not run")
	}
	if j.failed != failed {
		t.Errorf("failed %t, want %t: %s", j.failed, failed, j.log)
	}
	for _, text := range log {
		if !strings.Contains(j.log, text) {
			t.Errorf("the log has no %q: %s", text, j.log)
		}
	}
}

func (g *gitlab) noted(m *glRequest, count int, want ...string) {
	g.t.Helper()
	var all []string
	for _, n := range g.notes {
		if n.request == m.iid {
			all = append(all, n.body)
		}
	}
	text := strings.Join(all, "\n\n")
	if len(all) != count {
		g.t.Errorf("merge request %d has %d notes, want %d: %s", m.iid, len(all), count, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			g.t.Errorf("no note of merge request %d has %q: %s", m.iid, w, text)
		}
	}
}

// TestGitLab: a merge request is planned and has a stage, its note is updated in place, its merge deploys what was reviewed and
// nothing else, and a schedule reports drift and deletes stages that are over.
func TestGitLab(t *testing.T) {
	t.Parallel()
	g := newGitLab(t)
	m := g.request(1, g.branch("change", "one"))
	p := g.start("merge_request_event", m, "")
	p.jobs["athanor plan"].want(t, false)
	if j := p.jobs["athanor plan"]; j.env["ATHANOR_GITLAB_TOKEN"] != "" {
		t.Error("the job that runs the code of a merge request may write")
	}
	p.jobs["athanor comment"].want(t, false)
	if j := p.jobs["athanor comment"]; j.env["ATHANOR_PASSPHRASE"] != "" || j.env["ATHANOR_AWS_TOKEN"] != "" {
		t.Error("the job that may write has credentials")
	}
	p.jobs["athanor preview"].want(t, false)
	if p.jobs["athanor plan of a fork"] != nil || p.jobs["athanor deploy"] != nil || p.jobs["athanor preview end"] != nil {
		t.Errorf("%v", p.jobs)
	}
	g.noted(m, 1, "shop/prod`: 1 to create", m.head[:12])
	if out := g.athanor(0, "stage", "list"); !regexp.MustCompile(fmt.Sprintf(`pr-%d +deployed, expires in `, m.iid)).MatchString(out) {
		t.Errorf("%s", out)
	}
	m.head = g.branch("change", "one", "two")
	g.start("merge_request_event", m, "")
	g.noted(m, 1, "shop/prod`: 2 to create", m.head[:12])

	m.merged = g.merge("one", "two")
	p = g.start("push", nil, m.merged)
	p.jobs["athanor deploy"].want(t, false, "2 created")
	if p.jobs["athanor refused"] != nil {
		t.Error("it was refused")
	}
	g.deployed("one", "two")

	n := g.request(1, g.branch("other", "one", "three"))
	g.start("merge_request_event", n, "")
	n.merged = g.merge("one", "smuggled")
	p = g.start("push", nil, n.merged)
	p.jobs["athanor deploy"].want(t, true, "the plan does what was not reviewed")
	p.jobs["athanor refused"].want(t, false)
	g.noted(n, 2, "<!-- athanor: deploy -->\n### athanor did not deploy what was merged")
	g.start("push", nil, g.merge("pushed")).jobs["athanor deploy"].want(t, true, "is the merge of no merge request")
	g.deployed("one", "two")

	g.athanor(0, "deploy", "--yes", "--stage", "pr-9", "--new-stage", "--ttl", "1ms")
	p = g.start("schedule", nil, "main")
	p.jobs["athanor drift"].want(t, false)
	p.jobs["athanor reap"].want(t, false, "shop/pr-9  deleted")
	if text := string(p.jobs["athanor drift"].artifacts["drift.xml"]); !strings.Contains(text, `name="shop/prod"`) {
		t.Error(text)
	}
}

// TestGitLabFork: the merge request of a fork is planned without credentials, and gets no note and no stage.
func TestGitLabFork(t *testing.T) {
	g := newGitLab(t)
	m := g.request(2, g.branch("fork", "theirs"))
	p := g.start("merge_request_event", m, "")
	p.jobs["athanor plan of a fork"].want(t, false, "not observed")
	if len(p.jobs) != 1 {
		t.Errorf("a fork starts %v", p.jobs)
	}
	for name, value := range p.jobs["athanor plan of a fork"].env {
		if strings.Contains(value, g.secret) || name == "ATHANOR_GITLAB_TOKEN" || strings.HasPrefix(name, "AWS_") || name == "ATHANOR_STORE" {
			t.Errorf("a fork has %s=%s", name, value)
		}
	}
	m.merged = g.merge("theirs")
	g.start("push", nil, m.merged).jobs["athanor deploy"].want(t, true, "is of a fork")
	g.noted(m, 0)
}
