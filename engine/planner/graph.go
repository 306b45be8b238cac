package planner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// GraphFormat is the version of the graph document that this engine writes and reads.
const GraphFormat = 1

// Graph is what a program declares for one stage. It is plain data, save for the functions of Then, of Go hooks and of
// policies; a graph that uses one says so in Program and needs its program to be applied.
type Graph struct {
	Format int    `json:"format"`
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	// Config are the values that the program read, for the record.
	Config map[string]any `json:"config,omitempty"`
	// Secrets say where secret values come from, by name. Values are never in a graph.
	Secrets   map[string]graph.SecretSource `json:"secrets,omitempty"`
	Resources []graph.Resource              `json:"resources"`
	// Reads are used and not owned.
	Reads   []graph.Read   `json:"reads,omitempty"`
	Outputs map[string]any `json:"outputs,omitempty"`
	// Forget are addresses that are no longer declared and are to be removed from state, not deleted.
	Forget []string `json:"forget,omitempty"`
	// Program says why the graph needs its program: "then", "hook", "policy".
	Program []string `json:"program,omitempty"`

	// Dir is the stack's directory; relative paths in props start there. It is where the program lies, not
	// what it declares, and so no part of the digest.
	Dir string `json:"-"`
	// Funcs are the functions, by the ids that the document holds.
	Funcs Funcs `json:"-"`
}

// Funcs are what a graph cannot hold as data.
type Funcs struct {
	// Then by id: from the resolved input to a value. A secret input makes a secret value.
	Then map[string]func(input any) (any, error)
	// Hooks by id.
	Hooks map[string]func(context.Context, HookInfo) error
	// Policies run on every plan before approval.
	Policies []func(*plan.Plan) []plan.Violation
}

// HookInfo is what a hook is told.
type HookInfo struct {
	Stack, Stage, Address, Kind string
	Action                      plan.Action
	// Attrs are the attributes after the change, nil before it.
	Attrs map[string]any
}

// EmptyGraph is a program of a stage that declares nothing. Relative paths start where they do in another one, if that is given.
func EmptyGraph(stage statestore.Stage, like *Graph) *Graph {
	g := &Graph{Format: GraphFormat, Stack: stage.Stack, Stage: stage.Name}
	if like != nil {
		g.Dir = like.Dir
	}
	return g
}

// Digest is over everything that the program declares, and not over where it lies. It is that of the document
// without its sources, found without writing the document: resources are nearly all of it, and go into the hash one by
// one.
func (g *Graph) Digest() (string, error) {
	rest := *g
	rest.Resources, rest.Reads = nil, slices.Clone(g.Reads)
	for i := range rest.Reads {
		rest.Reads[i].Source = ""
	}
	doc, err := rest.tree()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	b := []byte{'{'}
	for i, name := range tree.AppendKeys(nil, doc) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(tree.AppendCanonical(b, name), ':')
		if name != "resources" || g.Resources == nil {
			b = tree.AppendCanonical(b, doc[name])
			continue
		}
		if b, err = g.hashResources(sum, b); err != nil {
			return "", err
		}
	}
	sum.Write(append(b, '}'))
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// hashResources writes b and the list of resources. It returns b to be used again.
func (g *Graph) hashResources(sum hash.Hash, b []byte) ([]byte, error) {
	b = append(b, '[')
	var err error
	for i := range g.Resources {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = g.Resources[i].AppendCanonical(b); err != nil {
			return nil, err
		}
		sum.Write(b)
		b = b[:0]
	}
	return append(b, ']'), nil
}

func (g *Graph) tree() (map[string]any, error) {
	data, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	doc, err := tree.Decode(data)
	m, _ := doc.(map[string]any)
	return m, err
}

// ReadGraph reads a graph document. Unknown fields and other formats are errors.
func ReadGraph(data []byte) (*Graph, error) {
	// A list that grows while it is read would be copied over and over. What no document of resources says is not believed.
	g := Graph{Resources: make([]graph.Resource, 0, min(bytes.Count(data, []byte(`"address":`)), len(data)/32))}
	if err := plan.DecodeWhole(data, &g); err != nil {
		return nil, fmt.Errorf("graph document: %w", err)
	}
	if len(g.Resources) == 0 && cap(g.Resources) > 0 {
		g.Resources = nil // the document has no list
	}
	if g.Format != GraphFormat {
		return nil, fmt.Errorf("graph document: format %d; this athanor reads format %d", g.Format, GraphFormat)
	}
	for i := range g.Resources {
		r := &g.Resources[i]
		if err := plan.Retree(&r.Props, &r.Settings); err != nil {
			return nil, fmt.Errorf("graph document: %s: %w", r.Address, err)
		}
	}
	for i := range g.Reads {
		if err := plan.Retree(&g.Reads[i].Query, &g.Reads[i].Settings); err != nil {
			return nil, fmt.Errorf("graph document: %s: %w", g.Reads[i].Address, err)
		}
	}
	if err := plan.Retree(&g.Outputs, &g.Config); err != nil {
		return nil, fmt.Errorf("graph document: outputs: %w", err)
	}
	return &g, nil
}
