// Package grants compares what a stack asks for with what its user has allowed.
//
// A stack that is data (YAML, a graph document) reaches only what its user granted: it names endpoints, stores, files
// and variables, and the command refuses those that nobody allowed before it connects to anything. The package knows
// which parts of a stack reach out, how a permission is written, and the user's file of permissions. It does not know
// how a stack is read, nor what is done with it: [Asks], [Missing] and [Parse] are pure functions.
package grants

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Kind is what kind of access is asked for.
type Kind string

// The kinds of access.
const (
	// Endpoint is a server that a provider's calls, with their credentials, are sent to, or an image whose registry a plan asks.
	Endpoint Kind = "endpoint"
	// Store is a state store that is not the stage's own.
	Store Kind = "store"
	// Path is a file or a folder outside of the project, with all links resolved.
	Path Kind = "path"
	// Env is an environment variable that is read as a secret.
	Env Kind = "env"
	// Identity is an account, a profile, a role, or the variable of a token: as whom a provider is called.
	Identity Kind = "identity"
	// Program is a program that is run, such as a Terraform provider, or a flag of a tool that may make it run or write something else.
	Program Kind = "program"
)

// Kinds are all kinds of access.
func Kinds() []Kind { return []Kind{Endpoint, Store, Path, Env, Identity, Program} }

// OwnVariable begins the names of variables that may be a secret of any stack: who sets one has granted it.
const OwnVariable = "ATHANOR_SECRET_"

// Ask is one access that a stack asks for.
type Ask struct {
	Kind  Kind   `json:"kind"`
	Value string `json:"value"`
	// Place is the key's path in the stack: providers.cloudflare.endpoint, resources.out.source.
	Place string `json:"place"`
}

// String is the permission for it, as --allow takes it.
func (a Ask) String() string { return string(a.Kind) + "=" + a.Value + "@" + a.Place }

// Document is a stack as far as it is known: what its graph holds, and what stands in YAML beside that.
type Document struct {
	Graph *engine.Graph
	// Sections are the settings of providers as YAML declares them. Settings in the graph that they explain are theirs.
	Sections []Section
	// Refs are the stores of other stacks by the name of the ref. Stores in the graph that they explain are theirs.
	Refs map[string]string
	// Outside are files that were not read, since they lie outside of the project: by their place, resolved.
	Outside []Ask
}

// Section is one entry of providers.
type Section struct {
	Name, Provider string
	Settings       map[string]any
}

// User is what belongs to the user who runs the command.
type User struct {
	// Bounds are the project's root folder and what else may be read without a question.
	Bounds localfile.Bounds
	// Store is the stage's own store.
	Store string
	// Settings are values that the user's environment gives a setting: by provider.setting.
	Settings map[string][]string
	// StoreOf writes a store in one form, so that two names of one store are equal.
	StoreOf func(name string) string
	// Configs are the files that are read with a file that a prop names: the configuration of a bundler.
	Configs func(prop tree.Path, path string) []string
	// Program writes in one form which program settings run that are those of a Terraform provider: its path, or its source with what is
	// locked of it. Nil: as they are written.
	Program func(settings map[string]any) (string, error)
	// Files are the props of a kind that name files and folders.
	Files func(kind string) []tree.Path
}

// Asks lists what a stack asks for, in the order of its places.
func Asks(d Document, u User) []Ask {
	l := &list{d: d, u: u}
	for _, s := range d.Sections {
		l.settings(s.Provider, s.Settings, "providers."+s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Refs)) {
		l.store(d.Refs[name], "refs."+name+"."+cmp.Or(ForeignState(d.Refs[name]), "store"))
	}
	l.asks = append(l.asks, d.Outside...)
	if d.Graph != nil {
		l.graph(d.Graph)
	}
	slices.SortFunc(l.asks, func(a, b Ask) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
	})
	return slices.Compact(l.asks)
}

// list collects what one stack asks for.
type list struct {
	d    Document
	u    User
	asks []Ask
}

func (l *list) add(kind Kind, value, place string) { l.asks = append(l.asks, Ask{kind, value, place}) }

func (l *list) graph(g *engine.Graph) {
	for _, name := range slices.Sorted(maps.Keys(g.Secrets)) {
		switch s := g.Secrets[name]; {
		case s.Env != "" && !strings.HasPrefix(s.Env, OwnVariable):
			l.add(Env, s.Env, "secrets."+name+".env")
		case s.File != "":
			l.path(g.Dir, s.File, "secrets."+name+".file")
		}
	}
	for i := range g.Resources {
		r := &g.Resources[i]
		place := "resources." + r.Address
		l.scoped(r.Kind, r.Settings, place)
		l.files(g.Dir, r.Kind, r.Props, place)
		l.stores(r.Props, place)
		l.tools(r.Kind, r.Props, place)
		if r.Options.Adopt != "" && r.Options.Adopt != "*" {
			l.identity(g.Dir, r.Kind, r.Options.Adopt, place+".options.adopt")
		}
	}
	for i := range g.Reads {
		r := &g.Reads[i]
		place := "read." + r.Address
		l.scoped(r.Kind, r.Settings, place)
		l.files(g.Dir, r.Kind, r.Query, place)
		l.stores(r.Query, place)
		l.identity(g.Dir, r.Kind, r.ID, place+".id")
	}
	l.stores(g.Outputs, "outputs")
}

// Setting says what a provider's setting grants: "" is nothing, ok is false for one that nobody has judged.
func Setting(provider, name string) (kind Kind, ok bool) {
	kind, ok = settings()[provider+"."+name]
	return kind, ok
}

func settings() map[string]Kind {
	return map[string]Kind{
		"aws.region": "", "aws.profile": Identity, "aws.endpoint": Endpoint, "aws.accountId": Identity,
		"aws.assumeRole": Identity, "aws.tags": "", "aws.ignoreTags": "",
		"cloudflare.account": Identity, "cloudflare.tokenEnv": Identity, "cloudflare.profile": Identity,
		"cloudflare.endpoint": Endpoint,
		"terraform.terraform": Program, "terraform.version": "", "terraform.path": Program, "terraform.config": Identity, "terraform.env": Env, "terraform.account": "",
	}
}

// ownEndpoints are the endpoints that a cloud names itself. AWS has one for each service and region, and names none.
func ownEndpoints() map[string]string {
	return map[string]string{"cloudflare.endpoint": "https://api.cloudflare.com/client/v4"}
}

// settings lists what the settings of a provider ask for. A setting that nobody has judged says who is asked.
func (l *list) settings(provider string, values map[string]any, place string) {
	for _, ask := range l.u.Settled(provider, values) {
		ask.Place = place + "." + ask.Place
		l.asks = append(l.asks, ask)
	}
}

// Settled lists what a set of settings of a provider asks for, each with the setting's name as its place. What the user's own
// environment says, and a cloud's own endpoint, need no permission.
func (u User) Settled(provider string, values map[string]any) []Ask {
	var all []Ask
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if ask, asked := u.setting(provider, name, values); asked {
			ask.Place = name
			all = append(all, ask)
		}
	}
	return all
}

func (u User) setting(provider, name string, values map[string]any) (Ask, bool) {
	kind, judged := Setting(provider, name)
	if !judged {
		kind = Identity
	}
	value := values[name]
	text, isText := value.(string)
	if !isText && value != nil {
		text = string(tree.Canonical(tree.MapText(value, token.Show)))
	}
	full := provider + "." + name
	switch {
	case kind == "" || text == "" || isEmpty(value):
		return Ask{}, false
	case slices.Contains(u.Settings[full], text):
		return Ask{}, false
	case ownEndpoints()[full] != "" && strings.TrimRight(text, "/") == ownEndpoints()[full]:
		return Ask{}, false
	case kind == Program && name == "terraform" && values["path"] != nil && values["path"] != "":
		return Ask{}, false // the path says what runs
	}
	if kind == Program && u.Program != nil {
		if one, err := u.Program(values); err == nil { // what is wrong with it is told when it is fetched
			text = one
		}
	}
	return Ask{Kind: kind, Value: text}, true
}

// isEmpty reports a setting that names nothing: null, or a list or map that holds no value at any depth. A text in it counts even when it is
// empty: what a provider takes an empty text for is its own affair.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !isEmpty(one) })
	case map[string]any:
		for _, one := range v {
			if !isEmpty(one) {
				return false
			}
		}
		return true
	}
	return false
}

// scoped lists the settings of a resource that no section of providers explains.
func (l *list) scoped(kind string, values map[string]any, place string) {
	if len(values) == 0 {
		return
	}
	provider, _, _ := strings.Cut(kind, ".")
	switch {
	case strings.Contains(kind, "::"):
		provider = "aws"
	case provider == "tf":
		provider = "terraform"
	}
	for _, ask := range l.u.Settled(provider, values) {
		if !slices.ContainsFunc(l.d.Sections, func(s Section) bool {
			have, set := s.Settings[ask.Place]
			return set && s.Provider == provider && tree.Equal(have, values[ask.Place])
		}) {
			ask.Place = place + ".settings." + ask.Place
			l.asks = append(l.asks, ask)
		}
	}
}

// ForeignState is the tool whose state a store is, "" for a store of athanor.
func ForeignState(store string) string {
	if tool, _, _ := strings.Cut(store, ":"); tool == "terraform" || tool == "pulumi" {
		return tool
	}
	return ""
}

func (l *list) store(name, place string) {
	if name == "" {
		return
	}
	if full := l.u.StoreOf(name); full != l.u.Store {
		l.add(Store, full, place)
	}
}

// stores lists the stores of other stacks' outputs that a tree refers to, wherever in a token they stand.
func (l *list) stores(v any, place string) {
	tree.Walk(v, func(p tree.Path, x any) bool {
		text, ok := x.(string)
		if !ok || token.HasOnlyRefs(text) || !token.Has(text) {
			return true
		}
		parts, err := token.Scan(text)
		if err != nil {
			return true // the graph's own check says so
		}
		for _, part := range parts {
			if part.Expr != nil {
				l.expr(part.Expr, join(place, p))
			}
		}
		return true
	})
}

func (l *list) expr(e *token.Expr, place string) {
	switch e.Op {
	case token.OpStack:
		for _, store := range l.d.Refs {
			if store == e.Stack.Store {
				return
			}
		}
		l.store(e.Stack.Store, place)
	case token.OpJSON, token.OpThen:
		l.stores(e.Input, place)
	case token.OpURL:
		for _, arg := range e.Args {
			l.stores(arg, place)
		}
	case token.OpRef, token.OpSecret:
	}
}

// files lists the files outside of the project that the props of a kind name.
func (l *list) files(dir, kind string, props map[string]any, place string) {
	if props == nil {
		return
	}
	for _, p := range slices.Concat(l.u.Files(kind), MorePaths(kind)) {
		v, ok := tree.Get(props, p)
		if !ok {
			continue
		}
		tree.Walk(v, func(below tree.Path, x any) bool {
			if text, ok := x.(string); ok && isPath(kind, p, text) {
				at := join(join(place, p), below)
				l.path(dir, text, at)
				for _, config := range l.configs(dir, p, text) {
					l.path(dir, config, at)
				}
			}
			return true
		})
	}
}

// configs are the files that are read with one that a prop names.
func (l *list) configs(dir string, p tree.Path, path string) []string {
	if l.u.Configs == nil || token.Has(path) {
		return nil
	}
	if full := filepath.FromSlash(path); !filepath.IsAbs(full) {
		path = filepath.Join(dir, full)
	}
	return l.u.Configs(p, path)
}

// MorePaths are props of a kind that name a file or a folder and are no sources of it: what is written, where a
// command runs, and what is read when the stack is read.
func MorePaths(kind string) []tree.Path {
	switch kind {
	case "aws.Website":
		return []tree.Path{"files"}
	case "cloudflare.Website":
		return []tree.Path{"dir", "inputs"}
	case "cloudflare.Worker", "miniflare.Worker":
		return []tree.Path{"code.serve.dir"}
	case "local.File", "local.Directory":
		return []tree.Path{"path"}
	case "local.Command", "local.Process":
		return []tree.Path{"dir"}
	default:
		return nil
	}
}

// isPath reports whether a prop names a file: the program of a function may be an import path instead.
func isPath(kind string, p tree.Path, text string) bool {
	if kind == "aws.lambda.Function" && p == "code.go" {
		return strings.HasPrefix(text, ".") || filepath.IsAbs(text)
	}
	return true
}

// identity lists the path that is the identity of an object on this machine.
func (l *list) identity(dir, kind, id, place string) {
	if paths := MorePaths(kind); id != "" && slices.Contains(paths, "path") {
		l.path(dir, id, place)
	}
}

// path lists a path when it lies outside. One with a reference in it is known later, and judged when it is opened.
func (l *list) path(dir, path, place string) {
	if path == "" || token.Has(path) {
		return
	}
	full := filepath.FromSlash(path)
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
	}
	real, err := localfile.Real(full)
	switch {
	case err != nil:
		l.add(Path, full, place) // a ring of links, or a folder that may not be searched
	case !localfile.Within(l.u.Bounds.Root, real): // what is allowed at another place is asked for at this one
		l.add(Path, real, place)
	}
}

// join is the place of a path below another one.
func join(place string, p tree.Path) string {
	switch {
	case p == "":
		return place
	case strings.HasPrefix(string(p), "["):
		return place + string(p)
	}
	return place + "." + string(p)
}

// linkerFlags are flags of Go's linker that neither run nor write anything; each may have a value.
func linkerFlags() []string { return []string{"-s", "-w", "-X", "-buildid"} }

// tools lists the flags that a stack hands to a tool and that may make it run or write something else.
func (l *list) tools(kind string, props map[string]any, place string) {
	at, ok := map[string]tree.Path{"aws.lambda.Function": "code", "aws.ecr.Image": "source"}[kind]
	if !ok {
		return
	}
	said := func(name string) string {
		value, _ := tree.Get(props, at.Key(name))
		text, _ := value.(string)
		return text
	}
	if text := said("go"); strings.HasPrefix(strings.TrimSpace(text), "-") {
		l.add(Program, text, join(place, at.Key("go")))
	}
	if text := said("ldFlags"); text != "" && !harmless(text) {
		l.add(Program, text, join(place, at.Key("ldFlags")))
	}
	for _, name := range []string{"base", "from"} { // a plan asks the registry
		if text := said(name); text != "" && kind == "aws.ecr.Image" {
			l.add(Endpoint, text, join(place, at.Key(name)))
		}
	}
}

// harmless reports whether all words are flags from the list, or values of -X.
func harmless(flags string) bool {
	value := false
	for word := range strings.FieldsSeq(flags) {
		name, _, joined := strings.Cut(strings.Trim(word, `'"`), "=")
		name = "-" + strings.TrimLeft(name, "-")
		switch {
		case value:
			value = false
		case !strings.HasPrefix(strings.Trim(word, `'"`), "-") || !slices.Contains(linkerFlags(), name):
			return false
		default:
			value = name == "-X" && !joined
		}
	}
	return !value
}

// Sentence says what is asked for, for people.
func (a Ask) Sentence() string {
	what := map[Kind]string{
		Endpoint: "sends calls and credentials to %s", Store: "reads the state store %s",
		Path: "reads or writes %s, outside of the project",
		Env:  "reads the variable %s", Identity: "acts as %s", Program: "hands a tool the flags %s",
	}[a.Kind]
	if a.Kind == Program && !strings.HasPrefix(a.Value, "-") {
		what = "runs %s"
	}
	return fmt.Sprintf("%s: "+what, a.Place, a.Value)
}
