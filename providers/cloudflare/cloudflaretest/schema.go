package cloudflaretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are what requests and answers of an operation look like.
type schemas struct {
	request, response *jsonschema.Schema
	properties        map[string]any // of the request, for telling numbers in queries
	keys              map[string]any // of the answer, where it is described whole
	err               error
}

// described are the schemas, compiled on first use and kept for the test binary.
func (o *operation) described() schemas {
	o.once.Do(func() { o.compiled = o.compile() })
	return o.compiled
}

func (o *operation) compile() (s schemas) {
	if len(o.Request) == 0 { // not published
		return s
	}
	request, err := parsed(o.Request)
	if err != nil {
		return schemas{err: err}
	}
	amended(o.String(), request)
	if sent := sentByTerraform[o.String()]; sent != nil {
		loosen(request, sent...)
	}
	s.properties, _ = request["properties"].(map[string]any)
	if s.request, err = compiled(o.String()+"/request", request); err != nil {
		return schemas{err: err}
	}
	if len(o.Response) == 0 {
		return s
	}
	response, err := parsed(o.Response)
	if err != nil {
		return schemas{err: err}
	}
	amended(o.String()+" answer", response)
	s.keys, _ = response["properties"].(map[string]any)
	s.response, s.err = compiled(o.String()+"/response", response)
	return s
}

func parsed(text []byte) (map[string]any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	m, _ := v.(map[string]any)
	return m, err
}

func compiled(name string, schema map[string]any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	at := "https://cloudflaretest/" + name
	if err := c.AddResource(at, schema); err != nil {
		return nil, err
	}
	return c.Compile(at)
}

// checkRequest holds a request against the description of its operation.
func (o *operation) checkRequest(values map[string]string, query url.Values, header http.Header, body map[string]any) error {
	s := o.described()
	if s.err != nil || s.request == nil {
		return s.err
	}
	instance := map[string]any{}
	maps.Copy(instance, body)
	known := extraQueries[o.String()]
	for _, p := range o.Params {
		switch {
		case p.Path != "":
			instance[p.Name] = typed(s.properties[p.Name], []string{values[p.Path]})
		case p.Query != "" && query.Has(p.Query):
			instance[p.Name] = typed(s.properties[p.Name], query[p.Query])
		case p.Header != "" && header.Get(p.Header) != "":
			instance[p.Name] = typed(s.properties[p.Name], header.Values(p.Header))
		}
		known = append(known, p.Query)
	}
	for name, values := range query {
		outer, inner, nested := strings.Cut(name, ".")
		if !slices.Contains(known, outer) {
			return fmt.Errorf("no such query parameter: %s", name)
		}
		if nested { // name.exact is the field exact of name
			fields, _ := instance[outer].(map[string]any)
			if fields == nil {
				fields = map[string]any{}
				instance[outer] = fields
			}
			fields[inner] = values[0]
		}
	}
	return s.request.Validate(instance)
}

// typed is a value of a query, a path or a header as its schema wants it.
func typed(schema any, values []string) any {
	if accepts(schema, "array") {
		all := make([]any, len(values))
		for i, v := range values {
			all[i] = v
		}
		return all
	}
	text := values[0]
	if n, err := strconv.ParseFloat(text, 64); err == nil && accepts(schema, "number") {
		return n
	}
	if b, err := strconv.ParseBool(text); err == nil && accepts(schema, "boolean") {
		return b
	}
	return text
}

// accepts reports whether a schema, or one of its alternatives, is of a type.
func accepts(schema any, kind string) bool {
	m, _ := schema.(map[string]any)
	if m["type"] == kind {
		return true
	}
	any, _ := m["anyOf"].([]any)
	return slices.ContainsFunc(any, func(s interface{}) bool { return accepts(s, kind) })
}

// checkAnswer holds an answer that is no error against the description of its operation.
func (o *operation) checkAnswer(body []byte) error {
	s := o.described()
	if s.err != nil || s.response == nil {
		return s.err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	envelope, _ := v.(map[string]any)
	if o.Inside != "" {
		return s.response.Validate(envelope[o.Inside])
	}
	for _, key := range []string{"success", "errors", "messages"} {
		if _, told := s.keys[key]; !told {
			delete(envelope, key)
		}
	}
	return s.response.Validate(map[string]any(envelope))
}

// plain is a value as JSON has it.
func plain(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what the handlers answer is made here
	}
	return text
}
