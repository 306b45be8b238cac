package main

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var variable = regexp.MustCompile(`\{[^}]*\}`)

// api is all operations, by their paths without the names of variables, and by method.
type api map[string]map[string]*described

func convert(all []*described) (types map[string]*schema.Type, unserved map[string]string) {
	paths := api{}
	for _, o := range all {
		key := variable.ReplaceAllString(o.Path, "{}")
		if paths[key] == nil {
			paths[key] = map[string]*described{}
		}
		if paths[key][o.Method] == nil {
			paths[key][o.Method] = o
		}
	}
	types, unserved = map[string]*schema.Type{}, map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		ops := paths.at(path)
		if ops == nil || paths.alsoOfAccount(path) {
			continue
		}
		name := nameOf(ops.names())
		if why := ops.irregular(path, name); why != "" {
			unserved[name] = why
			continue
		}
		t := ops.typeOf(paths.alsoOfZone(path))
		if t.ID == "" && t.Shape != schema.Setting {
			unserved[name] = "what is read does not hold the id"
			continue
		}
		if types[name] != nil {
			panic(name + " twice: " + t.Path + " and " + types[name].Path)
		}
		types[name] = t
	}
	return types, unserved
}

// calls are the operations of one type.
type calls struct {
	shape                                     schema.Shape
	create, read, update, patch, remove, list *described
}

// at are the operations of the type at the path of a collection, an item that is put, or a setting; nil when it is none.
func (a api) at(path string) *calls {
	here, item := a[path], a[path+"/{}"]
	switch {
	case here["POST"] != nil && item["GET"] != nil && item["DELETE"] != nil:
		return &calls{schema.Collection, here["POST"], item["GET"], item["PUT"], item["PATCH"], item["DELETE"], here["GET"]}
	case here["POST"] == nil && item["PUT"] != nil && item["GET"] != nil && item["DELETE"] != nil:
		return &calls{schema.Named, item["PUT"], item["GET"], item["PUT"], item["PATCH"], item["DELETE"], here["GET"]}
	case !strings.HasSuffix(path, "}") && here["POST"] != nil && here["GET"] != nil && here["DELETE"] != nil && item["GET"] == nil:
		return &calls{schema.Setting, here["POST"], here["GET"], here["PUT"], here["PATCH"], here["DELETE"], nil}
	case !strings.HasSuffix(path, "}") && here["POST"] == nil && here["GET"] != nil && (here["PUT"] != nil || here["PATCH"] != nil):
		return &calls{schema.Setting, nil, here["GET"], here["PUT"], here["PATCH"], here["DELETE"], nil}
	}
	return nil
}

// alsoOfAccount reports a path of a zone that accounts have too: one type is in either.
func (a api) alsoOfAccount(path string) bool {
	rest, ok := strings.CutPrefix(path, "/zones/{}/")
	return ok && a.at("/accounts/{}/"+rest) != nil && !slices.Contains(apart, rest)
}

// apart are the paths where accounts and zones have different objects.
var apart = []string{"dns_settings"}

func (a api) alsoOfZone(path string) bool {
	rest, ok := strings.CutPrefix(path, "/accounts/{}/")
	return ok && a.at("/zones/{}/"+rest) != nil && !slices.Contains(apart, rest)
}

func (c *calls) names() *described {
	if c.create != nil {
		return c.create
	}
	return c.read
}

// irregular says why a type is not served, "" when it is.
func (c *calls) irregular(path, name string) string {
	if why := reasons[name]; why != "" {
		return why
	}
	for _, o := range []*described{c.create, c.update, c.patch} {
		if o != nil && strings.Contains(string(canonical(o.Request)), "FileJsonEncoding") {
			return "its body is a form with files"
		}
		if o != nil && shapeOf(o.Request).Properties["body"] != nil && !slices.Contains([]string{"o", "a"}, shapeOf(o.Request).Properties["body"].Types) {
			return "its body is a single value, with no name"
		}
	}
	for _, p := range c.names().Params {
		if p.Header != "" && slices.Contains(words(c.names().Request["required"]), p.Name) {
			return "it needs the header " + p.Header
		}
	}
	if !strings.HasPrefix(path, "/accounts/{}") && !strings.HasPrefix(path, "/zones/{}") && path != "/certificates" {
		return "it is in no account and no zone"
	}
	return ""
}

func (c *calls) typeOf(eitherScope bool) *schema.Type {
	t := &schema.Type{Shape: c.shape, Path: templated(c.names().Path, c.shape == schema.Named)}
	if eitherScope {
		t.Path = strings.Replace(t.Path, "/accounts/{account_id}/", "/{scope}/", 1)
	}
	t.Read, t.Update, t.Patch, t.Delete = operation(c.read), operation(c.update), operation(c.patch), operation(c.remove)
	t.Answer = answered(c.read)
	if t.Shape == schema.Setting {
		t.Answer = opening(t.Read, t.Answer, body(cmp.Or(c.create, c.update, c.patch)))
	}
	t.List = listing(c.list, t.Answer)
	create := c.update
	if create == nil {
		create = c.patch
	}
	if c.create != nil {
		create, t.Create = c.create, operation(c.create)
	}
	switch {
	case t.Shape == schema.Named:
		t.Create.List = false
	case t.Shape == schema.Setting && t.Create != nil && !t.Changes(): // a POST sets it each time
		t.Update = t.Create
	}
	given := body(create)
	t.Root = given
	if changed := c.changed(t, given); changed != nil {
		t.Root = c.joined(t, given, changed)
	}
	for _, parent := range t.Parents() {
		delete(t.Root.Properties, parent)
	}
	c.identify(t)
	if t.Shape == schema.Named && t.Root.Properties[t.ID] == nil {
		t.Root.Properties[t.ID] = &schema.Node{Types: "s"}
		t.Root.Required = append(t.Root.Required, t.ID)
	}
	if id := tree.Path("").Key(t.ID); slices.Contains(t.LaterOnly, id) { // an update repeats it
		delete(t.Root.Properties, t.ID)
		t.LaterOnly = slices.DeleteFunc(t.LaterOnly, func(p tree.Path) bool { return p == id })
	}
	t.WriteOnly = hidden(t.Root, t.Answer, "")
	if c.create != nil {
		if shown := answered(c.create); shown.Properties != nil && t.Answer.Properties != nil {
			for _, name := range slices.Sorted(maps.Keys(shown.Properties)) {
				if t.Answer.Properties[name] == nil && t.Root.Properties[name] == nil && name != t.ID && shown.Properties[name].Types == "s" && !isTime(name) {
					t.OnceShown = append(t.OnceShown, name)
				}
			}
		}
	}
	return t
}

// isTime reports a property that says when something happened. Nobody needs it later.
func isTime(name string) bool {
	return strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_on")
}

// changed is the shape of what can be changed. An operation that takes other fields than the creation is none of
// change.
func (c *calls) changed(t *schema.Type, given *schema.Node) *schema.Node {
	if t.Shape != schema.Collection && (t.Shape != schema.Setting || c.create == nil) {
		return nil
	}
	var all []*schema.Node
	for _, o := range []struct {
		from *described
		op   **schema.Operation
	}{{c.update, &t.Update}, {c.patch, &t.Patch}} {
		if o.from == nil {
			continue
		}
		shape := body(o.from)
		same := 0
		for name := range shape.Properties {
			if given.Properties[name] != nil {
				same++
			}
		}
		if len(shape.Properties) == 0 || same == 0 && (t.Shape != schema.Setting || len(given.Properties) > 0) || o.op == &t.Update && same*2 < len(given.Properties) && c.patch != nil {
			*o.op = nil
			continue
		}
		all = append(all, shape)
	}
	if len(all) == 0 {
		return nil
	}
	out := merge(all)
	out.Required = all[0].Required
	return out
}

// joined is the shape of what can be given or changed. It notes what only one of the two takes.
func (c *calls) joined(t *schema.Type, given, changed *schema.Node) *schema.Node {
	out := merge([]*schema.Node{given, changed})
	out.Required = given.Required
	for name := range out.Properties {
		switch {
		case changed.Properties[name] == nil:
			t.CreateOnly = append(t.CreateOnly, tree.Path("").Key(name))
		case given.Properties[name] == nil:
			t.LaterOnly = append(t.LaterOnly, tree.Path("").Key(name))
		}
	}
	slices.Sort(t.CreateOnly)
	slices.Sort(t.LaterOnly)
	return out
}

// templated is the path of a collection with its variables by the names of properties.
func templated(path string, item bool) string {
	parts := strings.Split(path, "/")
	if item {
		parts = parts[:len(parts)-1]
	}
	for i, part := range parts {
		name, isVariable := strings.CutPrefix(part, "{")
		if !isVariable {
			continue
		}
		name = snake(strings.TrimSuffix(name, "}"))
		if name == "id" || name == "identifier" || name == "name" {
			name = singular(strings.ReplaceAll(parts[i-1], "-", "_")) + "_" + name
		}
		if i > 0 && parts[i-1] == "accounts" {
			name = "account_id"
		}
		if i > 0 && parts[i-1] == "zones" {
			name = "zone_id"
		}
		parts[i] = "{" + strings.TrimSuffix(strings.Replace(name, "_identifier", "_id", 1), "") + "}"
	}
	return strings.Join(parts, "/")
}

func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z') {
			out.WriteByte('_')
		}
		out.WriteString(strings.ToLower(string(r)))
	}
	return out.String()
}

func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "ss"):
		return word
	}
	return strings.TrimSuffix(word, "s")
}

func operation(o *described) *schema.Operation {
	if o == nil {
		return nil
	}
	op := &schema.Operation{Name: title(o.Service) + "." + o.Name, Method: o.Method, Inside: o.Inside}
	properties, _ := o.Request["properties"].(object)
	if inner := properties["body"]; inner != nil {
		if n := (shaping{asObject(o.Request["$defs"])}).node(present(inner), 0); n.Types == "a" {
			op.List = o.Method == "POST" || o.Method == "PUT" && strings.HasSuffix(o.Path, "}")
			op.Bare = !op.List
		}
	}
	for name := range body(o).Properties {
		op.Takes = append(op.Takes, name)
	}
	slices.Sort(op.Takes)
	switch o.Method {
	case "PATCH", "PUT":
		op.Needs = body(o).Required
	case "GET", "DELETE":
		op.Takes = nil
	}
	if o.Response != nil {
		op.Inside = envelope(o, shapeOf(o.Response).Properties)
	}
	return op
}

// body is the shape of the body of an operation: its properties without those that are in the path, the query and the header.
func body(o *described) *schema.Node {
	if o == nil {
		return &schema.Node{Types: "o"}
	}
	n := shapeOf(o.Request)
	if inner := n.Properties["body"]; inner != nil {
		switch {
		case inner.Types == "a" && (o.Method == "POST" || o.Method == "PUT" && strings.HasSuffix(o.Path, "}")):
			n = inner.Items
		case inner.Types == "a":
			return &schema.Node{Types: "o", Properties: map[string]*schema.Node{schema.Items: inner}, Required: []string{schema.Items}}
		default:
			n = inner
		}
	}
	out := &schema.Node{Types: "o", Properties: map[string]*schema.Node{}}
	sent := map[string]bool{}
	for _, p := range o.Params {
		sent[p.Name] = p.Path == "" && p.Query == "" && p.Header == ""
	}
	for name, p := range n.Properties {
		if inBody, listed := sent[name]; inBody || !listed {
			out.Properties[name] = p
			if slices.Contains(n.Required, name) {
				out.Required = append(out.Required, name)
			}
		}
	}
	slices.Sort(out.Required)
	return out
}

// answered is the shape of the object that an operation answers.
func answered(o *described) *schema.Node {
	n := shapeOf(o.Response)
	n = opened(o, n)
	if n.Types == "a" && n.Items != nil {
		if strings.HasSuffix(o.Path, "}") || o.Method == "POST" {
			return n.Items
		}
		return &schema.Node{Types: "o", Properties: map[string]*schema.Node{schema.Items: n}}
	}
	if n.Types != "o" && (n.Types == "" || n.Properties == nil) {
		return &schema.Node{Types: "o"}
	}
	return n
}

// envelope is the key of an answer, which is described whole, that holds what is asked for.
func envelope(o *described, properties map[string]*schema.Node) string {
	for _, key := range []string{"result", "data"} {
		if o.Inside == "" && properties[key] != nil && (key == "result" || properties["success"] != nil) {
			return key
		}
	}
	return o.Inside
}

// opened is the shape of what is asked for.
func opened(o *described, n *schema.Node) *schema.Node {
	if key := envelope(o, n.Properties); key != o.Inside {
		return n.Properties[key]
	}
	return n
}

// listing is the operation that lists a collection.
func listing(o *described, item *schema.Node) *schema.Operation {
	if o == nil || slices.ContainsFunc(o.Params, func(p struct{ Name, Path, Query, Header string }) bool {
		return p.Query != "" && slices.Contains(words(o.Request["required"]), p.Name)
	}) {
		return nil
	}
	op := operation(o)
	n := shapeOf(o.Response)
	n = opened(o, n)
	same := 0
	for name := range n.Properties {
		if item.Properties[name] != nil {
			same++
		}
	}
	if n.Types == "o" && same < 3 { // else an object is described where a list is answered
		found := ""
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			if p := n.Properties[name]; p.Types == "a" && (p.Items == nil || p.Items.Is('o')) && found == "" {
				found = name
			}
		}
		if found == "" && n.Properties["variants"] != nil {
			found = "variants"
		}
		if found == "" {
			return op // an object for a list: the description errs
		}
		op.Inside = strings.TrimPrefix(op.Inside+"."+found, ".")
		if items := n.Properties[found].Items; items != nil && len(items.Properties) == 1 {
			for name, inner := range items.Properties { // a list of objects with lists
				if inner.Types == "a" {
					op.Inside += "." + name
				}
			}
		}
	}
	for _, p := range o.Params {
		if p.Query == "page" || p.Query == "cursor" {
			op.Pages = p.Query
		}
	}
	return op
}

// identify finds the property that is the last part of an object's path.
func (c *calls) identify(t *schema.Type) {
	if t.Shape == schema.Setting {
		return
	}
	t.Answer = reach(t.Read, t.Answer, "")
	defer func() { reach(t.Create, answered(c.create), t.ID) }()
	param := c.read.Path[strings.LastIndex(c.read.Path, "{")+1:]
	name := snake(strings.TrimSuffix(param, "}"))
	if id := ids[c.read.Service+"."+c.read.Name]; id != "" {
		t.ID = id
		return
	}
	for {
		if t.Answer.Properties[name] != nil {
			t.ID = name
			return
		}
		_, rest, more := strings.Cut(name, "_")
		if !more {
			break
		}
		name = rest
	}
	for _, id := range []string{"id", "uid", "uuid", "identifier"} {
		if t.Answer.Properties[id] != nil {
			t.ID = id
			return
		}
	}
	for _, property := range slices.Sorted(maps.Keys(t.Answer.Properties)) {
		if strings.HasSuffix(property, "_id") && strings.HasSuffix(snake(param), "_id}") && len(t.Answer.Properties) > 0 && t.Root.Properties[property] == nil {
			t.ID = property
			return
		}
	}
	if t.Shape == schema.Named {
		t.ID = name
	}
}

// reach goes into an answer that is an object, or a list of objects, in an object: the only one, or the one that has an id.
func reach(op *schema.Operation, answer *schema.Node, id string) *schema.Node {
	if op == nil || answer.Properties[id] != nil {
		return answer
	}
	for _, name := range slices.Sorted(maps.Keys(answer.Properties)) {
		inner := answer.Properties[name]
		if inner.Types == "a" && inner.Items != nil {
			inner = inner.Items
		}
		if inner.Properties != nil && (id == "" && len(answer.Properties) == 1 || id != "" && inner.Properties[id] != nil) {
			op.Inside = strings.TrimPrefix(op.Inside+"."+name, ".")
			return inner
		}
	}
	return answer
}

// opening goes into an answer about a setting that has all that is given in an object of it, and nothing of that beside it.
func opening(op *schema.Operation, answer, given *schema.Node) *schema.Node {
	has := func(n *schema.Node, all bool) bool {
		for name := range given.Properties {
			if there := n.Properties[name] != nil; there != all {
				return !all
			}
		}
		return all
	}
	if len(given.Properties) == 0 || has(answer, false) {
		return answer
	}
	for _, name := range slices.Sorted(maps.Keys(answer.Properties)) {
		if inner := answer.Properties[name]; inner.Types == "o" && has(inner, true) {
			op.Inside = strings.TrimPrefix(op.Inside+"."+name, ".")
			return inner
		}
	}
	return answer
}

// hidden are the paths of what is given and never shown.
func hidden(given, shown *schema.Node, at tree.Path) (all []tree.Path) {
	if shown == nil || shown.Free() && shown.Is('o') {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(given.Properties)) {
		inner := shown.Properties[name]
		if inner == nil && shown.Values == nil {
			all = append(all, at.Key(name))
			continue
		}
		if inner != nil {
			g, s, path := given.Properties[name], inner, at.Key(name)
			for g.Items != nil && s.Items != nil {
				g, s, path = g.Items, s.Items, path.Any()
			}
			all = append(all, hidden(g, s, path)...)
		}
	}
	return all
}
