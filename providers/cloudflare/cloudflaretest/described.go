package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// Undescribed finds what the package cloudflare knows of operations and the descriptions of Cloudflare do not.
func Undescribed(t testing.TB, operations []cloudflare.Operation) []string {
	t.Helper()
	c := load(t)
	var all []string
	for _, o := range operations {
		found, _ := c.find(o.Method, strings.ReplaceAll(o.Path, "*", "x"))
		if found == nil || !strings.EqualFold(strings.ReplaceAll(found.Service, "-", ""), o.Service) || found.Name != o.Name {
			all = append(all, fmt.Sprintf("%s.%s is %v", o.Service, o.Name, found))
		}
	}
	return all
}

// Undeclared finds codes of a service, "" for any, that no operation of it declares and exceptions.go does not know.
func Undeclared(t testing.TB, service string, codes []int64) []int64 {
	t.Helper()
	c := load(t)
	var all []int64
	for _, code := range codes {
		if !c.declared(strings.ToLower(service), int(code)) {
			all = append(all, code)
		}
	}
	return all
}

func (c *catalog) declared(service string, code int) bool {
	if everywhere[code] || undeclared[fmt.Sprintf("%s %d", service, code)] != "" {
		return true
	}
	for name, matchers := range c.Errors {
		for _, m := range matchers {
			if m.Code == code && (service == "" || strings.HasPrefix(name, service+".")) {
				return true
			}
		}
	}
	if c.others == nil {
		return false
	}
	others, err := c.others()
	return err == nil && others.declared(service, code)
}

// Settings are the ids of all settings of zones that are described.
func Settings(t testing.TB) []string {
	t.Helper()
	c := load(t)
	op, _ := c.find(http.MethodGet, "/zones/x/settings/x")
	var answer struct {
		AnyOf []struct{ Properties struct{ ID any } }
	}
	if err := json.Unmarshal(op.Response, &answer); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range answer.AnyOf {
		all = append(all, words(one.Properties.ID)...)
	}
	slices.Sort(all)
	return all
}

// Choices are the words that a field of a request is described to take.
func Choices(t testing.TB, method, path, field string) []string {
	t.Helper()
	op, _ := load(t).find(method, path)
	var request struct{ Properties map[string]any }
	if err := json.Unmarshal(op.Request, &request); err != nil {
		t.Fatal(err)
	}
	all := words(request.Properties[field])
	slices.Sort(all)
	return all
}

// words are all that a schema allows as a choice.
func words(schema any) []string {
	var all []string
	switch at := schema.(type) {
	case []any:
		for _, v := range at {
			all = append(all, words(v)...)
		}
	case map[string]any:
		choices, _ := at["enum"].([]any)
		for _, c := range choices {
			if text, ok := c.(string); ok {
				all = append(all, text)
			}
		}
		all = append(all, words(at["anyOf"])...)
	}
	return all
}
