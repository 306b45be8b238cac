package causes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/causes"
)

// denied is how AWS refuses a call: the name of the resource, and a new name for each request.
func denied(i int, action string) causes.Error {
	name := fmt.Sprintf("shop-prod-q%02d-x1", i)
	return causes.Error{
		Address: fmt.Sprintf("q%02d", i), Own: []string{fmt.Sprintf("q%02d", i), name},
		Text: fmt.Sprintf("create: operation error SQS: CreateQueue, https response error StatusCode: 403, "+
			"RequestID: 0000-%d, api error AccessDenied: User: arn:aws:iam::1:user/ci is not authorized to perform: "+
			"sqs:%s on resource: arn:aws:sqs:eu-north-1:1:%s (%d attempts)", i, action, name, i+1),
	}
}

// TestOneCause groups the errors of many resources that differ in the names of the resources and of the requests alone.
func TestOneCause(t *testing.T) {
	var errs []causes.Error
	for i := range 12 {
		errs = append(errs, denied(i, "createqueue"))
	}
	errs = append(errs,
		denied(12, "tagqueue"),
		causes.Error{Address: "web", Text: "no code", Hint: "write some"},
		causes.Error{Address: "u1", Text: "blocked: q00 cannot be planned", Follows: "q00"},
		causes.Error{Address: "u2", Text: "blocked: q00 cannot be planned", Follows: "q00"},
	)
	slices.Reverse(errs) // what follows is given first
	all := causes.Group(errs)
	var got []string
	ids := map[string]bool{}
	for _, c := range all {
		got = append(got, fmt.Sprintf("%d %s", len(c.Addresses), c.Follows))
		ids[c.ID] = true
		if c.Shared() != (len(c.Addresses) > 1) {
			t.Errorf("%v is shared: %v", c.Addresses, c.Shared())
		}
	}
	if want := []string{"1 ", "1 ", "12 ", "2 q00"}; !slices.Equal(got, want) || len(ids) != len(all) {
		t.Fatalf("%q, want %q: %+v", got, want, all)
	}
	many := all[2]
	if strings.Contains(many.Error, "shop-prod") || strings.Contains(many.Error, "0000-") || !strings.Contains(many.Error, "sqs:createqueue") {
		t.Errorf("the shared text: %s", many.Error)
	}
	if !strings.Contains(all[1].Error, "write") && !strings.Contains(all[1].Error, "shop-prod-q12-x1") {
		t.Errorf("an error that nothing shares is not changed: %s", all[1].Error)
	}
}

// TestOtherCauses keeps errors apart that say something different.
func TestOtherCauses(t *testing.T) {
	for name, c := range map[string][2]causes.Error{
		"another text":          {{Address: "aa", Text: "no room"}, {Address: "bb", Text: "no name"}},
		"another hint":          {{Address: "aa", Text: "no room", Hint: "1"}, {Address: "bb", Text: "no room", Hint: "2"}},
		"another's name":        {{Address: "aa", Text: "needs aa", Own: []string{"aa"}}, {Address: "bb", Text: "needs aa", Own: []string{"bb"}}},
		"a part of a word":      {{Address: "aa", Text: "baab", Own: []string{"aa"}}, {Address: "bb", Text: "b…b", Own: []string{"bb"}}},
		"a letter is no name":   {{Address: "a", Text: "it is a failure", Own: []string{"a"}}, {Address: "b", Text: "it is b failure", Own: []string{"b"}}},
		"a number of something": {{Address: "aa", Text: "port 80 is taken"}, {Address: "bb", Text: "port 81 is taken"}},
		"what it follows from":  {{Address: "aa", Text: "blocked", Follows: "x"}, {Address: "bb", Text: "blocked", Follows: "y"}},
	} {
		if all := causes.Group(c[:]); len(all) != 2 {
			t.Errorf("%s: %+v", name, all)
		}
	}
	hints := []causes.Error{
		{Address: "aa", Text: "no", Hint: "--allow-delete aa", Own: []string{"aa"}}, {Address: "bb", Text: "no", Hint: "--allow-delete bb", Own: []string{"bb"}},
	}
	if all := causes.Group(hints); len(all) != 1 || all[0].Hint != "--allow-delete …" {
		t.Errorf("hints that name the resource: %+v", all)
	}
	same := []causes.Error{
		{Address: "aa", Text: "read tcp 10.0.0.1:5001->1.2.3.4:443: reset (8 attempts)"},
		{Address: "bb", Text: "read tcp 10.0.0.1:5002->1.2.3.4:443: reset (7 attempts)"},
	}
	if all := causes.Group(same); len(all) != 1 {
		t.Errorf("one broken connection: %+v", all)
	}
}
