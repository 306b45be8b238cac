package page

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// graphBody is what the script lays out and draws, as the list that is read without it.
type graphBody struct {
	Nodes      []node
	Edges      int
	Folded     bool
	Scope      string
	AllURL     string
	FoldURL    string
	Down       bool
	TurnURL    string
	EventsURL  string
	Last       uint64
	Selected   string
	Total, Max int
	TooMany    bool
}

// node is a resource, or a scope that stands for several.
type node struct {
	Name, Kind, URL string
	Status          status
	Needs           []string
	Count           int // of resources in a scope
}

const (
	foldAbove = 300  // resources are folded into scopes
	mostNodes = 2000 // that are drawn
)

// graph shows what needs what.
func (p *Page) graph(v *visit) error {
	head, snap, err := p.head(v)
	if err != nil {
		return err
	}
	rows := p.rowsOf(snap)
	b := &graphBody{Total: len(rows), Max: mostNodes, Scope: v.FormValue("scope"), Down: v.FormValue("dir") == "down", Selected: v.FormValue("select")}
	link := func(scope, all string, down bool) string {
		q := url.Values{}
		if scope != "" {
			q.Set("scope", scope)
		}
		if all != "" {
			q.Set("all", all)
		}
		if down {
			q.Set("dir", "down")
		}
		return head.URL() + "/graph?" + q.Encode()
	}
	if b.Scope != "" {
		rows = slices.DeleteFunc(rows, func(r *resourceRow) bool { return scopeOf(r.Address) != b.Scope })
	}
	all := v.FormValue("all")
	b.Folded = b.Scope == "" && len(rows) > foldAbove && all == "" || len(rows) > mostNodes
	b.AllURL, b.FoldURL, b.TurnURL = link("", "1", b.Down), link("", "", b.Down), link(b.Scope, all, !b.Down)
	b.TooMany = len(rows) > mostNodes
	if b.Folded {
		b.Nodes = folded(rows, func(scope string) string { return link(scope, "", b.Down) })
	} else {
		b.Nodes = nodesOf(rows)
	}
	if len(b.Nodes) > mostNodes {
		b.Nodes = b.Nodes[:mostNodes]
	}
	for _, n := range b.Nodes {
		b.Edges += len(n.Needs)
	}
	if head.Live != "" {
		b.EventsURL = head.Live + "/events"
		if i := slices.IndexFunc(head.Runs, func(r statestore.Run) bool { return r.ID == head.LiveRun }); i >= 0 {
			o, err := p.outcome(v.Context(), v.stage, head.Runs[i])
			if err != nil {
				return err
			}
			b.Last = o.last
			b.lit(o)
		}
	}
	f := p.stageFrame(v, head, "Graph", "graph")
	f.Body = b
	return p.show(v, "graph", f)
}

// lit shows on the nodes how the resources of a run stand.
func (b *graphBody) lit(o *outcome) {
	at := map[string]*change{}
	for _, c := range o.changes {
		at[c.Address] = c
	}
	for i := range b.Nodes {
		if c := at[b.Nodes[i].Name]; c != nil && b.Nodes[i].Count == 0 {
			b.Nodes[i].Status = c.Status()
		}
	}
}

// scopeOf is the first part of an address, without an index.
func scopeOf(address string) string {
	scope, _, _ := strings.Cut(address, "/")
	scope, _, _ = strings.Cut(scope, "[")
	return scope
}

func nodesOf(rows []*resourceRow) []node {
	known := map[string]bool{}
	for _, r := range rows {
		known[r.Address] = true
	}
	nodes := make([]node, 0, len(rows))
	for _, r := range rows {
		n := node{Name: r.Address, Kind: r.Kind, URL: r.URL(), Status: r.Status}
		for _, need := range r.needs {
			if known[need] && need != r.Address {
				n.Needs = append(n.Needs, need)
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// folded makes one node of each scope.
func folded(rows []*resourceRow, link func(scope string) string) []node {
	scopes, needs := map[string]*node{}, map[string]map[string]bool{}
	for _, r := range rows {
		name := scopeOf(r.Address)
		n := scopes[name]
		if n == nil {
			n = &node{Name: name, URL: link(name), Status: r.Status}
			scopes[name], needs[name] = n, map[string]bool{}
		}
		if n.Count++; r.Status.Class != "ok" {
			n.Status = r.Status
		}
		for _, need := range r.needs {
			if other := scopeOf(need); other != name {
				needs[name][other] = true
			}
		}
	}
	nodes := make([]node, 0, len(scopes))
	for name, n := range scopes {
		n.Kind = count(n.Count, "resource")
		for _, need := range slices.Sorted(maps.Keys(needs[name])) {
			if scopes[need] != nil {
				n.Needs = append(n.Needs, need)
			}
		}
		nodes = append(nodes, *n)
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}
