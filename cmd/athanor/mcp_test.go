//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is a client of athanor mcp: the SDK's own.
type agent struct {
	t *testing.T
	*mcp.ClientSession
	asked []string // what the person was shown
}

// newAgent starts a server in a world, with a person who answers in this way; "" for a client that can ask nobody.
func newAgent(w *world, answer string, args ...string) *agent {
	w.t.Helper()
	a := &agent{t: w.t}
	options := &mcp.ClientOptions{}
	if answer != "" {
		options.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.asked = append(a.asked, r.Params.Message)
			if answer != "accept" {
				return &mcp.ElicitResult{Action: answer}, nil
			}
			return &mcp.ElicitResult{Action: answer, Content: map[string]any{"deploy": true}}, nil
		}
	}
	cmd := w.command(append([]string{"mcp"}, args...)...)
	cmd.Stderr = os.Stderr
	var err error
	if a.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(w.t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// end closes the server's input, at which it ends by itself.
func (a *agent) end() {
	a.t.Helper()
	if err := a.Close(); err != nil {
		a.t.Errorf("the server ends with %v", err)
	}
}

// agentAnswer is what a tool returned.
type agentAnswer struct {
	ExitCode         int
	Output, Messages string
	Failed           bool
}

func (a *agent) call(tool string, arguments map[string]any) agentAnswer {
	a.t.Helper()
	result, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return agentAnswer{ExitCode: -1, Messages: err.Error(), Failed: true}
	}
	out := agentAnswer{Failed: result.IsError}
	if result.StructuredContent == nil {
		for _, c := range result.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				out.Messages += text.Text
			}
		}
		return out
	}
	text, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *agent) tools() []string {
	a.t.Helper()
	list, err := a.ListTools(a.t.Context(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
		if t.Annotations.ReadOnlyHint == (t.Name == "deploy") {
			a.t.Errorf("%s says that it reads: %t", t.Name, t.Annotations.ReadOnlyHint)
		}
	}
	slices.Sort(names)
	return names
}

// TestMCPReads: an agent reads kinds, plans, state, drift and history, and its tools change nothing.
func TestMCPReads(t *testing.T) {
	w := newWorld(t, "stack: small\nsecrets: {key: {env: ATHANOR_SECRET_KEY}}\nresources:\n  page: {kind: local.File, props: {path: page.txt, content: \"a\\u001b]0;b\"}}\n"+
		"  hidden: {kind: local.Value, props: {input: \"${secret.key}\"}}\n")
	w.env = append(w.env, "ATHANOR_SECRET_KEY=a-secret-that-nobody-sees")
	a := newAgent(w, "accept")
	defer a.end()
	if tools := a.tools(); !slices.Equal(tools, []string{"docs", "drift", "history", "kinds", "plan", "schema", "state"}) {
		t.Error(tools)
	}
	if x := a.call("kinds", map[string]any{"kind": "local.File"}); x.Failed || !strings.Contains(x.Output, "content") {
		t.Errorf("%+v", x)
	}
	if x := a.call("docs", map[string]any{"query": "exit codes"}); x.Failed || !strings.Contains(x.Output, "(cli.md)") {
		t.Errorf("%+v", x)
	}
	if x := a.call("docs", map[string]any{"page": "howto/stages.md"}); x.Failed || !strings.HasPrefix(x.Output, "# How to work with stages") {
		t.Errorf("%.300s", x.Output)
	}
	if x := a.call("docs", map[string]any{"page": "../../../etc/passwd"}); !x.Failed || !strings.Contains(x.Messages, "there is no such page") {
		t.Errorf("%+v", x)
	}
	if x := a.call("schema", nil); x.Failed || !strings.Contains(x.Output, `"local.File"`) {
		t.Errorf("%.300s", x.Output)
	}
	planned := a.call("plan", map[string]any{"stage": "dev-tester"})
	if planned.Failed || planned.ExitCode != 2 || !strings.Contains(planned.Output, "2 to create") || strings.ContainsRune(planned.Output, 0x1b) {
		t.Errorf("%+v", planned)
	}
	if w.has("page.txt") || w.has(".athanor") {
		t.Error("a plan has written something")
	}
	if x := a.call("deploy", nil); !x.Failed || w.has("page.txt") {
		t.Errorf("without --allow-deploy: %+v", x)
	}
	w.summary(0, "deploy", "--yes")
	if x := a.call("state", nil); x.Failed || !strings.Contains(x.Output, `"page"`) {
		t.Errorf("%+v", x)
	}
	for _, address := range []string{"page", "hidden"} {
		if x := a.call("state", map[string]any{"address": address}); x.Failed || !strings.Contains(x.Output, address) || strings.Contains(x.Output+x.Messages, "nobody-sees") {
			t.Errorf("%+v", x)
		}
	}
	if x := a.call("history", nil); x.Failed || !strings.Contains(x.Output, `"deploy"`) {
		t.Errorf("%+v", x)
	}
	if err := os.Remove(filepath.Join(w.dir, "page.txt")); err != nil {
		t.Fatal(err)
	}
	if x := a.call("drift", nil); x.Failed || x.ExitCode != 2 || w.has("page.txt") {
		t.Errorf("%+v", x)
	}
}

// TestMCPRefuses: what an agent gives is no flag, leads nowhere else, and starts no program.
func TestMCPRefuses(t *testing.T) {
	w := newWorld(t, small)
	outside := newWorld(t, small)
	for link, to := range map[string]string{"out": outside.dir, "file/athanor.yaml": filepath.Join(outside.dir, "athanor.yaml")} {
		path := filepath.Join(w.dir, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"program", "own"} {
		if err := os.Mkdir(filepath.Join(w.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		w.write(folder+"/go.mod", "module example.com/x\n\ngo 1.26\n")
	}
	w.write("program/main.go", "package main\n\nimport \"os\"\n\nfunc main() { _ = os.WriteFile(\"ran\", nil, 0o600) }\n")
	w.write("own/main.go", "package main\n\nimport \"github.com/athanor-dev/athanor/cmd\"\n\nfunc main() { cmd.Main(nil, cmd.Kinds()) }\n")
	own := newAgent(w, "accept", "--root", filepath.Join(w.dir, "own"))
	defer own.end()
	if x := own.call("kinds", map[string]any{"kind": "house.Lamp"}); !x.Failed || !strings.Contains(x.Messages, "unknown kind") {
		t.Errorf("the kinds of a program: %+v", x)
	}
	a := newAgent(w, "accept", "--root", w.dir)
	defer a.end()
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"plan", map[string]any{"dir": outside.dir}, "no such file"},
		{"plan", map[string]any{"dir": "../" + filepath.Base(outside.dir)}, ""},
		{"plan", map[string]any{"dir": "out"}, "outside of"},
		{"plan", map[string]any{"dir": "file"}, "outside of"},
		{"plan", map[string]any{"dir": "program"}, "--allow-programs"},
		{"state", map[string]any{"dir": "program"}, "--allow-programs"},
		{"plan", map[string]any{"stage": "--out=plan.json"}, "no name of a stage"},
		{"plan", map[string]any{"dir": "--out=plan.json"}, ""},
		{"state", map[string]any{"address": "--reveal"}, "--reveal"},
		{"kinds", map[string]any{"kind": "--help"}, "--help"},
		{"plan", map[string]any{"reveal": true}, ""},
	} {
		if x := a.call(c.tool, c.arguments); !x.Failed || !strings.Contains(x.Output+x.Messages, c.want) {
			t.Errorf("%s %v: %+v", c.tool, c.arguments, x)
		}
	}
	if w.has("plan.json") || w.has("program/ran") || w.has("ran") || w.has("own/.athanor") {
		t.Error("something was written")
	}
}

// TestMCPDeploys: a deploy is of the plan that a person was shown and confirmed, and of nothing else.
func TestMCPDeploys(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		made   bool
		want   string
	}{
		"confirmed": {"accept", true, ""}, "declined": {"decline", false, "did not confirm"}, "dismissed": {"cancel", false, "did not confirm"},
		"nobody to ask": {"", false, "elicitation"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, small)
			a := newAgent(w, c.answer, "--allow-deploy")
			defer a.end()
			if tools := a.tools(); !slices.Contains(tools, "deploy") {
				t.Fatal(tools)
			}
			x := a.call("deploy", nil)
			if x.Failed == c.made || w.has("page.txt") != c.made || !strings.Contains(x.Messages, c.want) {
				t.Errorf("%+v", x)
			}
			if c.answer != "" && (len(a.asked) != 1 || !strings.Contains(a.asked[0], "page") || !strings.Contains(a.asked[0], "Deploy exactly this?")) {
				t.Errorf("the person was shown %q", a.asked)
			}
			if x := a.call("deploy", nil); c.made && (x.Failed || x.ExitCode != 0 || len(a.asked) != 1) {
				t.Errorf("with nothing to do: %+v, asked %d times", x, len(a.asked))
			}
		})
	}
}
