package cloudflaretest

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// Operations that have no handler of their own are done by what the descriptions say alone: a POST to a path whose items
// can be read and deleted creates an object, a PUT sets what an account or a zone always has, and so on. What is not given
// has a value of the server's own, and what an answer does not describe is not shown. This part knows no schema but those
// of the descriptions, which it reads anew for each answer.

// shelves are the objects of the operations without handlers: those of collections, and single ones, by their paths.
type shelves struct {
	collections map[string][]object
	single      map[string]object
	made        int
	// sparse leaves out what an operation could give and did not: see Server.Sparse.
	sparse bool
}

var pathVariable = regexp.MustCompile(`\{[^}]*\}`)

// shapeOf is a path of the descriptions without the names of its variables.
func shapeOf(path string) string { return pathVariable.ReplaceAllString(path, "{}") }

// has reports whether the descriptions have an operation.
func (c *catalog) has(method, shape string) bool { return c.at(method, shape) != nil }

// at is the operation of a method and a path.
func (c *catalog) at(method, shape string) *operation {
	c.index()
	return c.byShape[shaped(method, shape)]
}

// described is the handler of an operation by its description, nil where that does not say what it does.
func (c *catalog) described(op *operation, path string) handler {
	shape := shapeOf(op.Path)
	if elsewhere := standsFor[shaped(op.Method, shape)]; elsewhere != nil {
		return elsewhere(c, op, path)
	}
	parent, isItem := strings.CutSuffix(shape, "/{}")
	collection := func(p string) bool {
		return c.has(http.MethodGet, p+"/{}") && c.has(http.MethodDelete, p+"/{}") && (c.has(http.MethodPost, p) || c.has(http.MethodPut, p+"/{}"))
	}
	switch {
	case op.Method == http.MethodPost && collection(shape):
		return func(w *world, r request) (any, *failure) { return w.shelves.create(c, op, shape, path, r), nil }
	case op.Method == http.MethodGet && collection(shape):
		return func(w *world, r request) (any, *failure) { return listed(op, w.shelves.collections[path], r), nil }
	case isItem && collection(parent):
		at := strings.LastIndex(path, "/")
		return func(w *world, r request) (any, *failure) {
			return w.shelves.item(c, op, path[:at], r.path[lastVariable(op.Path)], r), nil
		}
	case !isItem && c.has(http.MethodGet, shape) && (c.has(http.MethodPut, shape) || c.has(http.MethodPatch, shape)) && !c.has(http.MethodPost, shape),
		!isItem && c.has(http.MethodGet, shape) && c.has(http.MethodPost, shape) && c.has(http.MethodDelete, shape):
		return func(w *world, r request) (any, *failure) { return w.shelves.setting(c, op, path, r), nil }
	}
	return nil
}

// isOfHandlers reports whether other operations on the objects of an operation have handlers: these keep the objects then, and what the
// descriptions say alone knows none of them.
func (c *catalog) isOfHandlers(op *operation, handlers map[string]handler) bool {
	collection := strings.TrimSuffix(shapeOf(op.Path), "/{}")
	for _, shape := range []string{collection, collection + "/{}"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if other := c.at(method, shape); other != nil && handlers[other.String()] != nil {
				return true
			}
		}
	}
	return false
}

// standsFor are operations at paths of their own which do something to an object that others read.
var standsFor = map[string]func(c *catalog, op *operation, path string) handler{
	// It makes one of the operations that a POST to the collection makes several of.
	"POST /zones/{}/api_gateway/operations/item": func(c *catalog, op *operation, path string) handler {
		return func(w *world, r request) (any, *failure) {
			return w.shelves.create(c, op, "/zones/{}/api_gateway/operations", strings.TrimSuffix(path, "/item"), r), nil
		}
	},
	// A custom entry is changed at a path of its own, and read and deleted like all entries.
	"PUT /accounts/{}/dlp/entries/custom/{}": func(c *catalog, op *operation, path string) handler {
		collection, id, _ := strings.Cut(path, "/custom/")
		return func(w *world, r request) (any, *failure) { return w.shelves.item(c, op, collection, id, r), nil }
	},
	// It makes these members all that a group has.
	"PUT /accounts/{}/iam/user_groups/{}/members": func(c *catalog, op *operation, path string) handler {
		return func(w *world, r request) (any, *failure) {
			w.shelves.collections[path] = nil
			members, _ := r.body["body"].([]any)
			for _, m := range members {
				one := r
				one.body = object{"body": []any{m}}
				w.shelves.create(c, op, "/accounts/{}/iam/user_groups/{}/members", path, one)
			}
			return listed(op, w.shelves.collections[path], r), nil
		}
	},
	// What the configuration of a predefined profile sets is deleted at the profile.
	"DELETE /accounts/{}/dlp/profiles/predefined/{}": func(c *catalog, op *operation, path string) handler {
		return func(w *world, r request) (any, *failure) { return w.shelves.setting(c, op, path+"/config", r), nil }
	},
	// Captions are made from what is spoken, or uploaded by a PUT; both are read and deleted alike.
	"POST /accounts/{}/stream/{}/captions/{}/generate": func(c *catalog, op *operation, path string) handler {
		return func(w *world, r request) (any, *failure) {
			made := r
			made.body = object{"language": r.path["language"]}
			collection := strings.TrimSuffix(path, "/"+r.path["language"]+"/generate")
			return w.shelves.create(c, op, "/accounts/{}/stream/{}/captions", collection, made), nil
		}
	},
}

func lastVariable(path string) string {
	return strings.TrimSuffix(path[strings.LastIndex(path, "{")+1:], "}")
}

func notThere() wiretest.Answer {
	return refused(&failure{status: http.StatusNotFound, message: "not found"})
}

// given is the object that a body describes: an element of a list, or a list under the name items.
func given(r request) object {
	list, ok := r.body["body"].([]any)
	switch {
	case ok && len(list) == 1:
		if m, isObject := list[0].(object); isObject {
			return m
		}
	case ok:
		return object{"items": list}
	case r.body["body"] != nil && len(r.body) == 1:
		if m, isObject := r.body["body"].(object); isObject {
			return m
		}
	}
	return r.body
}

// beginsAs are words that objects of a collection begin with, where the descriptions have any text: the Terraform provider has "waiting" as its default.
var beginsAs = map[string]object{"/accounts/{}/ai-search/instances": {"status": "waiting"}}

func (s *shelves) create(c *catalog, op *operation, shape, path string, r request) wiretest.Answer {
	made := maps.Clone(given(r))
	maps.Copy(made, beginsAs[shape])
	read := c.at(http.MethodGet, shape+"/{}")
	s.fill(c, read, op, made)
	s.fill(c, op, op, made)
	if s.collections == nil {
		s.collections = map[string][]object{}
	}
	s.collections[path] = append(s.collections[path], made)
	return saidOf(op, made)
}

// fill gives an object what the server adds: ids, and values of its own for what an operation could give and does not.
func (s *shelves) fill(c *catalog, read, by *operation, made object) {
	settable := by.settable()
	if s.sparse {
		settable = c.settableAt(read.Path, settable)
	}
	s.made++
	id := hexID(16)
	value := valueSchema(read)
	for _, schema := range likest(made, objectsOf(value, defsOf(read)), defsOf(read)) {
		properties, _ := schema["properties"].(object)
		if name := holder(made, schema, defsOf(read)); name != "" {
			properties, _ = objectsOf(properties[name], defsOf(read))[0]["properties"].(object)
		}
		for name, p := range properties {
			leftOut := s.sparse && !needed(schema, name) && (settable[name] != nil || !isIdentity(name) && len(objectsOf(p, defsOf(read))) > 0)
			if _, there := made[name]; there || leftOut {
				continue
			}
			switch {
			case strings.HasSuffix(name, "_name") && settable["name"] != nil && made["name"] != nil:
				made[name] = made["name"]
			case !isIdentity(name), settable[name] != nil:
				made[name] = valueOf(p, defsOf(read), name, 0)
			case accepts(p, "number"):
				made[name] = float64(s.made)
			case accepts(p, "string"):
				made[name] = id
			default:
				made[name] = valueOf(p, defsOf(read), name, 0)
			}
		}
	}
}

// needed reports whether a schema of an object requires a property.
func needed(schema object, name string) bool {
	required, _ := schema["required"].([]any)
	return slices.Contains(required, any(name))
}

// settableAt are the properties that some operation on an object, or on its collection, gives, beside those of one.
func (c *catalog) settableAt(path string, settable object) object {
	all := maps.Clone(settable)
	shape := shapeOf(path)
	collection := strings.TrimSuffix(shape, "/{}")
	for _, at := range []struct{ method, shape string }{
		{http.MethodPost, collection}, {http.MethodPut, collection + "/{}"}, {http.MethodPatch, collection + "/{}"}, {http.MethodPut, shape}, {http.MethodPatch, shape},
	} {
		if op := c.at(at.method, at.shape); op != nil {
			maps.Copy(all, op.settable())
		}
	}
	return all
}

var identities = regexp.MustCompile(`^(id|uid|uuid|sitekey|tag|client_id|\w+_(id|tag|uuid))$`)

func isIdentity(name string) bool { return identities.MatchString(name) }

// answer and body are descriptions as trees, read once for each operation: nobody changes them.
func (o *operation) answer() object { o.read(); return o.trees.answer }
func (o *operation) body() object   { o.read(); return o.trees.body }

func (o *operation) read() {
	o.trees.once.Do(func() {
		o.trees.answer, _ = parsed(o.Response)
		o.trees.body, _ = parsed(o.Request)
	})
}

// settable are the properties that a body can have.
func (o *operation) settable() object {
	request := o.body()
	all, defs := objectProperties(request, defsIn(request)), defsIn(request)
	for _, p := range o.Params {
		if p.Path != "" || p.Query != "" || p.Header != "" {
			delete(all, p.Name)
		}
	}
	body := all["body"]
	if body == nil {
		return all
	}
	if list := arrayOf(body, defs); list != nil {
		body = list["items"]
	}
	return objectProperties(body, defs)
}

func find(all []object, id string) int {
	return slices.IndexFunc(all, func(o object) bool {
		for _, v := range o {
			if text, ok := v.(string); ok && text == id {
				return true
			}
			if n, ok := v.(float64); ok && strconv.FormatFloat(n, 'f', -1, 64) == id {
				return true
			}
		}
		return false
	})
}

func (s *shelves) item(c *catalog, op *operation, collection, id string, r request) wiretest.Answer {
	all := s.collections[collection]
	i := find(all, id)
	put := op.Method == http.MethodPut && !c.has(http.MethodPost, strings.TrimSuffix(shapeOf(op.Path), "/{}"))
	if i < 0 && !put {
		return notThere()
	}
	if i < 0 {
		made := maps.Clone(given(r))
		for name := range objectProperties(valueSchema(op), defsOf(op)) {
			if _, there := made[name]; !there && (isIdentity(name) || strings.EqualFold(strings.ReplaceAll(name, "_", ""), lastVariable(op.Path))) {
				made[name] = id
			}
		}
		s.fill(c, op, op, made)
		if s.collections == nil {
			s.collections = map[string][]object{}
		}
		s.collections[collection] = append(all, made)
		return saidOf(op, made)
	}
	switch op.Method {
	case http.MethodDelete:
		old := all[i]
		s.collections[collection] = slices.Delete(slices.Clone(all), i, i+1)
		return saidOf(op, old)
	case http.MethodPut, http.MethodPatch:
		all[i] = changed(op, all[i], given(r))
		read := c.at(http.MethodGet, shapeOf(op.Path))
		if read == nil { // it is read at another path
			read = op
		}
		s.fill(c, read, op, all[i])
	}
	return saidOf(op, all[i])
}

// mergedWithin are the settings of which a PATCH may name a part of an object inside, as the Terraform provider does: the rest of that stays.
var mergedWithin = map[string]bool{"/accounts/{}/dns_settings": true, "/zones/{}/dns_settings": true}

// merged is what a PATCH names, with the rest of each object that it names a part of.
func merged(old, body object) object {
	out := maps.Clone(body)
	for name, v := range body {
		within, isObject := v.(object)
		have, had := old[name].(object)
		if isObject && had {
			whole := maps.Clone(have)
			maps.Copy(whole, merged(have, within))
			out[name] = whole
		}
	}
	return out
}

// changed is an object after a PUT, which takes away what it could give and does not, or a PATCH.
func changed(op *operation, old, body object) object {
	out := maps.Clone(old)
	if op.Method == http.MethodPut {
		for name := range op.settable() {
			delete(out, name)
		}
	}
	if mergedWithin[shapeOf(op.Path)] {
		body = merged(old, body)
	}
	for name, v := range body {
		if v == nil && op.Method == http.MethodPatch {
			delete(out, name)
			continue
		}
		out[name] = v
	}
	for name, v := range old { // what identifies it stays
		if slices.Contains([]string{"id", "uid", "uuid", "name"}, name) && body[name] == nil && out[name] == nil {
			out[name] = v
		}
	}
	return out
}

// alwaysThere are settings that a DELETE resets, and that can be read before they were set.
var alwaysThere = map[string]bool{"/zones/{}/managed_headers": true} // https://developers.cloudflare.com/rules/transform/managed-transforms/

// noneAs is what is answered about settings that were not set, where that is no refusal, and onAs what a setting has that was set beside what is
// sent. The description of a file security.txt has an object or a text.
var (
	noneAs = map[string]any{
		"/zones/{}/hold":                        object{"hold": false, "hold_after": nil, "include_subdomains": nil},
		"/accounts/{}/r2/buckets/{}/sippy":      object{"enabled": false},
		"/zones/{}/security-center/securitytxt": "",
		"/accounts/{}/ai-gateway/billing/spending-limit": object{
			"enabled": false, "config": object{"amount": nil, "duration": nil, "strategy": nil},
		},
	}
	// listIn is the property that is sent, where an answer is the list in it.
	listIn = map[string]string{"/zones/{}/snippets/snippet_rules": "rules"}
	// heldIn is the property that what is sent is in, where an answer has it in an object.
	heldIn = map[string]string{"/accounts/{}/ai-gateway/billing/spending-limit": "config"}
	onAs   = map[string]object{
		"/zones/{}/hold": {"hold": true}, "/accounts/{}/r2/buckets/{}/sippy": {"enabled": true},
		"/accounts/{}/ai-gateway/billing/spending-limit": {"enabled": true},
	}
)

func (s *shelves) setting(c *catalog, op *operation, path string, r request) wiretest.Answer {
	if s.single == nil {
		s.single = map[string]object{}
	}
	have := s.single[path]
	shape := shapeOf(op.Path)
	if have == nil && (!c.has(http.MethodDelete, shape) || alwaysThere[shape]) {
		read := c.at(http.MethodGet, shape)
		have = object{}
		s.fill(c, read, s.setter(c, shape), have)
		if arrayOf(valueSchema(read), defsOf(read)) != nil {
			have = object{"items": []any{}}
		}
		s.single[path] = have
	}
	switch op.Method {
	case http.MethodGet:
		if none, answered := noneAs[shape]; have == nil && answered {
			return envelope(op, op.answer(), none, nil)
		}
		if have == nil {
			return notThere()
		}
	case http.MethodDelete:
		delete(s.single, path)
	default:
		if have == nil && op.Method == http.MethodPatch && noneAs[shape] != nil {
			return notThere() // a change makes none
		}
		if have == nil {
			have = maps.Clone(onAs[shape])
			if have == nil {
				have = object{}
			}
			s.fill(c, c.at(http.MethodGet, shape), op, have)
		}
		body := given(r)
		if _, isList := r.body["body"].([]any); isList {
			body = object{"items": r.body["body"]}
		}
		if name := listIn[shape]; name != "" {
			body = object{"items": body[name]}
		}
		if name := heldIn[shape]; name != "" {
			body = object{name: body}
		}
		have = changed(op, have, body)
		s.fill(c, c.at(http.MethodGet, shape), op, have)
		s.single[path] = have
	}
	return saidOf(op, have)
}

// setter is the operation that sets what is at a path.
func (s *shelves) setter(c *catalog, shape string) *operation {
	if op := c.at(http.MethodPut, shape); op != nil {
		return op
	}
	if op := c.at(http.MethodPatch, shape); op != nil {
		return op
	}
	return c.at(http.MethodPost, shape)
}

// defsOf are the definitions of what an operation answers.
func defsOf(op *operation) object {
	response := op.answer()
	return defsIn(response)
}

func defsIn(schema object) object {
	defs, _ := schema["$defs"].(object)
	return defs
}

// valueSchema describes the value that an operation answers, without its envelope.
func valueSchema(op *operation) any {
	response := op.answer()
	if op.Inside != "" {
		return response
	}
	properties, _ := response["properties"].(object)
	for _, key := range []string{"result", "data"} {
		if properties[key] != nil {
			return properties[key]
		}
	}
	return response
}

// alternatives are the schemas that a value may have, without null.
func alternatives(schema any, defs object) []object {
	m, _ := schema.(object)
	if ref, ok := m["$ref"].(string); ok {
		return alternatives(defs[strings.TrimPrefix(ref, "#/$defs/")], defs)
	}
	choices, ok := m["anyOf"].([]any)
	if !ok {
		if m == nil || m["type"] == "null" {
			return nil
		}
		return []object{m}
	}
	var all []object
	for _, c := range choices {
		all = append(all, alternatives(c, defs)...)
	}
	return all
}

func objectsOf(schema any, defs object) []object {
	return slices.DeleteFunc(alternatives(schema, defs), func(m object) bool { return m["type"] != "object" })
}

func objectProperties(schema any, defs object) object {
	out := object{}
	for _, m := range objectsOf(schema, defs) {
		properties, _ := m["properties"].(object)
		maps.Copy(out, properties)
	}
	return out
}

// arrayOf describes the list that a value is, nil when it is none.
func arrayOf(schema any, defs object) object {
	for _, m := range alternatives(schema, defs) {
		if m["type"] == "array" {
			return m
		}
	}
	return nil
}

// dates are the names of properties that hold a time. The descriptions have them as text.
var dates = regexp.MustCompile(`(_at|_on|_time)$|^(created|modified|updated|verified|last_(modified|updated|complete|error|activity|synced|successful_sync))$`)

// valueOf is a value that a schema allows, which is the server's own.
func valueOf(schema any, defs object, name string, depth int) any {
	if strings.HasPrefix(name, "deleted") || strings.HasPrefix(name, "revoked") {
		return nil
	}
	all := alternatives(schema, defs)
	if len(all) == 0 || depth > 6 {
		return nil
	}
	m := all[0]
	if choices, ok := m["enum"].([]any); ok && len(choices) > 0 {
		if slices.Contains(choices, any("active")) {
			return "active" // what takes a while has been done
		}
		return choices[0]
	}
	switch m["type"] {
	case "string":
		if dates.MatchString(name) {
			return "2026-01-01T00:00:00Z"
		}
		return "own"
	case "number", "integer":
		if name == "priority" {
			return float64(0) // the first
		}
		return float64(7)
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		out := object{}
		properties, _ := m["properties"].(object)
		required, _ := m["required"].([]any)
		for _, r := range required {
			out[r.(string)] = valueOf(properties[r.(string)], defs, r.(string), depth+1)
		}
		return out
	}
	return nil
}

// shown is a value as a schema allows it: without what that does not describe, and with what it requires.
func shown(v, schema any, defs object, depth int) any {
	if m, ok := schema.(object); !ok || len(m) == 0 || depth > 12 {
		return v
	}
	all := alternatives(schema, defs)
	if slices.ContainsFunc(all, func(m object) bool { return len(m) == 0 }) { // anything
		return v
	}
	switch v := v.(type) {
	case object:
		var best object
		most := -1
		for _, m := range all {
			fit := fitness(v, m, defs)
			if m["type"] == "object" && (fit > most || fit == most && best != nil && lacking(v, m) < lacking(v, best)) {
				best, most = m, fit
			}
		}
		if best == nil {
			return v
		}
		return shownObject(v, best, defs, depth)
	case []any:
		list := arrayOf(schema, defs)
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = shown(e, list["items"], defs, depth+1)
		}
		return out
	}
	return v
}

func shownObject(v, schema, defs object, depth int) any {
	properties, _ := schema["properties"].(object)
	if inner, isMap := schema["additionalProperties"].(object); isMap {
		out := object{}
		for name, e := range v {
			out[name] = shown(e, inner, defs, depth+1)
		}
		return out
	}
	if len(properties) == 0 && schema["additionalProperties"] != false {
		return v
	}
	required, _ := schema["required"].([]any)
	out := object{}
	for name, p := range properties {
		e, there := v[name]
		switch {
		case there:
			out[name] = shown(e, p, defs, depth+1)
			if e == nil && !accepts(p, "null") {
				delete(out, name)
			}
		case slices.Contains(required, any(name)):
			out[name] = valueOf(p, defs, name, 0)
		}
	}
	return out
}

// fitness is how well an object is of a schema: by words that have one value, and by the number of its properties.
func fitness(v, schema, defs object) int {
	properties, _ := schema["properties"].(object)
	fit := 0
	for name, p := range properties {
		e, there := v[name]
		if !there {
			continue
		}
		fit++
		if choices := words(p); len(choices) == 1 && len(alternatives(p, defs)) == 1 {
			if e != choices[0] {
				return -1
			}
			fit += 100
		}
	}
	return fit
}

// lacking is how many of the properties that a schema requires an object has not.
func lacking(v, schema object) int {
	required, _ := schema["required"].([]any)
	return len(slices.DeleteFunc(slices.Clone(required), func(name any) bool { _, there := v[name.(string)]; return there }))
}

// likest is the alternative that an object is most like, nil for none.
func likest(v object, all []object, defs object) []object {
	most, best := -1, []object(nil)
	for _, m := range all {
		if fit := fitness(v, m, defs); fit > most || fit == most && best != nil && lacking(v, m) < lacking(v, best[0]) {
			most, best = fit, []object{m}
		}
	}
	return best
}

// holder is the property of a schema that holds an object, "" where the schema describes the object itself: an answer may have the
// object in another one.
func holder(v, schema, defs object) string {
	properties, _ := schema["properties"].(object)
	most, best := fitness(v, schema, defs), ""
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, own := v[name]; own {
			continue
		}
		for _, inner := range objectsOf(properties[name], defs) {
			if fit := fitness(v, inner, defs); fit > most {
				most, best = fit, name
			}
		}
	}
	return best
}

func holderOf(v object, value any, defs object) string {
	for _, m := range likest(v, objectsOf(value, defs), defs) {
		return holder(v, m, defs)
	}
	return ""
}

// saidOf is an object as an operation answers it.
func saidOf(op *operation, v object) wiretest.Answer {
	response := op.answer()
	value, defs := valueSchema(op), defsIn(response)
	var out any
	if list := arrayOf(value, defs); list != nil {
		if items, ok := v["items"]; ok && len(v) == 1 {
			out = shown(items, value, defs, 0)
		} else {
			out = []any{shown(v, list["items"], defs, 0)}
		}
	} else if name := holderOf(v, value, defs); name != "" && op.Method != http.MethodDelete {
		whole, _ := shown(object{}, value, defs, 0).(object)
		whole[name] = shown(v, objectProperties(value, defs)[name], defs, 0)
		out = whole
	} else {
		out = shown(v, value, defs, 0)
	}
	if len(alternatives(value, defs)) == 0 {
		out = nil
	}
	return envelope(op, response, out, nil)
}

// envelope is an answer around a value.
func envelope(op *operation, response object, value any, info object) wiretest.Answer {
	properties, _ := response["properties"].(object)
	switch {
	case op.Inside == "" && properties["result"] == nil && properties["data"] != nil:
		whole, _ := shownObject(object{"success": true, "data": value}, response, defsIn(response), 0).(object)
		whole["data"] = value
		return answer(http.StatusOK, whole)
	case op.Inside == "" && properties["result"] == nil && len(response) > 0:
		return answer(http.StatusOK, value)
	}
	body := object{"success": true, "errors": []any{}, "messages": []any{}, "result": value}
	if info != nil {
		body["result_info"] = info
	}
	return answer(http.StatusOK, body)
}

// listed is the answer to a listing.
func listed(op *operation, all []object, r request) wiretest.Answer {
	response := op.answer()
	value, defs := valueSchema(op), defsIn(response)
	properties, _ := response["properties"].(object)
	var info object
	if n, err := strconv.Atoi(r.query.Get("per_page")); err == nil && properties["result_info"] != nil {
		page, _ := strconv.Atoi(r.query.Get("page"))
		each := min(n, 20)
		info = object{"page": page, "per_page": each, "total_count": len(all), "count": 0}
		all = all[min((page-1)*each, len(all)):min(page*each, len(all))]
		info["count"] = len(all)
		if known := objectProperties(properties["result_info"], defs); len(known) > 0 {
			info, _ = shown(info, properties["result_info"], defs, 0).(object)
		}
	}
	items := func(schema any) []any {
		list := arrayOf(schema, defs)
		out := []any{}
		members := objectProperties(list["items"], defs)
		for _, o := range all {
			one := maps.Clone(o)
			for name, inner := range members {
				if len(members) == 1 && arrayOf(inner, defs) != nil { // a list of objects with lists
					one = object{name: []any{one}}
				}
			}
			out = append(out, shown(one, list["items"], defs, 0))
		}
		return out
	}
	if arrayOf(value, defs) != nil {
		return envelope(op, response, items(value), info)
	}
	inner := objectProperties(value, defs)
	if len(all) > 0 && fitness(all[0], object{"properties": inner}, defs) > 2 { // an object is described where a list is answered
		return answer(http.StatusOK, object{"success": true, "errors": []any{}, "messages": []any{}, "result": anyOf(all)})
	}
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if arrayOf(inner[name], defs) != nil {
			out, _ := valueOf(value, defs, "", 0).(object)
			out[name] = items(inner[name])
			return envelope(op, response, out, info)
		}
	}
	return envelope(op, response, anyOf(all), info)
}

func anyOf(all []object) []any {
	out := make([]any, len(all))
	for i, o := range all {
		out[i] = o
	}
	return out
}

// Sparse makes the server leave out, of the operations without handlers, the values that an operation could give and did not. By itself it has values of
// its own for all of them, which athanor takes for no drift. The descriptions do not say which of them Cloudflare has, nor what these are, and other
// clients take each for a difference.
func (s *Server) Sparse() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.shelves.sparse = true
}

// Objects are the objects that the server keeps for operations without handlers: those of the collection at a path below the
// endpoint, with ACCOUNT for the account, or the one that is set at the path.
func (s *Server) Objects(path string) []map[string]any {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	path = strings.Replace(path, "ACCOUNT", s.Account, 1)
	var all []map[string]any
	for _, o := range s.world.shelves.collections[path] {
		all = append(all, maps.Clone(o))
	}
	if o := s.world.shelves.single[path]; o != nil {
		all = append(all, maps.Clone(o))
	}
	return all
}

// EditObject changes an object that the server keeps for operations without handlers, as a person would: it has the value under
// the name, or no such property where that is nil. id is "" for what is set at the path.
func (s *Server) EditObject(t T, path, id, name string, value any) {
	t.Helper()
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	path = strings.Replace(path, "ACCOUNT", s.Account, 1)
	o := s.world.shelves.single[path]
	if id != "" {
		i := find(s.world.shelves.collections[path], id)
		if i < 0 {
			t.Fatalf("%s has no %s", path, id)
			return
		}
		o = s.world.shelves.collections[path][i]
	}
	var plainValue any
	_ = json.Unmarshal(plain(value), &plainValue)
	if o[name] = plainValue; value == nil {
		delete(o, name)
	}
}

// RemoveObject deletes an object that the server keeps for operations without handlers, as a person would.
func (s *Server) RemoveObject(path, id string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	path = strings.Replace(path, "ACCOUNT", s.Account, 1)
	delete(s.world.shelves.single, path)
	if i := find(s.world.shelves.collections[path], id); i >= 0 {
		s.world.shelves.collections[path] = slices.Delete(slices.Clone(s.world.shelves.collections[path]), i, i+1)
	}
}

// SampleBody is a body that an operation takes by its description: with what it requires alone, with all that it can hold, or
// with other values of all that. Where the description leaves a choice of forms it is the first; a list of objects has one of
// each form.
func SampleBody(t testing.TB, method, path string, which int) map[string]any {
	t.Helper()
	op, _ := load(t).find(method, path)
	if op == nil {
		t.Fatalf("%s %s is no operation", method, path)
	}
	request, err := parsed(op.Request)
	if err != nil {
		t.Fatal(err)
	}
	amended(op.String(), request)
	properties, _ := request["properties"].(object)
	for _, p := range op.Params {
		if p.Path != "" || p.Query != "" || p.Header != "" {
			delete(properties, p.Name)
		}
	}
	defs := defsIn(request)
	var schema any = request
	if body := properties["body"]; body != nil {
		schema = body
		if list := arrayOf(body, defs); list != nil && (method == http.MethodPost) {
			schema = list["items"]
		} else if list != nil {
			return object{"items": sampleOf(body, defs, "items", which, 0)}
		}
	}
	out, _ := sampleOf(schema, defs, "", which, 0).(object)
	return out
}

// Takes are the properties of the body that an operation takes by its description, nil when there is no such operation.
func Takes(t testing.TB, method, path string) map[string]bool {
	t.Helper()
	op, _ := load(t).find(method, path)
	if op == nil {
		return nil
	}
	taken := map[string]bool{}
	if arrayOf(objectProperties(op.body(), defsIn(op.body()))["body"], defsIn(op.body())) != nil {
		taken["items"] = true
	}
	for name := range op.settable() {
		taken[name] = true
	}
	return taken
}

// The samples of a body.
const (
	Least = iota
	Full
	Other
)

// choicesOf are the words that a value can be, where the first of its forms is one of words. Some descriptions have a form for each.
func choicesOf(forms []object) (all []any) {
	if _, ofWords := forms[0]["enum"]; !ofWords {
		return nil
	}
	for _, form := range forms {
		words, _ := form["enum"].([]any)
		all = append(all, words...)
	}
	return all
}

func sampleOf(schema any, defs object, name string, which, depth int) any {
	all := alternatives(schema, defs)
	if len(all) == 0 || depth > 9 {
		return "sample"
	}
	m := all[0]
	if choices := choicesOf(all); len(choices) > 0 {
		return choices[(len(choices)-1)*(1-which/2)]
	}
	switch m["type"] {
	case "string":
		if strings.HasSuffix(name, "_at") {
			return "2027-01-0" + strconv.Itoa(1+which/2) + "T00:00:00Z"
		}
		return []string{"sample-", "sample-", "other-"}[which] + strings.ReplaceAll(name, "_", "-")
	case "number", "integer":
		return int64(42 + which/2)
	case "boolean":
		return which == Other
	case "array":
		forms := objectsOf(m["items"], defs)
		if which == Least || len(forms) < 2 || depth > 4 { // forms may have themselves inside
			return []any{sampleOf(m["items"], defs, name, which, depth+1)}
		}
		out := make([]any, len(forms))
		for i, form := range forms {
			out[i] = sampleOf(form, defs, name, which, depth+1)
		}
		return out
	case "object":
		out := object{}
		properties, _ := m["properties"].(object)
		if free := m["additionalProperties"] != false && len(properties) == 0; free && which > Least {
			out["sample"] = []string{"", "sample", "other"}[which]
		}
		required, _ := m["required"].([]any)
		for key, p := range properties {
			if _, described := p.(object); which > Least && described || slices.Contains(required, any(key)) {
				out[key] = sampleOf(p, defs, key, which, depth+1)
			}
		}
		if inner, isMap := m["additionalProperties"].(object); isMap && which > Least {
			out["sample"] = sampleOf(inner, defs, "sample", which, depth+1)
		}
		return out
	}
	return "sample"
}
