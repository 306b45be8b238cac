package state

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Binding returns what sealed bytes are bound to, so that they open only where they belong.
func Binding(stage statestore.Stage, what string) []byte {
	return appendBinding(nil, stage, what)
}

func appendBinding(b []byte, stage statestore.Stage, what string) []byte {
	for _, part := range []string{"athanor row\x00", stage.Stack, "\x00", stage.Name, "\x00", what} {
		b = append(b, part...)
	}
	return b
}

// Seal returns the row that a store keeps.
func (r *Entry) Seal(stage statestore.Stage, key *seal.Key) (statestore.Row, error) {
	row := statestore.Row{Address: r.Address, Version: r.Version, Birth: r.Birth, Needs: r.Needs}
	if len(r.Generations) == 0 {
		return row, nil
	}
	row.Generations = make([]statestore.Generation, len(r.Generations))
	for i, g := range r.Generations {
		row.Generations[i] = statestore.Generation{
			Number: g.Number, State: g.State, Slot: g.Slot, Kind: g.Kind, Place: statestore.Place(g.Location),
			Identity: g.Identity, Intent: g.Intent != nil, Written: g.Written,
		}
	}
	body, err := bodyOf(r)
	if err != nil {
		return row, err
	}
	// The birth address is what stays when a row moves, and so what its bytes are bound to.
	row.Body = key.Seal(body, Binding(stage, r.Birth))
	return row, nil
}

// object writes a JSON object in its canonical form: its members come in the order of their names.
type object struct {
	to   []byte
	more bool // it has a member
}

func (o *object) begin() { o.to, o.more = append(o.to, '{'), false }

// end ends an object that may be a member of another one.
func (o *object) end() { o.to, o.more = append(o.to, '}'), true }

func (o *object) name(name string) {
	if o.more {
		o.to = append(o.to, ',')
	}
	o.to, o.more = append(append(append(o.to, '"'), name...), '"', ':'), true
}

func (o *object) put(name string, v any) {
	o.name(name)
	o.to = tree.AppendCanonical(o.to, v)
}

// tree keeps nil apart from empty: an empty map is "explicitly none".
func (o *object) tree(name string, m map[string]any) {
	if m != nil {
		o.put(name, m)
	}
}

func (o *object) text(name, text string) {
	if text != "" {
		o.put(name, text)
	}
}

func (o *object) flag(name string, set bool) {
	if set {
		o.put(name, true)
	}
}

// bodySize is a bit more than most bodies take.
const bodySize = 384

// bodyOf returns what is sealed of an entry.
func bodyOf(r *Entry) ([]byte, error) {
	o := &object{to: make([]byte, 0, bodySize)}
	o.begin()
	o.text("built", r.Assets)
	if len(r.Cut) > 0 {
		cut := make(map[string]any, len(r.Cut))
		for addr, paths := range r.Cut {
			cut[addr] = texts(paths)
		}
		o.put("cut", cut)
	}
	if len(r.Files) > 0 {
		o.put("files", assetsTree(r.Files))
	}
	o.name("gens")
	o.begin()
	for _, g := range byNumberText(r.Generations) {
		o.name(strconv.FormatUint(g.Number, 10))
		g.body(o)
	}
	o.end()
	o.flag("leave", r.MayDeleteData)
	o.flag("loose", r.NeedsUnknown)
	o.text("moving", r.MovingFrom)
	o.text("movingTo", r.MovingTo)
	if r.given != nil {
		options, err := graph.OptionsTree(r.given)
		if err != nil {
			return nil, err
		}
		o.tree("options", options)
	}
	o.tree("props", r.Props)
	if len(r.SecretPaths) > 0 {
		o.put("secret", texts(r.SecretPaths))
	}
	o.tree("settings", r.Settings)
	if len(r.Former) > 0 {
		o.put("was", texts(r.Former))
	}
	o.end()
	return o.to, nil
}

// byNumberText returns generations in the order of their numbers as texts.
func byNumberText(generations []*Generation) []*Generation {
	if len(generations) < 2 {
		return generations
	}
	return slices.SortedFunc(slices.Values(generations), func(a, b *Generation) int {
		return cmp.Compare(strconv.FormatUint(a.Number, 10), strconv.FormatUint(b.Number, 10))
	})
}

// body writes what is sealed of a generation.
func (g *Generation) body(o *object) {
	o.begin()
	o.tree("attrs", g.Attributes)
	o.text("derived", g.DerivedFrom)
	o.flag("dev", g.Dev)
	if g.Intent != nil {
		o.put("intent", g.Intent.body())
	}
	o.text("name", g.Name)
	o.flag("named", g.NameGiven)
	o.text("nonce", g.Nonce)
	o.tree("props", g.Props)
	if len(g.Replaced) > 0 {
		d := make(map[string]any, len(g.Replaced))
		for p, digests := range g.Replaced {
			d[string(p)] = texts(digests)
		}
		o.put("replaced", d)
	}
	o.flag("retain", g.Retain)
	o.tree("settings", g.Settings)
	o.flag("virtual", g.StateOnly)
	if len(g.WriteDigests) > 0 {
		d := make(map[string]any, len(g.WriteDigests))
		for p, s := range g.WriteDigests {
			d[string(p)] = s
		}
		o.put("written", d)
	}
	o.end()
}

// Open reads a row. The error says what cannot be read; the identities are in the row itself.
func Open(row statestore.Row, stage statestore.Stage, key *seal.Key) (*Entry, error) {
	return NewOpener(stage, key).Open(row, nil)
}

// Opener reads many rows of a stage in the same space. It is for one goroutine.
type Opener struct {
	stage   statestore.Stage
	key     *seal.Key
	sealed  *seal.Opener
	binding []byte
	body    tree.Reader
}

// NewOpener returns what reads rows of a stage.
func NewOpener(stage statestore.Stage, key *seal.Key) *Opener {
	return &Opener{stage: stage, key: key, sealed: key.Opener()}
}

// Open is [Open] of one of many rows. An entry whose props are those that are declared has the very same ones.
func (o *Opener) Open(row statestore.Row, declared map[string]any) (*Entry, error) {
	o.binding = appendBinding(o.binding[:0], o.stage, row.Birth)
	plain, err := o.sealed.Open(row.Body, o.binding)
	if err != nil {
		return nil, err
	}
	r, err := decodeRow(row, plain, &o.body, declared)
	if err == nil && !o.key.Sealed(row.Body) {
		noteKey(r.Generations, seal.SealedBy(row.Body))
	}
	return r, err
}

// noteKey notes that a key that is not the newest any more sealed the entry of these generations: what is derived was
// derived from that one.
func noteKey(generations []*Generation, id string) {
	for _, g := range generations {
		if g.DerivedFrom == "" {
			g.DerivedFrom = id
		}
	}
}

// single is an entry with its only generation, as nearly all have it, in one piece of memory.
type single struct {
	Entry
	generations [1]*Generation
	only        Generation
}

// entryOf makes an entry of what the row itself says.
func entryOf(row *statestore.Row) *Entry {
	whole := &single{Entry: Entry{Address: row.Address, Version: row.Version, Birth: row.Birth, Needs: row.Needs}}
	r := &whole.Entry
	r.Generations = whole.generations[:0]
	for i := range row.Generations {
		g := &whole.only
		if i > 0 {
			g = new(Generation)
		}
		g.fill(&row.Generations[i])
		r.Generations = append(r.Generations, g)
	}
	return r
}

// decodeRow makes an entry of a row and its opened body. There can be very many rows: only what an entry keeps is
// decoded.
func decodeRow(row statestore.Row, plain []byte, body *tree.Reader, declared map[string]any) (*Entry, error) {
	r := entryOf(&row)
	var options map[string]any
	err := body.Members(plain, func(name string, m tree.Member) {
		switch name {
		case "options":
			options = m.Map()
		case "props":
			r.Props = m.MapAs(declared)
		default:
			r.load(name, m)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("row body: %w", err)
	}
	if options != nil {
		given := new(graph.Options)
		if err := props.Load(options, given); err != nil {
			return nil, fmt.Errorf("row body: options: %w", err)
		}
		r.SetOptions(given)
	}
	r.complete()
	return r, nil
}

// load reads one member of a row's body but its options and props.
func (r *Entry) load(name string, m tree.Member) {
	switch name {
	case "settings":
		r.Settings = m.Map()
	case "leave":
		r.MayDeleteData = m.True()
	case "loose":
		r.NeedsUnknown = m.True()
	case "moving":
		r.MovingFrom = m.Text()
	case "movingTo":
		r.MovingTo = m.Text()
	case "built":
		r.Assets = m.Text()
	case "files":
		r.Files = map[string]reconcile.Asset{}
		m.Members(func(name string, m tree.Member) { r.Files[name] = assetOf(m.Map()) })
	case "secret":
		r.SecretPaths = textsOf[tree.Path](m.Value())
	case "was":
		r.Former = textsOf[string](m.Value())
	case "cut":
		r.Cut = map[string][]tree.Path{}
		for addr, list := range m.Map() {
			r.Cut[addr] = textsOf[tree.Path](list)
		}
	case "gens":
		m.Members(func(name string, m tree.Member) {
			number, err := strconv.ParseUint(name, 10, 64)
			if g := r.ByNumber(number); err == nil && g != nil {
				m.Members(g.load)
			}
		})
	}
}

// GenerationOf returns what the row itself says of a generation: all but what is sealed.
func GenerationOf(g statestore.Generation) *Generation {
	out := new(Generation)
	out.fill(&g)
	return out
}

// fill is [GenerationOf] in the place of a generation.
func (g *Generation) fill(from *statestore.Generation) {
	*g = Generation{
		Number: from.Number, State: from.State, Slot: from.Slot, Kind: from.Kind, Location: reconcile.Place(from.Place),
		Identity: from.Identity, Written: from.Written,
	}
	if from.Intent {
		g.Intent = &Intent{Started: from.Written}
	}
}

// load reads one member of a generation in a row's body.
func (g *Generation) load(name string, m tree.Member) {
	switch name {
	case "attrs":
		g.Attributes = m.Map()
	case "settings":
		g.Settings = m.Map()
	case "props":
		g.Props = m.Map()
	case "retain":
		g.Retain = m.True()
	case "virtual":
		g.StateOnly = m.True()
	case "dev":
		g.Dev = m.True()
	case "derived":
		g.DerivedFrom = m.Text()
	case "name":
		g.Name = m.Text()
	case "named":
		g.NameGiven = m.True()
	case "nonce":
		g.Nonce = m.Text()
	case "intent":
		g.Intent = new(Intent)
		m.Members(g.Intent.load)
	case "written":
		g.WriteDigests = map[tree.Path]string{}
		for p, s := range m.Map() {
			g.WriteDigests[tree.Path(p)], _ = s.(string)
		}
	case "replaced":
		g.Replaced = map[tree.Path][]string{}
		for p, digests := range m.Map() {
			g.Replaced[tree.Path(p)] = textsOf[string](digests)
		}
	}
}

// texts makes a tree of a list of strings.
func texts[S ~string](list []S) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func textsOf[S ~string](v any) []S {
	list, _ := v.([]any)
	var out []S
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, S(s))
		}
	}
	return out
}
