package cloudflaretest

import (
	"fmt"
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
	return false
}
