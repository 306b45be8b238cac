package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// resourceRow is one resource of a stage as the list and the graph show it.
type resourceRow struct {
	Stage                   statestore.Stage
	Address, Kind, Identity string
	Place                   statestore.Place
	Status                  status
	HoldsData               bool
	Changed                 *moment
	changed                 time.Time
	needs                   []string
}

// URL is the path of the resource.
func (r *resourceRow) URL() string { return resourceURL(r.Stage, r.Address) }

// Location is where the object is.
func (r *resourceRow) Location() string { return placeText(r.Place) }

// rowsOf lists what state has, by address.
func (p *Page) rowsOf(snap *statestore.Snapshot) []*resourceRow {
	rows := make([]*resourceRow, 0, len(snap.Rows)+len(snap.Damaged))
	for address, row := range snap.Rows {
		rows = append(rows, p.rowOf(snap.Stage, address, row))
	}
	for address, damage := range snap.Damaged {
		r := &resourceRow{Stage: snap.Stage, Address: address, Status: status{"bad", "bad", "cannot be read"}}
		if len(damage.Identities) > 0 {
			r.Kind, r.Identity = damage.Identities[0].Kind, damage.Identities[0].Identity
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *resourceRow) int { return strings.Compare(a.Address, b.Address) })
	return rows
}

func (p *Page) rowOf(stage statestore.Stage, address string, row statestore.Row) *resourceRow {
	r := &resourceRow{Stage: stage, Address: address, needs: row.Needs, changed: row.Written}
	shown := present(row)
	r.Kind, r.Identity, r.Place = shown.Kind, shown.Identity, shown.Place
	if !shown.Written.IsZero() {
		r.changed = shown.Written
	}
	if p.settings.HoldsData != nil {
		r.HoldsData = p.settings.HoldsData(shown.Kind)
	}
	r.Status = generationStatus(row)
	return r
}

// present is the generation that stands for a row: the live one, else the newest.
func present(row statestore.Row) statestore.Generation {
	var shown statestore.Generation
	for _, g := range row.Generations {
		if g.State == statestore.Live {
			return g
		}
		if g.Number >= shown.Number {
			shown = g
		}
	}
	return shown
}

// generationStatus says how a row stands by the objects that it has.
func generationStatus(row statestore.Row) status {
	var live, candidate, condemned, intent bool
	for _, g := range row.Generations {
		live, candidate = live || g.State == statestore.Live, candidate || g.State == statestore.Candidate
		condemned, intent = condemned || g.State == statestore.Condemned, intent || g.Intent
	}
	switch {
	case intent:
		return status{"warn", "warn", "creation unfinished"}
	case live && candidate:
		return status{"warn", "warn", "replacement unfinished"}
	case live && condemned:
		return status{"warn", "clock", "old object to delete"}
	case live:
		return status{"ok", "ok", "deployed"}
	case candidate:
		return status{"warn", "warn", "creation unfinished"}
	default:
		return status{"warn", "clock", "to delete"}
	}
}

// resourcesBody is the list of resources of a stage.
type resourcesBody struct {
	Rows                []*resourceRow
	Query, Is, In, Sort string
	Total, Matching     int
	From, To            int
	PreviousURL         string
	NextURL             string
	Providers           []chip
	Filters             []chip
	Columns             []column
	ClearURL            string
	Damaged             int
	Notes               []Note
}

// chip is a filter with the count of what passes it.
type chip struct {
	Name, URL string
	Count     int
	Current   bool
}

// column is the head of a column, which sorts.
type column struct {
	Name, URL, Sorted, Class, Arrow string
}

// pageRows is how many resources one page has.
const pageRows = 100

// filters are the filters by what a resource is.
var filters = []struct {
	name, id string
	passes   func(r *resourceRow) bool
}{
	{"All", "", func(*resourceRow) bool { return true }},
	{"Needs attention", "attention", func(r *resourceRow) bool { return r.Status.Class != "ok" }},
	{"Holds data", "data", func(r *resourceRow) bool { return r.HoldsData }},
}

// orders are the orders of the list.
var orders = map[string]func(a, b *resourceRow) int{
	"address": func(a, b *resourceRow) int { return strings.Compare(a.Address, b.Address) },
	"kind":    func(a, b *resourceRow) int { return cmp.Compare(a.Kind, b.Kind) },
	"status":  func(a, b *resourceRow) int { return -cmp.Compare(a.Status.Class, b.Status.Class) },
	"changed": func(a, b *resourceRow) int { return b.changed.Compare(a.changed) },
}

func (p *Page) resources(v *visit) error {
	head, snap, err := p.head(v)
	if err != nil {
		return err
	}
	all := p.rowsOf(snap)
	b := &resourcesBody{Query: v.FormValue("q"), Is: v.FormValue("is"), In: v.FormValue("in"), Sort: v.FormValue("sort"), Total: len(all), Damaged: len(snap.Damaged)}
	link := func(change ...string) string {
		q := url.Values{}
		for name, value := range map[string]string{"q": b.Query, "is": b.Is, "in": b.In, "sort": b.Sort} {
			if value != "" {
				q.Set(name, value)
			}
		}
		for i := 0; i < len(change); i += 2 {
			if q.Set(change[i], change[i+1]); change[i+1] == "" {
				q.Del(change[i])
			}
		}
		return head.URL() + "?" + q.Encode()
	}
	b.chips(all, link, p.settings.HoldsData != nil)
	rows := b.filtered(all)
	b.Matching = len(rows)
	b.order(rows, link)
	from, _ := strconv.Atoi(v.FormValue("from")) // what is no number is the first page
	from = min(max(from, 0), max(len(rows)-1, 0)) / pageRows * pageRows
	to := min(from+pageRows, len(rows))
	if from > 0 {
		b.PreviousURL = link("from", strconv.Itoa(from-pageRows))
	}
	if to < len(rows) {
		b.NextURL = link("from", strconv.Itoa(to))
	}
	b.From, b.To, b.Rows = from+1, to, rows[from:to]
	for i := range b.Rows {
		b.Rows[i].Changed = momentOf(b.Rows[i].changed, v.now)
	}
	b.ClearURL = head.URL()
	if p.settings.Notes != nil {
		if b.Notes, err = p.settings.Notes(v.Request, v.visitor, v.stage); err != nil {
			return err
		}
	}
	f := p.stageFrame(v, head, "Resources", "resources")
	f.Body, f.Refresh = b, head.Live != ""
	return p.show(v, "resources", f)
}

// chips counts what each filter passes.
func (b *resourcesBody) chips(all []*resourceRow, link func(...string) string, data bool) {
	providers := map[string]int{}
	counts := make([]int, len(filters))
	for i := range all {
		providers[all[i].Place.Provider]++
		for j, f := range filters {
			if f.passes(all[i]) {
				counts[j]++
			}
		}
	}
	for j, f := range filters {
		if f.id != "data" || data {
			b.Filters = append(b.Filters, chip{f.name, link("is", f.id, "from", ""), counts[j], b.Is == f.id})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if name == "" {
			continue
		}
		next := name
		if b.In == name {
			next = ""
		}
		b.Providers = append(b.Providers, chip{name, link("in", next, "from", ""), providers[name], b.In == name})
	}
}

func (b *resourcesBody) filtered(all []*resourceRow) []*resourceRow {
	var rows []*resourceRow
	for _, r := range all {
		passes := b.In == "" || r.Place.Provider == b.In
		for _, f := range filters {
			passes = passes && (f.id != b.Is || f.passes(r))
		}
		if passes && (b.Query == "" || holds(b.Query, r.Address, r.Kind, r.Identity)) {
			rows = append(rows, r)
		}
	}
	return rows
}

// order sorts the rows, and makes the heads of the columns.
func (b *resourcesBody) order(rows []*resourceRow, link func(...string) string) {
	by, down := strings.CutPrefix(b.Sort, "-")
	compare, known := orders[by]
	if !known {
		by, down, compare = "address", false, orders["address"]
	}
	slices.SortStableFunc(rows, func(x, y *resourceRow) int {
		if down {
			return compare(y, x)
		}
		return compare(x, y)
	})
	for _, c := range []struct{ name, id, class string }{
		{"Address", "address", ""}, {"Kind", "kind", "m0"}, {"Identity", "", "m0"}, {"Status", "status", ""}, {"", "", "m0"}, {"Changed", "changed", "num m0"},
	} {
		head := column{Name: c.name, Class: c.class}
		if c.id != "" {
			next := c.id
			if by == c.id {
				head.Sorted, head.Arrow = "ascending", "↑"
				if next = "-" + c.id; down {
					head.Sorted, head.Arrow, next = "descending", "↓", c.id
				}
			}
			head.URL = link("sort", next, "from", "")
		}
		b.Columns = append(b.Columns, head)
	}
}

// resourceBody is one resource.
type resourceBody struct {
	*resourceRow

	Generations []generation
	Sealed      bool
	Problem     string
	Props       []value
	Attributes  []value
	Needs       []neighbour
	NeededBy    []neighbour
	History     []pastChange
	HistoryLess bool
	Console     string
	ConsoleName string
	Declared    string
	DeclaredURL string
	Birth       string
}

// generation is one object of a resource.
type generation struct {
	Number          uint64
	State, Identity string
	Kind, Location  string
	Intent          bool
	Written         *moment
}

// value is one leaf of a tree of props or attributes.
type value struct {
	Path, Text string
	Secret     bool
	Link, From string // the resource whose identity it is
}

// neighbour is a resource that needs another, or is needed by it.
type neighbour struct {
	Address, URL string
	Status       status
}

// pastChange is what a run did to a resource.
type pastChange struct {
	*change

	Run  runLine
	When *moment
}

// searched is how many runs are searched for the history of a resource.
const searched = 50

func (p *Page) resource(v *visit) error {
	head, snap, err := p.head(v)
	if err != nil {
		return err
	}
	address := v.FormValue("address")
	row, inState := snap.Rows[address]
	damage, damaged := snap.Damaged[address]
	b := &resourceBody{}
	if err := p.past(v, head, snap, address, b); err != nil {
		return err
	}
	switch {
	case inState:
		b.resourceRow = p.rowOf(v.stage, address, row)
		if err := p.entry(v, snap, address, b); err != nil {
			return err
		}
		if row.Birth != address {
			b.Birth = row.Birth
		}
		b.neighbours(snap, row)
	case damaged:
		b.resourceRow = &resourceRow{Stage: v.stage, Address: address, Status: status{"bad", "bad", "cannot be read"}}
		b.Problem = p.settings.Plainly(damage.Error())
	case len(b.History) > 0:
		last := b.History[0]
		b.resourceRow = &resourceRow{Stage: v.stage, Address: address, Kind: last.Kind, Status: status{"", "wait", "not in state"}}
	default:
		return notFound(fmt.Sprintf("%s has no resource %s", v.stage, address), "")
	}
	for _, g := range row.Generations {
		b.Generations = append(b.Generations, generation{
			g.Number, string(g.State), g.Identity, g.Kind, placeText(g.Place), g.Intent, momentOf(g.Written, v.now),
		})
	}
	b.Changed = momentOf(b.changed, v.now)
	if p.settings.Declared != nil {
		b.Declared = p.settings.Declared(v.Context(), v.stage)[address]
		b.DeclaredURL = sourceURL(p.settings.SourceURL, b.Declared)
	}
	f := p.stageFrame(v, head, address, "resources")
	f.Crumb, f.Body = address, b
	return p.show(v, "resource", f)
}

// sourceURL is the address of a line that is written FILE:LINE, "" without a pattern.
func sourceURL(pattern, place string) string {
	i := strings.LastIndexByte(place, ':')
	if pattern == "" || i < 0 {
		return ""
	}
	file, line := place[:i], place[i+1:]
	if j := strings.LastIndexByte(file, ':'); j >= 0 { // FILE:LINE:COLUMN
		if _, err := strconv.Atoi(file[j+1:]); err == nil {
			file, line = file[:j], file[j+1:]
		}
	}
	if _, err := strconv.Atoi(line); err != nil {
		return ""
	}
	return strings.NewReplacer("{file}", strings.ReplaceAll(url.PathEscape(file), "%2F", "/"), "{line}", line).Replace(pattern)
}

// entry adds what is sealed in the store, where there is a key.
func (p *Page) entry(v *visit, snap *statestore.Snapshot, address string, b *resourceBody) error {
	if p.settings.Open == nil {
		b.Sealed = true
	} else {
		entry, err := p.settings.Open(v.Context(), snap, address)
		if err != nil {
			return err
		}
		b.Problem = p.settings.Plainly(entry.Problem)
		owners := map[string]string{} // addresses by identity
		for other, row := range snap.Rows {
			for _, g := range row.Generations {
				if len(g.Identity) > 3 && other != address {
					owners[g.Identity] = other
				}
			}
		}
		b.Props = valuesOf(v.stage, entry.Props, entry.Mask, owners)
		b.Attributes = valuesOf(v.stage, entry.Attributes, entry.Mask, owners)
	}
	b.Console, b.ConsoleName = consoleURL(present(snap.Rows[address]), b.Attributes)
	return nil
}

// mostText is how long a value can be that is shown whole.
const mostText = 2000

// valuesOf lists the leaves of a tree in the order of their paths.
func valuesOf(stage statestore.Stage, tree map[string]any, mask string, owners map[string]string) []value {
	var all []value
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(strings.TrimPrefix(path+"."+key, "."), v[key])
			}
		case []any:
			for i, element := range v {
				walk(path+"["+strconv.Itoa(i)+"]", element)
			}
		case nil:
		default:
			text, isText := v.(string)
			if !isText {
				encoded, err := json.Marshal(v)
				if text = string(encoded); err != nil {
					text = "(cannot be shown)"
				}
			}
			leaf := value{Path: path, Text: text, Secret: isText && text == mask}
			if owner := owners[text]; owner != "" && isText {
				leaf.From, leaf.Link = owner, resourceURL(stage, owner)
			}
			if len(leaf.Text) > mostText {
				leaf.Text = strings.ToValidUTF8(leaf.Text[:mostText], "") + "…"
			}
			all = append(all, leaf)
		}
	}
	walk("", tree)
	return all
}

// neighbours adds what the resource needs, and what needs it.
func (b *resourceBody) neighbours(snap *statestore.Snapshot, row statestore.Row) {
	of := func(address string) neighbour {
		return neighbour{address, resourceURL(snap.Stage, address), generationStatus(snap.Rows[address])}
	}
	for _, address := range row.Needs {
		b.Needs = append(b.Needs, of(address))
	}
	for address, other := range snap.Rows {
		if address != row.Address && slices.Contains(other.Needs, row.Address) {
			b.NeededBy = append(b.NeededBy, of(address))
		}
	}
	slices.SortFunc(b.NeededBy, func(x, y neighbour) int { return cmp.Compare(x.Address, y.Address) })
}

// past adds what runs did to a resource, newest first.
func (p *Page) past(v *visit, head *stageHead, snap *statestore.Snapshot, address string, b *resourceBody) error {
	for i, r := range head.Runs {
		if b.HistoryLess = i >= searched; b.HistoryLess {
			break
		}
		changes, err := p.changesIn(v.Context(), v.stage, r, address)
		if err != nil {
			return err
		}
		for _, c := range slices.Backward(changes) {
			b.History = append(b.History, pastChange{c, lineOf(v.stage, r, snap.Holder, v.now), momentOf(c.Began, v.now)})
		}
	}
	return nil
}
