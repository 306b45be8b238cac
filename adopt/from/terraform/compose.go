package terraform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Resources are all that are read before they are declared, with literal values.
func (d *draft) Resources() []from.Resource {
	var all []from.Resource
	for _, o := range d.objects {
		if o.settings != "" {
			continue // its provider lacks its configuration
		}
		all = append(all, from.Resource{Address: o.address, Kind: o.kind, Props: o.props, Adopt: o.id, Provider: d.places().of(o)})
	}
	return all
}

// Providers are the settings that resources name.
func (d *draft) Providers() map[string]map[string]any {
	all := maps.Clone(d.places().providers)
	maps.DeleteFunc(all, func(_ string, settings map[string]any) bool { return settings["terraform"] != nil })
	return all
}

// composing is the way from objects to a stack.
type composing struct {
	*draft
	secrets *secrets
	config  map[string]any
	names   map[string]bool // of configs
	byValue map[string][]known
	depends map[*object]map[*object]bool
	refs    map[*object]map[*object]bool
	near    map[*object][]known // values of what an object depends on, the longest first
	cut     map[[2]*object]bool // references that would make a cycle
	read    map[*object]bool    // reads that something refers to
	generic map[string]string   // configs by literal value
	// variables are the configs of variables of the configuration, with what these have besides their defaults.
	variables  map[string]variableConfig
	configured map[string]from.Configured
	inList     int // how many lists the value at hand is in
}

// known is a value that is an attribute of an object.
type known struct {
	object *object
	attr   string
	value  string
}

// Stack declares what the state holds.
func (d *draft) Stack(observed map[string]from.Observed) from.Stack {
	places := d.places()
	out := from.Stack{Name: d.name, Providers: places.providers, Entries: slices.Clone(d.entries)}
	for _, o := range d.objects {
		if seen, ok := observed[o.address]; ok {
			out.Drifts = append(out.Drifts, o.observe(seen, d.state, d.factsOf(o.kind).kind.Spec().SecretProps)...)
		}
	}
	d.settle()
	c := &composing{
		draft: d, secrets: d.secretsOf(), config: map[string]any{}, names: map[string]bool{}, byValue: map[string][]known{},
		depends: map[*object]map[*object]bool{}, refs: map[*object]map[*object]bool{}, near: map[*object][]known{},
		cut: map[[2]*object]bool{}, read: map[*object]bool{}, generic: map[string]string{},
		variables: map[string]variableConfig{}, configured: map[string]from.Configured{},
	}
	c.dropSecretIDs(&out)
	c.index()
	c.repeated()
	c.breakCycles()
	resources := c.resources(places)
	out.Resources = grouped(resources, d.objects)
	for _, o := range d.reads {
		if c.read[o] {
			out.Reads = append(out.Reads, from.Resource{Address: o.address, Kind: o.kind, Adopt: o.id, Provider: places.of(o)})
		}
	}
	slices.SortFunc(out.Reads, func(a, b from.Resource) int { return cmp.Compare(a.Address, b.Address) })
	out.Outputs = c.outputs(&out)
	out.Config, out.Configured, out.Program = c.config, c.configured, d.written.report()
	out.Secrets = c.usedSecrets(out)
	c.report(&out)
	out.LetGo = c.letGo()
	return out
}

// mostInCommand bounds the addresses in one command.
const mostInCommand = 20

// letGo are the commands that make the tool forget what is adopted. Each resource is named once, with all of its
// instances.
func (c *composing) letGo() []string {
	tool := "terraform"
	var all []string
	seen := map[string]bool{}
	for _, o := range c.objects {
		for _, i := range append([]*instance{o.inst}, o.parts...) {
			if strings.Contains(i.provider, "registry.opentofu.org") {
				tool = "tofu"
			}
			if address := i.resource(); !seen[address] {
				seen[address] = true
				all = append(all, "'"+strings.ReplaceAll(address, "'", `'\''`)+"'")
			}
		}
	}
	if c.state.letGo != nil {
		return c.state.letGo(all)
	}
	var commands []string
	for some := range slices.Chunk(all, mostInCommand) {
		commands = append(commands, tool+" state rm "+strings.Join(some, " "))
	}
	return commands
}

// observe takes the props that the object has in the cloud, and gives what differs. Where the kind finds no
// difference, what the state says stays: services write documents and names in forms of their own. A secret that no read shows is
// not declared: the first deploy would write it again.
func (o *object) observe(seen from.Observed, s *state, secret []tree.Path) []from.Drift {
	var drifts []from.Drift
	var unread []string
	differs := func(p tree.Path) bool { return slices.ContainsFunc(seen.Differs, p.Overlaps) }
	missing := func(p tree.Path) bool { return slices.ContainsFunc(seen.Missing, p.Overlaps) }
	have, _ := tree.Clone(seen.Props).(map[string]any)
	have = o.unseen(have)
	for name, v := range o.props {
		p := tree.Path("").Key(name)
		live, there := have[name]
		switch {
		case isAwaited(v) && there && s.learn(v, live):
		case isAwaited(v) && !there && missing(p):
			have[name] = v
		case isAwaited(v) && !there:
		case hasPath(v), !there && missing(p), !differs(p), there && tree.Equal(v, live):
			have[name] = v
		case there:
			drifts = append(drifts, from.Drift{Address: o.address, Path: string(p), Source: v, Cloud: live})
		case slices.ContainsFunc(secret, p.Within):
			unread = append(unread, name)
		default:
			drifts = append(drifts, from.Drift{Address: o.address, Path: string(p), Source: v})
		}
	}
	for name, live := range have {
		if _, declared := o.props[name]; !declared && s.awaited == nil && o.inst.declared == nil && differs(tree.Path("").Key(name)) {
			drifts = append(drifts, from.Drift{Address: o.address, Path: string(tree.Path("").Key(name)), Cloud: live})
		}
	}
	o.props = have
	if strings.HasPrefix(o.look, "the state does not say") || strings.HasPrefix(o.look, partsUnread) {
		o.look = ""
	}
	if len(unread) > 0 && o.look == "" {
		slices.Sort(unread)
		o.look = strings.Join(unread, ", ") + " can be written and not read, so that it stays as it is and is not declared: as a secret in the stack, it would be set again"
	}
	slices.SortFunc(drifts, func(a, b from.Drift) int { return cmp.Compare(a.Path, b.Path) })
	return drifts
}

// hasPath reports a value with paths of files in it, which no cloud tells.
func hasPath(v any) bool {
	switch v := v.(type) {
	case from.Path:
		return true
	case map[string]any:
		for _, x := range v {
			if hasPath(x) {
				return true
			}
		}
	}
	return false
}

// dropSecretIDs leaves out objects whose identity holds a secret: it would stand in the stack.
func (c *composing) dropSecretIDs(out *from.Stack) {
	c.objects = slices.DeleteFunc(slices.Clone(c.objects), func(o *object) bool {
		if c.secrets.hidden(o.id) == o.id {
			return false
		}
		out.Entries = append(out.Entries, from.Entry{
			Source: o.inst.address(), Type: o.inst.typ, Outcome: from.Unmapped, Text: "its identity holds a secret, so that it cannot be written down",
		})
		for _, part := range o.parts {
			out.Entries = append(out.Entries, from.Entry{
				Source: part.address(), Type: part.typ, Outcome: from.Unmapped, Text: "what it is a part of is not adopted",
			})
		}
		return true
	})
}

// idLike are values that mean an object wherever they stand.
var idLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arn:[a-z-]+:.+|[a-z]{1,12}-[0-9a-f]{8,17}|[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|https://.{8,}|Z[0-9A-Z]{10,}|E[0-9A-Z]{11,}|[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+){3,})$`)
})

// index finds what each object depends on, and what each value means.
func (c *composing) index() {
	for _, o := range append(slices.Clone(c.objects), c.reads...) {
		for _, attr := range slices.Sorted(maps.Keys(o.known)) {
			value := o.known[attr]
			if c.secrets.hidden(value) == value {
				c.byValue[value] = append(c.byValue[value], known{o, attr, value})
			}
		}
	}
	alive := map[*object]bool{}
	for _, o := range c.objects {
		alive[o] = true
	}
	for _, o := range c.reads {
		alive[o] = true
	}
	for _, o := range c.objects {
		on := map[*object]bool{}
		for _, i := range append([]*instance{o.inst}, o.parts...) {
			for _, address := range i.depends {
				for _, other := range c.byResource[c.qualified(i, address)] {
					if other != o && alive[other] {
						on[other] = true
					}
				}
			}
		}
		c.depends[o] = on
		if len(on) > mostNear {
			continue
		}
		for other := range on {
			for attr, value := range other.known {
				if len(value) >= 12 && idLike().MatchString(value) {
					c.near[o] = append(c.near[o], known{other, attr, value})
				}
			}
		}
		sortKnown(c.near[o])
	}
}

// mostNear bounds how many objects one object's text is searched for.
const mostNear = 200

// qualified is the address that an entry of an instance's dependencies means. Older states leave the module out.
func (c *composing) qualified(i *instance, address string) string {
	if i.urn != "" {
		return address
	}
	address = unkeyed(address)
	if c.byResource[address] != nil || i.module == "" {
		return address
	}
	if within := i.module + "." + address; c.byResource[within] != nil {
		return within
	}
	return address
}

// unkeyed is an address without the key of its last part, as `terraform show -json` may write it.
func unkeyed(address string) string {
	if strings.HasSuffix(address, "]") {
		if at := strings.LastIndexByte(address, '['); at > 0 {
			return address[:at]
		}
	}
	return address
}

// preference orders attributes of one value by how well they fit a prop.
func preference(a, b, prop string) int {
	rank := func(attr string) int {
		n, p := norm(attr), norm(prop)
		switch {
		case p != "" && (strings.HasSuffix(p, n) || strings.HasSuffix(strings.TrimSuffix(p, "s"), n)):
			return 0
		case n == "arn" || strings.HasSuffix(n, "arn"):
			return 1
		case n == "id" || strings.HasSuffix(n, "id"):
			return 2
		case n == "name" || strings.HasSuffix(n, "name"):
			return 3
		}
		return 4
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// means is the attribute that a whole value is for an object, and whether there is one.
func (c *composing) means(o *object, prop, value string) (known, bool) {
	var fits []known
	certain := idLike().MatchString(value) || o.inst.typ == "" && len(value) > 3 // an output
	for _, k := range c.byValue[value] {
		if k.object != o && (certain || c.depends[o][k.object] && mayName(prop, k)) && !c.cut[[2]*object{o, k.object}] && k.object.address != "" {
			fits = append(fits, k)
		}
	}
	if near := slices.DeleteFunc(slices.Clone(fits), func(k known) bool { return !c.depends[o][k.object] }); len(near) > 0 {
		fits = near
	}
	if len(fits) == 0 {
		return known{}, false
	}
	slices.SortStableFunc(fits, func(a, b known) int {
		return cmp.Or(preference(a.attr, b.attr, prop), cmp.Compare(a.object.address, b.object.address))
	})
	if fits[0].object.inst.data && slices.ContainsFunc(fits, func(k known) bool { return !k.object.inst.data }) {
		fits = slices.DeleteFunc(fits, func(k known) bool { return k.object.inst.data })
	}
	first := fits[0]
	if slices.ContainsFunc(fits, func(k known) bool {
		return k.object != first.object && k.object.suffix == "" && first.object.suffix == ""
	}) && !certain {
		return known{}, false // several have it
	}
	return first, true
}

// mayName reports whether a prop can mean an attribute of an object by a value that other objects have too: DBName is
// not the name of a DBSubnetGroup.
func mayName(prop string, k known) bool {
	p := norm(prop)
	if !strings.HasSuffix(p, "name") {
		return true
	}
	last := norm(k.object.kind[strings.LastIndexAny(k.object.kind, ".:")+1:])
	isDNS := strings.HasSuffix(p, "dnsname") && strings.HasSuffix(norm(k.attr), "domainname")
	return strings.Contains(p, last) || isDNS || strings.HasSuffix(p, norm(k.attr)) && norm(k.attr) != "name"
}

// reference is text as references to other objects, or as it is.
func (c *composing) reference(o *object, prop, text string, parts []any) []any {
	if k, ok := c.means(o, prop, text); ok && len(parts) == 1 {
		c.refer(o, k.object)
		return []any{from.Ref{Address: k.object.address, Attribute: k.attr}}
	}
	if slices.ContainsFunc(c.byValue[text], func(k known) bool { return c.cut[[2]*object{o, k.object}] }) {
		return parts // it means an object that needs this one: nothing in it means another one
	}
	for _, k := range c.near[o] {
		if c.cut[[2]*object{o, k.object}] || len(k.value) > len(text) {
			continue
		}
		var found bool
		if parts, found = replaced(parts, k.value, from.Ref{Address: k.object.address, Attribute: k.attr}, true, false); found {
			c.refer(o, k.object)
		}
	}
	return parts
}

func (c *composing) refer(o, to *object) {
	if c.refs[o] == nil {
		c.refs[o] = map[*object]bool{}
	}
	c.refs[o][to] = true
	if to.inst.data {
		c.read[to] = true
	}
}

// value is a value of a prop as it is declared.
func (c *composing) value(o *object, fields []props.Field, path []string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for k, x := range v {
			all[k] = c.value(o, fields, append(slices.Clone(path), k), x)
		}
		return all
	case []any:
		all := make([]any, len(v))
		c.inList++
		for i, x := range v {
			all[i] = c.value(o, fields, path, x)
		}
		c.inList--
		return all
	case string:
		if config, ok := c.bare(o, path, v); ok {
			return config
		}
		own := len(path) == 2 && isOwnName(o.kind, path[1])
		return c.text(o, takesRef(fields, path) && !own, path, v)
	}
	if config, ok := c.bare(o, path, v); ok {
		return config
	}
	return v
}

// isOwnName reports whether a prop is the name of the object itself, which refers to nothing, whatever else has that
// name.
func isOwnName(kind, prop string) bool {
	last := norm(kind[strings.LastIndexAny(kind, ".:")+1:])
	return norm(prop) == "name" || strings.HasSuffix(norm(prop), last+"name") || norm(prop) == last+"identifier"
}

// takesRef reports whether references may stand at a prop.
func takesRef(fields []props.Field, path []string) bool {
	takes := false
	for _, name := range path {
		n := slices.IndexFunc(fields, func(f props.Field) bool { return lastName(f) == name })
		if n < 0 {
			continue // a key of a map
		}
		takes, fields = fields[n].TakesRef, fields[n].Fields
	}
	return takes
}

func (c *composing) text(o *object, takes bool, path []string, text string) any {
	if sealed, ok := c.secrets.sealed(text); ok {
		return sealed
	}
	prop := path[len(path)-1]
	parts, said := c.said(o, takes, path, text)
	switch {
	case said:
	case takes:
		parts = c.reference(o, prop, text, []any{text})
	default:
		parts = []any{text}
	}
	for _, g := range c.values {
		if !g.secret && len(g.value) >= 4 && c.dependsOnValue(o, g) {
			if _, found := replaced(parts, g.value, nil, false, false); found {
				parts, _ = replaced(parts, g.value, from.Config{Name: c.configOf(g)}, false, false)
			}
		}
	}
	if name := c.generic[text]; name != "" && len(parts) == 1 && parts[0] == text {
		return from.Config{Name: name}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return from.Text{Parts: parts}
}

// dependsOnValue reports whether an object depends on what made a value.
func (c *composing) dependsOnValue(o *object, g generated) bool {
	of := g.inst.resource()
	for _, i := range append([]*instance{o.inst}, o.parts...) {
		if slices.ContainsFunc(i.depends, func(d string) bool { return d == of || unkeyed(d) == of || i.module+"."+unkeyed(d) == of }) {
			return true
		}
	}
	return false
}

// configOf is the config of a value that something made.
func (c *composing) configOf(g generated) string {
	key := "\x00" + g.inst.address() + "\x00" + g.path
	if c.generic[key] == "" {
		c.generic[key] = unique(c.names, g.inst.name)
		c.config[c.generic[key]] = g.value
	}
	return c.generic[key]
}

// repeated finds identities of what is not in the state that several resources name: these become config.
func (c *composing) repeated() {
	type use struct {
		name string
		in   map[*object]bool
	}
	uses := map[string]*use{}
	for _, o := range c.objects {
		tree.Walk(literal(o.props), func(p tree.Path, v any) bool {
			text, ok := v.(string)
			steps := p.Steps()
			if !ok || len(steps) == 0 || !idLike().MatchString(text) || strings.HasPrefix(text, "arn:aws:iam::aws:") || c.byValue[text] != nil || c.written.hasValue(text) {
				return true
			}
			if _, secret := c.secrets.sealed(text); secret {
				return true
			}
			name := ""
			for _, s := range steps {
				if s.Key != "" {
					name = s.Key
				}
			}
			if uses[text] == nil {
				uses[text] = &use{name, map[*object]bool{}}
			}
			uses[text].in[o] = true
			return true
		})
	}
	for _, text := range slices.Sorted(maps.Keys(uses)) {
		if len(uses[text].in) > 1 {
			c.generic[text] = unique(c.names, uses[text].name)
			c.config[c.generic[text]] = text
		}
	}
}

// breakCycles leaves values literal whose references would make resources need each other. What the source merely
// orders goes first.
func (c *composing) breakCycles() {
	c.allRefs()
	group := components(c.objects, c.edges(true))
	for o, on := range c.depends {
		for to := range on {
			if group[o] != 0 && group[o] == group[to] {
				delete(on, to)
			}
		}
	}
	group = components(c.objects, c.edges(false))
	state := map[*object]int{} // 1: on the way, 2: done
	edges := c.edges(false)
	for _, root := range c.objects {
		if group[root] == 0 || state[root] != 0 {
			continue
		}
		way := []*object{root}
		at := map[*object]int{}
		for len(way) > 0 {
			o := way[len(way)-1]
			state[o] = 1
			if at[o] == len(edges[o]) {
				state[o] = 2
				way = way[:len(way)-1]
				continue
			}
			to := edges[o][at[o]]
			at[o]++
			switch {
			case group[to] != group[o]:
			case state[to] == 1:
				c.cut[[2]*object{o, to}] = true
			case state[to] == 0:
				way = append(way, to)
			}
		}
	}
}

// allRefs finds what refers to what.
func (c *composing) allRefs() {
	c.refs = map[*object]map[*object]bool{}
	for _, o := range c.objects {
		c.value(o, c.factsOf(o.kind).fields, []string{""}, o.props)
	}
}

// edges are what each object refers to, and with the order of the source what it depends on, in one order.
func (c *composing) edges(ordered bool) map[*object][]*object {
	edges := map[*object][]*object{}
	for _, o := range c.objects {
		on := map[*object]bool{}
		maps.Copy(on, c.refs[o])
		if ordered {
			maps.Copy(on, c.depends[o])
		}
		list := slices.Collect(maps.Keys(on))
		slices.SortFunc(list, func(a, b *object) int { return cmp.Compare(a.address, b.address) })
		edges[o] = list
	}
	return edges
}

// components numbers the objects that need each other, from 1; 0 are those that do not. It is Tarjan's algorithm
// without recursion.
func components(objects []*object, edges map[*object][]*object) map[*object]int {
	index, low, on, group := map[*object]int{}, map[*object]int{}, map[*object]bool{}, map[*object]int{}
	next, groups := 0, 0
	var stack []*object
	type frame struct {
		o *object
		n int
	}
	for _, root := range objects {
		if index[root] != 0 {
			continue
		}
		frames := []frame{{root, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.n == 0 {
				next++
				index[f.o], low[f.o] = next, next
				stack, on[f.o] = append(stack, f.o), true
			}
			if f.n < len(edges[f.o]) {
				to := edges[f.o][f.n]
				f.n++
				switch {
				case index[to] == 0:
					frames = append(frames, frame{to, 0})
				case on[to]:
					low[f.o] = min(low[f.o], index[to])
				}
				continue
			}
			done := f.o
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				up := frames[len(frames)-1].o
				low[up] = min(low[up], low[done])
			}
			if low[done] != index[done] {
				continue
			}
			at := slices.Index(stack, done)
			if len(stack)-at > 1 {
				groups++
				for _, o := range stack[at:] {
					group[o] = groups
				}
			}
			for _, o := range stack[at:] {
				on[o] = false
			}
			stack = stack[:at]
		}
	}
	return group
}

// resources are the objects as they are declared.
func (c *composing) resources(places *places) []from.Resource {
	c.refs = map[*object]map[*object]bool{}
	c.read = map[*object]bool{}
	var all []from.Resource
	made := make([]map[string]any, len(c.objects))
	for n, o := range c.objects {
		made[n], _ = c.value(o, c.factsOf(o.kind).fields, []string{""}, o.props).(map[string]any)
	}
	for n, o := range c.objects {
		declared := made[n]
		o.withoutAwaited(declared)
		r := from.Resource{Address: o.address, Kind: o.kind, Props: declared, Adopt: o.id, Provider: places.of(o)}
		for _, p := range o.ignored {
			r.IgnoreChanges = append(r.IgnoreChanges, string(p))
		}
		r.Comment, r.Comments = c.comments(o)
		for other := range c.depends[o] {
			if !other.inst.data && !c.redundant(o, other) {
				r.DependsOn = append(r.DependsOn, other.address)
			}
		}
		slices.Sort(r.DependsOn)
		all = append(all, r)
	}
	return all
}

// redundant reports whether an object waits for another one anyway: by a reference, or by what else it depends on.
func (c *composing) redundant(o, other *object) bool {
	if c.refs[o][other] || other.inst == o.inst || other.suffix != "" && other.suffix != "attachment" {
		return true
	}
	for _, extra := range c.extras[o.inst] {
		for via := range c.refs[extra] {
			if via.inst.resource() == other.inst.resource() {
				return true
			}
		}
	}
	for via := range c.refs[o] {
		if via != other && (c.depends[via][other] || c.refs[via][other] || via.inst.resource() == other.inst.resource()) {
			return true
		}
	}
	if len(c.depends[o]) > mostNear {
		return false
	}
	for via := range c.depends[o] {
		if via != other && (c.depends[via][other] || c.refs[via][other]) && !via.inst.data {
			return true
		}
	}
	return false
}

// outputs are those whose values refer to something, or are plain.
func (c *composing) outputs(out *from.Stack) map[string]any {
	all := map[string]any{}
	taken := map[string]bool{}
	nobody := &object{inst: &instance{}, address: ""}
	for _, name := range slices.Sorted(maps.Keys(c.state.outputs)) {
		o := c.state.outputs[name]
		field := "output." + name
		text, isText := o.value.(string)
		sealed, secret := c.secrets.sealed(text)
		switch {
		case isText && secret:
			all[outputName(taken, name)] = sealed
			continue
		case o.sensitive:
			out.Notes = append(out.Notes, from.Note{Field: field, Outcome: from.Unsupported, Text: "it is sensitive, and no resource has its value"})
			continue
		case isText && whySecret(name, text) != "":
			out.Notes = append(out.Notes, from.Note{Field: field, Outcome: from.Unsupported, Text: "it looks like a secret, and no resource has its value"})
			continue
		case !c.plain(o.value):
			out.Notes = append(out.Notes, from.Note{Field: field, Outcome: from.Unsupported, Text: "it holds something that looks like a secret"})
			continue
		}
		c.depends[nobody] = map[*object]bool{}
		if c.near[nobody] == nil && len(c.objects) <= mostSearched {
			c.near[nobody] = c.allNear()
		}
		all[outputName(taken, name)] = c.value(nobody, nil, []string{name}, c.withRefs(nobody, name, plainOutput(o.value)))
	}
	return all
}

// mostSearched bounds how many objects the texts of outputs are searched for.
const mostSearched = 2000

// allNear are the values of all objects that mean them wherever they stand, the longest first.
func (c *composing) allNear() []known {
	var all []known
	for _, o := range c.objects {
		for attr, value := range o.known {
			if len(value) >= 12 && idLike().MatchString(value) {
				all = append(all, known{o, attr, value})
			}
		}
	}
	sortKnown(all)
	return all
}

func sortKnown(all []known) {
	slices.SortFunc(all, func(a, b known) int {
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), cmp.Compare(a.value, b.value), preference(a.attr, b.attr, ""),
			cmp.Compare(a.object.address, b.object.address))
	})
}

// plain reports whether nothing in a value is secret.
func (c *composing) plain(v any) bool {
	plain := true
	each(v, "", func(at, text string) {
		if _, secret := c.secrets.sealed(text); secret || whySecret(at, text) != "" {
			plain = false
		}
	})
	return plain
}

// withRefs is a value of an output with references to what its values mean.
func (c *composing) withRefs(nobody *object, name string, v any) any {
	written := c.written.output(name)
	return tree.Map(v, func(leaf any) any {
		text, ok := leaf.(string)
		if !ok {
			return leaf
		}
		if parts, ok := c.partsOf(nobody, true, "", written.byText[text]); ok {
			if len(parts) == 1 {
				return parts[0]
			}
			return from.Text{Parts: parts}
		}
		if k, ok := c.means(nobody, "", text); ok {
			c.refer(nobody, k.object)
			return from.Ref{Address: k.object.address, Attribute: k.attr}
		}
		if parts := c.reference(nobody, "", text, []any{text}); len(parts) > 1 {
			return from.Text{Parts: parts}
		}
		return leaf
	})
}

// plainOutput is a value of an output with numbers as numbers, and texts as they are.
func plainOutput(v any) any {
	return tree.Map(v, func(leaf any) any {
		if n, ok := leaf.(json.Number); ok {
			return plainNumber(n)
		}
		return leaf
	})
}

// outputName is a name as an output may have it.
func outputName(taken map[string]bool, name string) string {
	text := segment(name, "output")
	for n := 2; taken[text]; n++ {
		text = fmt.Sprintf("%s-%d", segment(name, "output"), n)
	}
	taken[text] = true
	return text
}

// usedSecrets are the secrets that something refers to.
func (c *composing) usedSecrets(out from.Stack) []from.Secret {
	used := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case from.SecretRef:
			used[v.Name] = true
		case from.Text:
			visit(v.Parts)
		case map[string]any:
			for _, x := range v {
				visit(x)
			}
		case []any:
			for _, x := range v {
				visit(x)
			}
		}
	}
	for _, r := range out.Resources {
		visit(r.Props)
		for _, values := range r.For {
			visit(values)
		}
	}
	visit(out.Outputs)
	var all []from.Secret
	for _, s := range c.secrets.byValue {
		if used[s.Name] {
			all = append(all, *s)
		}
	}
	slices.SortFunc(all, func(a, b from.Secret) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// report says what became of every object, with nothing secret in it.
func (c *composing) report(out *from.Stack) {
	reported := map[*instance]bool{}
	for _, o := range c.objects {
		outcome, text := from.Mapped, cmp.Or(o.look, o.whyWithheld(), c.elsewhere(o))
		switch {
		case o.suffix != "":
			continue
		case o.inst.tainted:
			outcome, text = from.Ambiguous, strings.TrimPrefix(text+"; tainted there: that tool would replace it, and athanor keeps it", "; ")
		case text != "":
			outcome = from.Ambiguous
		}
		out.Entries = append(out.Entries, from.Entry{
			Source: o.inst.address(), Type: o.inst.typ, ID: cmp.Or(o.id, idOf(o.inst)), Outcome: outcome, Address: o.address, Text: text,
		})
		for _, part := range o.parts {
			if reported[part] {
				continue // it is a part of several
			}
			reported[part] = true
			out.Entries = append(out.Entries, from.Entry{
				Source: part.address(), Type: part.typ, ID: idOf(part), Outcome: from.Folded, Address: o.address, Text: "a part of " + o.address,
			})
		}
		out.Notes = append(out.Notes, o.notes...)
	}
	for i, o := range c.objects { // what one instance became, where none of its resources is its own
		if o.suffix != "" && !slices.ContainsFunc(c.objects, func(p *object) bool { return p.inst == o.inst && p.suffix == "" }) &&
			(i == 0 || c.objects[i-1].inst != o.inst) {
			out.Entries = append(out.Entries, from.Entry{Source: o.inst.address(), Type: o.inst.typ, ID: o.id, Outcome: from.Mapped, Address: o.address})
		}
	}
	for i := range out.Entries {
		e := &out.Entries[i]
		e.ID, e.Text = c.secrets.hidden(e.ID), c.secrets.hidden(e.Text)
	}
	for i := range out.Notes {
		out.Notes[i].Text = c.secrets.hidden(out.Notes[i].Text)
	}
	for i := range out.Drifts {
		out.Drifts[i].Source, out.Drifts[i].Cloud = c.masked(out.Drifts[i].Source), c.masked(out.Drifts[i].Cloud)
	}
	slices.SortStableFunc(out.Entries, func(a, b from.Entry) int { return cmp.Compare(a.Source, b.Source) })
}

// elsewhere says that an object is in another account than most, "" where it is not.
func (c *composing) elsewhere(o *object) string {
	if _, account := c.places().away(o); account != "" {
		return fmt.Sprintf("it is in the account %s: give providers.%s a profile or a role of that account", account, c.places().of(o))
	}
	return ""
}

// masked is a value without what is secret in it.
func (c *composing) masked(v any) any {
	return tree.Map(v, func(leaf any) any {
		if text, ok := leaf.(string); ok {
			return c.secrets.hidden(text)
		}
		return leaf
	})
}
