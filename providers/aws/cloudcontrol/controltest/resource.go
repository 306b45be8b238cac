package controltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// resource is one object: what was set, and what the service gave.
type resource struct {
	typ   *schema
	model map[string]any
}

func key(typ, identifier string) string { return typ + " " + identifier }

// chosen is the identifier, where all of it is the author's.
func (r *resource) chosen() string {
	for _, name := range r.typ.PrimaryIdentifier {
		if _, ok := r.model[name]; !ok {
			return ""
		}
	}
	return r.identifier()
}

func (r *resource) identifier() string {
	parts := make([]string, len(r.typ.PrimaryIdentifier))
	for i, name := range r.typ.PrimaryIdentifier {
		parts[i] = fmt.Sprint(r.model[name])
	}
	return strings.Join(parts, "|")
}

// complete gives what the service gives: identifiers, attributes and what was left out.
func (s *Server) complete(r *resource) {
	t := r.typ
	for name, v := range s.defaults[t.CloudFormationType] {
		if _, ok := r.model[name]; ok {
			continue
		}
		if of, ok := v.(func(map[string]any) any); ok {
			v = of(r.model)
		}
		r.model[name] = copied(v)
	}
	word := strings.ToLower(t.CloudFormationType[strings.LastIndex(t.CloudFormationType, ":")+1:])
	id := ""
	give := func(name string) {
		if _, ok := r.model[name]; ok {
			return
		}
		if id == "" {
			s.serial++
			id = fmt.Sprintf("%s-%08x", word, s.serial)
		}
		if strings.HasSuffix(strings.ToLower(name), "arn") || name == services()[t.CloudFormationType].arn {
			if t.ARNTemplate != "" {
				r.model[name] = written(t.ARNTemplate, func(string) string { return id })
				return
			}
			service := strings.ToLower(strings.Split(t.CloudFormationType, "::")[1])
			r.model[name] = fmt.Sprintf("arn:aws:%s:%s:%s:%s/%s", service, Region, Account, word, id)
			return
		}
		r.model[name] = id
	}
	for _, name := range t.PrimaryIdentifier {
		give(name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		if t.readOnly(name) && !strings.Contains(name, ".") && t.Attributes[name].Type.Type == "string" {
			if _, ok := r.model[name]; ok {
				continue
			}
			id := r.identifier()
			if r.model[name] = id[strings.LastIndex(id, "/")+1:] + "." + strings.ToLower(name); strings.HasSuffix(name, "Id") {
				r.model[name] = r.identifier() // another name for the same
			}
		}
	}
}

// shown is what a read answers.
func (s *Server) shown(r *resource) map[string]any {
	m, _ := copied(r.model).(map[string]any)
	for _, path := range s.hidden[r.typ.CloudFormationType] {
		hide(m, strings.Split(path, "."))
	}
	return m
}

// hide takes a property away, in each element where lists are on the way.
func hide(v any, path []string) {
	switch at := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(at, path[0])
			return
		}
		hide(at[path[0]], path[1:])
	case []any:
		for _, e := range at {
			hide(e, path)
		}
	}
}

func (s *Server) describe(r *resource) map[string]any {
	return map[string]any{"Identifier": r.identifier(), "Properties": encoded(s.shown(r))}
}

// list shows identifiers alone, as most handlers do, a page of two at a time.
func (s *Server) list(in *input) (any, *problem) {
	var model map[string]any
	if in.ResourceModel != "" {
		if err := json.Unmarshal([]byte(in.ResourceModel), &model); err != nil {
			return nil, refuse("InvalidRequestException", "ResourceModel: %v", err)
		}
	}
	var found []any
	for _, at := range slices.Sorted(maps.Keys(s.resources)) {
		r := s.resources[at]
		if r.typ.CloudFormationType != in.TypeName {
			continue
		}
		fits := true
		for name, v := range model {
			fits = fits && encoded(r.model[name]) == encoded(v)
		}
		if fits {
			found = append(found, map[string]any{"Identifier": r.identifier(), "Properties": "{}"})
		}
	}
	at, _ := strconv.Atoi(in.NextToken)
	page := map[string]any{"TypeName": in.TypeName, "ResourceDescriptions": found[min(at, len(found)):min(at+2, len(found))]}
	if at+2 < len(found) {
		page["NextToken"] = strconv.Itoa(at + 2)
	}
	return page, nil
}

// dangling says which reference leads nowhere, as the schemas tell references.
func (s *Server) dangling(t *schema, model map[string]any) string {
	if !s.Strict {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(model)) {
		p := t.Properties[name]
		if p == nil || len(p.RelationshipRefs) == 0 {
			continue
		}
		for _, v := range each(model[name]) {
			if !slices.ContainsFunc(p.RelationshipRefs, func(ref struct{ CloudFormationType, PropertyName string }) bool {
				return s.has(ref.CloudFormationType, ref.PropertyName, v)
			}) {
				return fmt.Sprintf("%s: there is no %v", name, v)
			}
		}
	}
	return ""
}

// user is a resource that refers to another, which therefore cannot be deleted.
func (s *Server) user(r *resource) string {
	if !s.Strict || r == nil {
		return ""
	}
	for _, at := range slices.Sorted(maps.Keys(s.resources)) {
		other := s.resources[at]
		for name, p := range other.typ.Properties {
			for _, ref := range p.RelationshipRefs {
				if ref.CloudFormationType != r.typ.CloudFormationType || other == r {
					continue
				}
				for _, v := range each(other.model[name]) {
					if encoded(r.model[ref.PropertyName]) == encoded(v) {
						return at
					}
				}
			}
		}
	}
	return ""
}

func (s *Server) has(typ, name string, v any) bool {
	for _, r := range s.resources {
		if r.typ.CloudFormationType == typ && encoded(r.model[name]) == encoded(v) {
			return true
		}
	}
	return false
}

// each are the elements of a list, or the value itself.
func each(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

func copied(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// Find are the properties of all resources of a type, what is hidden included; "" is all types.
func (s *Server) Find(typ string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []map[string]any
	for _, at := range slices.Sorted(maps.Keys(s.resources)) {
		if r := s.resources[at]; typ == "" || r.typ.CloudFormationType == typ {
			m, _ := copied(r.model).(map[string]any)
			all = append(all, m)
		}
	}
	return all
}

// Edit changes a resource behind everybody's back; nil takes a property away, and the service gives its own.
func (s *Server) Edit(typ, identifier, name string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resources[key(typ, identifier)]
	if r == nil {
		return fmt.Errorf("there is no %s %s", typ, identifier)
	}
	if value == nil {
		delete(r.model, name)
		s.complete(r)
	} else {
		r.model[name] = copied(value)
	}
	return nil
}

// Vanish deletes a resource behind everybody's back.
func (s *Server) Vanish(typ, identifier string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resources, key(typ, identifier))
}

// Put makes a resource that somebody else has made, and answers its identifier.
func (s *Server) Put(typ string, model map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, _ := copied(model).(map[string]any)
	r := &resource{typ: s.schemas.types[typ], model: m}
	s.complete(r)
	s.resources[key(typ, r.identifier())] = r
	return r.identifier()
}
