package athanor_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

const module = "github.com/athanor-dev/athanor"

// A room is a top-level folder, "." the root package; in providers each cloud is one, as are the two
// shared suites. arrows says which rooms' packages each may import besides its own.
var arrows = map[string][]string{
	"reconcile":  {},
	"statestore": {},
	"service":    {"statestore", "reconcile"}, // of reconcile what people write, see inner
	"adopt":      {"reconcile", "statestore"},
	"asset":      {"reconcile"},
	"engine":     {"reconcile", "statestore", "adopt"},
	".":          {"reconcile", "statestore", "adopt", "engine"},
	"cmd":        {"docs", "reconcile", "statestore", "service", "adopt", "asset", "engine", ".", "providers/*"},
	"examples":   {"reconcile", "statestore", "adopt", "asset", "engine", ".", "providers/*", "cmd"},
	"bench":      {"reconcile", "statestore", "service", "adopt", "asset", "engine", ".", "providers/*", "cmd", "examples"},
	"docs":       {},
	"tools":      {},
}

var (
	// A provider knows no other one, but for what it has run on this machine.
	provider     = []string{"reconcile", "statestore", "adopt", "asset", ".", "providers/local"}
	allProviders = []string{"reconcile", "statestore", "adopt", "asset", ".", "providers/*"}
	providerTest = []string{"reconcile", "statestore", "adopt", "asset", "engine", ".", "providers/*"}
)

// inner are the arrows between the packages of one layer. A package that is listed imports of ours only what it lists, each
// as a package, and never what it must not: cmd/render shows documents, and what does I/O in the engine or a store takes
// a context. A package that is not listed may import all that its layer may.
var inner = map[string]struct{ ours, never []string }{
	"service": {
		ours: []string{"reconcile/token", "service/internal/sse", "service/page", "statestore", "statestore/remote/wire"},
	},
	"service/page":      {ours: []string{"service/internal/sse", "statestore", "statestore/remote/wire"}},
	"service/pulumiapi": {ours: []string{"service", "service/foreign", "service/page", "statestore", "statestore/remote/wire"}},
	"service/tfhttp":    {ours: []string{"service", "service/foreign", "service/page", "statestore", "statestore/remote/wire"}},
	"cmd/cli": {
		ours:  []string{"engine", "reconcile", "reconcile/props", "reconcile/token"},
		never: []string{"os", "net", "net/http", "os/exec"},
	},
	"cmd/render": {
		ours: []string{
			"engine", "engine/graph", "engine/plan/operation", "reconcile", "reconcile/props", "reconcile/token", "reconcile/tree",
			"statestore",
		},
		never: []string{"context", "os", "net", "net/http", "os/exec"},
	},
	// The engine's layers: what decides does no I/O, and what reads does not decide.
	"engine/graph":  {ours: []string{"reconcile", "reconcile/props", "reconcile/token", "reconcile/tree"}, never: []string{"context", "net", "net/http", "os/exec"}},
	"engine/redact": {ours: []string{"reconcile", "reconcile/tree"}, never: []string{"context", "os", "net", "net/http", "os/exec"}},
	"engine/state": {
		ours:  []string{"adopt", "engine/graph", "reconcile", "reconcile/props", "reconcile/tree", "statestore", "statestore/seal"},
		never: []string{"os", "net", "net/http", "os/exec"},
	},
	"engine": {ours: []string{
		"engine/calls", "engine/causes", "engine/edit", "engine/execute", "engine/graph", "engine/observe", "engine/plan",
		"engine/planner", "engine/redact", "engine/state", "engine/tail", "engine/values", "reconcile", "reconcile/tree", "statestore",
		"statestore/seal",
	}, never: []string{"os", "net", "net/http"}},
	"engine/edit": {ours: []string{
		"adopt", "engine/execute", "engine/graph", "engine/plan", "engine/planner", "engine/state", "reconcile", "reconcile/tree",
		"statestore", "statestore/seal",
	}, never: []string{"os", "net", "net/http", "os/exec"}},
	"engine/execute": {ours: []string{
		"adopt", "engine/calls", "engine/causes", "engine/durations", "engine/graph", "engine/observe", "engine/plan",
		"engine/plan/operation", "engine/planner", "engine/redact", "engine/state", "reconcile", "reconcile/tree", "statestore",
		"statestore/seal",
	}, never: []string{"net", "net/http"}},
	// What decides is given everything as values: without a context it can wait for nothing and call nobody.
	"engine/plan": {ours: []string{
		"adopt", "engine/causes", "engine/graph", "engine/observe", "engine/plan/operation", "engine/redact", "engine/state",
		"reconcile", "reconcile/props", "reconcile/token", "reconcile/tree", "statestore",
	}, never: []string{"context", "os", "net", "net/http", "os/exec", "crypto/rand"}},
	"engine/planner": {ours: []string{
		"adopt", "engine/calls", "engine/graph", "engine/observe", "engine/plan", "engine/plan/operation", "engine/redact",
		"engine/state", "engine/values", "reconcile", "reconcile/props", "reconcile/token", "reconcile/tree", "statestore",
		"statestore/seal",
	}, never: []string{"os", "net", "net/http", "os/exec", "crypto/rand"}},
	"engine/plan/operation": {
		ours:  []string{"adopt", "engine/state", "reconcile", "reconcile/tree"},
		never: []string{"context", "os", "net", "net/http", "os/exec"},
	},
	"engine/tail":      {ours: []string{"reconcile"}, never: []string{"os", "net", "net/http", "os/exec"}},
	"engine/durations": {never: []string{"context", "os", "net", "net/http", "os/exec"}},
	"engine/calls":     {ours: []string{"reconcile", "reconcile/queue", "statestore"}, never: []string{"os", "net", "net/http", "os/exec"}},
	"engine/observe": {
		ours:  []string{"engine/calls", "engine/state", "reconcile", "reconcile/props", "reconcile/tree", "statestore"},
		never: []string{"os", "net", "net/http", "os/exec"},
	},
	"engine/values": {
		ours: []string{
			"engine/graph", "engine/redact", "engine/state", "reconcile", "reconcile/localfile", "reconcile/props", "reconcile/token",
			"reconcile/tree", "statestore", "statestore/seal",
		},
		never: []string{"net", "net/http", "os/exec"},
	},
	// What a stack program links: the engine's documents, and no kind of anybody.
	"cmd/stackprogram":   {ours: []string{"engine", "reconcile", "reconcile/props", "reconcile/tree"}, never: []string{"net", "net/http"}},
	"cmd/internal/watch": {ours: []string{"asset", "reconcile"}},
	// The command: what is shown and asked, where state lies and what a target is know nothing of each other's business, nor any of them
	// of sessions and commands.
	"cmd/internal/untrusted": {ours: []string{"cmd/cli"}, never: []string{"net", "net/http", "os/exec"}},
	"cmd/internal/files":     {ours: []string{"cmd/cli", "reconcile/localfile"}, never: []string{"net", "net/http", "os/exec"}},
	"cmd/internal/release":   {ours: []string{"cmd/cli", "cmd/internal/files", "cmd/internal/untrusted"}, never: []string{"os/exec"}},
	"cmd/internal/gomodule":  {ours: []string{"cmd/cli", "cmd/internal/files", "cmd/internal/release"}, never: []string{"net", "net/http", "os/exec"}},
	"cmd/internal/terminal": {
		ours:  []string{"cmd/cli", "cmd/devloop", "cmd/internal/files", "cmd/render", "engine", "reconcile", "statestore", "statestore/remote/wire"},
		never: []string{"net", "net/http"},
	},
	"cmd/internal/savedplan": {
		ours:  []string{"cmd/cli", "engine", "statestore", "statestore/remote/wire", "statestore/seal"},
		never: []string{"context", "os", "net", "net/http", "os/exec"},
	},
	"cmd/internal/project": {ours: []string{
		"cmd/cli", "cmd/internal/files", "cmd/internal/grants", "cmd/internal/login", "cmd/internal/untrusted", "cmd/render", "engine",
		"providers/aws", "providers/aws/keyservice", "providers/local", "reconcile", "reconcile/localfile", "statestore", "statestore/bolt",
		"statestore/keeper", "statestore/postgres", "statestore/remote", "statestore/s3", "statestore/seal",
	}, never: []string{"net/http", "os/exec"}},
	"cmd/internal/foreign": {ours: []string{
		"adopt/from", "adopt/from/terraform", "cmd/cli", "cmd/internal/files", "cmd/internal/project", "providers/aws/cloudcontrol/registry",
		"reconcile", "reconcile/localfile", "reconcile/props", "statestore/postgres", "statestore/s3",
	}, never: []string{"os/exec"}},
	"cmd/internal/loader": {ours: []string{
		".", "asset", "cmd/cli", "cmd/internal/files", "cmd/internal/gomodule", "cmd/internal/grants", "cmd/internal/project",
		"cmd/internal/savedplan", "cmd/internal/terminal", "cmd/internal/untrusted", "cmd/internal/yamlstack", "cmd/render",
		"cmd/stackprogram", "engine", "providers/terraform", "reconcile", "reconcile/localfile", "reconcile/props", "reconcile/tree",
	}, never: []string{"net", "net/http"}},
	"cmd/internal/account": {ours: []string{
		"cmd/cli", "cmd/internal/login", "cmd/internal/project", "cmd/internal/terminal", "cmd/render", "service", "statestore",
		"statestore/remote", "statestore/remote/wire",
	}, never: []string{"net/http", "os/exec"}},
	"cmd/internal/agent": {ours: []string{
		"cmd/cli", "cmd/internal/files", "cmd/internal/loader", "cmd/internal/release", "cmd/internal/untrusted", "cmd/render", "docs",
		"reconcile/scratch",
	}, never: []string{"net", "net/http"}},
	"cmd/devloop": {
		ours:  []string{"cmd/internal/watch", "engine", "engine/plan/operation", "reconcile", "statestore"},
		never: []string{"net", "net/http", "os/exec"},
	},
}

// only are the packages from elsewhere that one package of ours wraps for all others.
var only = map[string]string{"github.com/urfave/cli/v2": "cmd/cli"}

// allowed lists the rooms that a file may import from; nil means that the room is none of the house.
func allowed(s source) []string {
	room := roomOf(s.dir())
	switch {
	case room == "providers":
		return allProviders
	case strings.HasPrefix(room, "providers/") && (s.test() || s.harness()):
		return providerTest
	case strings.HasPrefix(room, "providers/"):
		return provider
	default:
		return arrows[room]
	}
}

// roomOf gives the room of a directory. providers itself holds the list of all kinds.
func roomOf(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	if first != "providers" || rest == "" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return "providers/" + second
}

// importLaw: reconcile, statestore → adopt → engine → root → providers → cmd → examples. What only tests
// may use (packages named …test) is imported by tests and by such packages alone.
func importLaw(tree []source) []breach {
	var out []breach
	for _, s := range tree {
		may := allowed(s)
		if may == nil {
			out = append(out, breach{s.path, fmt.Sprintf("%s: %q is no room of the house: put it into one of "+
				"reconcile, statestore, service, adopt, asset, engine, the root package, providers, cmd, examples, bench, tools",
				s.path, roomOf(s.dir()))})
			continue
		}
		for _, imp := range s.ast.Imports {
			out = append(out, judgeImport(s, imp, may)...)
			out = append(out, judgeInner(s, imp)...)
		}
	}
	return out
}

func judgeImport(s source, imp *ast.ImportSpec, may []string) []breach {
	full := strings.Trim(imp.Path.Value, `"`)
	dir, ours := strings.CutPrefix(full, module)
	if !ours || (dir != "" && dir[0] != '/') {
		return nil
	}
	dir = path.Clean(strings.TrimPrefix(dir, "/"))
	if !mayImport(s, roomOf(dir), may) {
		return []breach{{s.path, fmt.Sprintf("%s imports %q: a file there may import only %s",
			s.at(imp), full, roomNames(s, may))}}
	}
	if harnessDir(dir) && !s.test() && !s.harness() {
		return []breach{{s.path, fmt.Sprintf("%s imports %q: only tests and conformance suites may",
			s.at(imp), full)}}
	}
	return nil
}

// judgeInner holds the arrows inside of a layer, and what is wrapped.
func judgeInner(s source, imp *ast.ImportSpec) []breach {
	full := strings.Trim(imp.Path.Value, `"`)
	if by, wrapped := only[full]; wrapped && s.dir() != by {
		return []breach{{s.path, fmt.Sprintf("%s imports %q: only %s may, which wraps it", s.at(imp), full, by)}}
	}
	arrows, listed := inner[s.dir()]
	if !listed || s.test() {
		return nil
	}
	dir, ours := strings.CutPrefix(full, module+"/")
	if ours && !slices.Contains(arrows.ours, dir) || slices.Contains(arrows.never, full) {
		return []breach{{s.path, fmt.Sprintf("%s imports %q: of ours %s imports only %s, and never %s", s.at(imp), full,
			s.dir(), strings.Join(arrows.ours, ", "), strings.Join(arrows.never, ", "))}}
	}
	return nil
}

func mayImport(s source, room string, may []string) bool {
	if room == roomOf(s.dir()) || slices.Contains(may, room) {
		return true
	}
	return (room == "providers" || strings.HasPrefix(room, "providers/")) && slices.Contains(may, "providers/*")
}

func roomNames(s source, may []string) string {
	names := []string{"its own room (" + roomOf(s.dir()) + ")"}
	for _, m := range may {
		names = append(names, strings.NewReplacer("providers/*", "any provider").Replace(rootName(m)))
	}
	return strings.Join(names, ", ")
}

func rootName(room string) string {
	if room == "." {
		return "the root package"
	}
	return room
}
