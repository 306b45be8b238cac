package awstest

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// What the description of a service says about an attribute that is text: "An integer from 60 seconds (1 minute) to 1,209,600
// seconds", "Valid values are <code>1024</code> to <code>1048576</code>", "Default: 345,600 (4 days)", "By default X is set to
// <code>PassThrough</code>", "Valid values are <code>messageGroup</code> and <code>queue</code>".
var (
	saidBounds  = regexp.MustCompile(`(?:from|between|Valid values are) (?:<code>)?([\d,]+)(?:</code>)?[^.;0-9<]*(?:\([^)]*\))? ?(?:to|and) (?:<code>)?([\d,]+)`)
	saidDefault = regexp.MustCompile(`(?i)default(?: is|:| <code>\w+</code> is set to) (?:<code>)?([\d,]+|\w+)`)
	saidWords   = regexp.MustCompile(`Valid values are <code>([A-Za-z]+)</code> and <code>([A-Za-z]+)</code>`)
)

// conformText holds the bounds, defaults and words of props to what the documentation says of the attributes that they become, and
// returns how many it has compared.
func conformText[P any](t testing.TB, table *kind.Table[P], says string) int {
	t.Helper()
	if err := table.Validate(); err != nil {
		t.Fatal(err)
	}
	fields, err := props.Fields(reflect.TypeFor[P](), nil)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, a := range table.Attributes() {
		name, _, _ := strings.Cut(a.Wire, ",")
		f := fieldAt(fields, a.Path)
		_, text, found := strings.Cut(says, "<code>"+name+"</code> –")
		if f == nil || !found {
			continue
		}
		text, _, _ = strings.Cut(text, "</li>")
		if said := saidBounds.FindStringSubmatch(text); said != nil {
			compared++
			if least, most := plain(f.Min), plain(f.Max); least != digits(said[1]) || most != digits(said[2]) {
				t.Errorf("%s is from %q to %q, %s from %s to %s", a.Path, f.Min, f.Max, name, said[1], said[2])
			}
		}
		if said := saidDefault.FindStringSubmatch(text); said != nil {
			compared++
			if plain(f.Default) != digits(said[1]) {
				t.Errorf("%s is %q by default, %s %s", a.Path, f.Default, name, said[1])
			}
		}
		if said := saidWords.FindStringSubmatch(text); said != nil && f.Type != "bool" {
			compared++
			if words := said[1:]; !slices.Equal(slices.Sorted(slices.Values(f.Enum)), slices.Sorted(slices.Values(words))) {
				t.Errorf("%s is one of %q, %s one of %q", a.Path, f.Enum, name, words)
			}
		}
	}
	return compared
}

func digits(s string) string { return strings.ReplaceAll(s, ",", "") }

// plain is a bound as a number without its unit, seconds or bytes, and any other text as it is.
func plain(s string) string {
	if span, err := token.ParseDuration(s); err == nil {
		return strconv.FormatInt(int64(span.Seconds()), 10)
	}
	if size, err := props.ParseSize(s); err == nil {
		return strconv.FormatInt(int64(size), 10)
	}
	return s
}
