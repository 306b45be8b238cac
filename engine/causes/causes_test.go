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

// TestCommonReason groups what fails for a reason that no resource is at fault for, whatever was called and whatever else is said of it.
func TestCommonReason(t *testing.T) {
	expired := func(addr, text, hint string) causes.Error {
		return causes.Error{
			Address: addr, Own: []string{addr}, Text: text, Hint: hint, Common: "the session has expired", CommonHint: "sign in",
		}
	}
	all := causes.Group([]causes.Error{
		expired("q1", "SQS: GetQueueUrl: expired", "sign in"),
		expired("t1", "SNS: GetTopicAttributes: the token has expired", "sign in"),
		{Address: "x1", Text: "denied"},
		expired("b1", "S3: GetBucketTagging of b1: expired", "is it yours? sign in"),
	})
	if len(all) != 2 || !slices.Equal(all[0].Addresses, []string{"q1", "t1", "b1"}) || all[0].Error != "the session has expired" || all[0].Hint != "sign in" {
		t.Errorf("%+v", all)
	}
	alone := causes.Group([]causes.Error{expired("q1", "SQS: GetQueueUrl: expired", "sign in at the page")})
	if alone[0].Error != "SQS: GetQueueUrl: expired" || alone[0].Hint != "sign in at the page" || alone[0].ID != all[0].ID {
		t.Errorf("the error of one resource is shown whole, and has the same cause: %+v", alone)
	}
	hosts := []causes.Error{
		{Address: "b1", Own: []string{"b1-x"}, Text: "Get b1-x", Common: "b1-x.s3.example:443: refused"},
		{Address: "b2", Own: []string{"b2-y"}, Text: "Get b2-y", Common: "b2-y.s3.example:443: refused"},
		{Address: "q1", Text: "Get q1", Common: "sqs.example:443: refused"},
	}
	if all := causes.Group(hosts); len(all) != 2 || all[0].Error != "….s3.example:443: refused" {
		t.Errorf("the name of a bucket in the name of its server: %+v", all)
	}
	known := []causes.Error{{Address: "a1", Text: "one", Cause: "c1"}, {Address: "b1", Text: "two", Cause: "c1", Common: "both"}}
	if all := causes.Group(known); len(all) != 1 || all[0].ID != "c1" || all[0].Error != "both" {
		t.Errorf("a cause that is known already: %+v", all)
	}
}
