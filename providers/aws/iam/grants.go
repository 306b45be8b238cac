package iam

import (
	"context"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// grantsPolicy is the inline policy that holds the bindings.
const grantsPolicy = "athanor-grants"

// compareBindings states the statements, by what they mean together. They go away as a policy when there are none.
func compareBindings(d *roleDiff, want RoleProps, live liveRole) {
	var declared, there any
	document, written := live.inline[grantsPolicy]
	if written {
		there = aws.Document(document)
		if statements, ok := granted(document); ok {
			there = statements
		}
	}
	if len(want.Bindings) > 0 {
		declared = want.Bindings
		if tree.Equal(aws.CanonicalPolicy(aws.Policy(want.Bindings...)), aws.CanonicalPolicy(document)) {
			there = declared
		}
	}
	reconcile.Value(d, "bindings", declared, there, kind.Set("PutRolePolicy", func(ctx context.Context, u kind.Update[liveRole]) error {
		if len(want.Bindings) == 0 {
			return dropInline(ctx, clientOf(u.Cloud), u.Live.attrs.Name, grantsPolicy)
		}
		return putInline(ctx, clientOf(u.Cloud), u.Live.attrs.Name, grantsPolicy, aws.Policy(want.Bindings...))
	}))
}

func checkBindings(statements []aws.Statement, wrong func(tree.Path, string)) {
	sids := map[string]bool{}
	for i, s := range statements {
		at := tree.Path("bindings").Index(i)
		switch {
		case s.Principals != nil, s.Everybody:
			wrong(at, "a grant has no principals: it is the role that is meant")
		case len(s.Actions) == 0, len(s.Resources) == 0:
			wrong(at, "a grant needs actions and resources")
		case s.Sid != "" && sids[s.Sid]:
			wrong(at.Key("sid"), "another one has it")
		}
		sids[s.Sid] = true
		for operator := range s.Conditions {
			if !operators().MatchString(operator) && !token.Has(operator) {
				wrong(at.Key("conditions").Key(operator), "want an operator such as StringEquals")
			}
		}
	}
}

// operators are those of conditions: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
var operators = props.Pattern(`^(For(AllValues|AnyValue):)?(String(Not)?(Equals(IgnoreCase)?|Like)|Arn(Not)?(Equals|Like)|(Not)?IpAddress|Bool|BinaryEquals|` +
	`(Numeric|Date)((Not)?Equals|(Less|Greater)Than(Equals)?))(IfExists)?$|^Null$`)

// granted is a policy as the statements that a binding can hold; ok is false for any other.
func granted(document string) (statements []aws.Statement, ok bool) {
	plain, _ := aws.Document(document).(map[string]any)
	list, isList := plain["Statement"].([]any)
	if !isList {
		list = []any{plain["Statement"]}
	}
	for _, x := range list {
		fields, isMap := x.(map[string]any)
		if !isMap {
			return nil, false
		}
		s, ok := statementOf(fields)
		if !ok {
			return nil, false
		}
		statements = append(statements, s)
	}
	slices.SortStableFunc(statements, func(a, b aws.Statement) int { return strings.Compare(a.Sid, b.Sid) })
	return statements, true
}

func statementOf(fields map[string]any) (s aws.Statement, ok bool) {
	ok = true
	for name, v := range fields {
		var fits bool
		switch name {
		case "Sid":
			s.Sid, fits = v.(string)
		case "Effect":
			if s.Effect, fits = v.(string); s.Effect == "Allow" {
				s.Effect = ""
			}
		case "Action":
			s.Actions, fits = texts(v)
		case "Resource":
			s.Resources, fits = texts(v)
		case "Condition":
			s.Conditions, fits = tests(v)
		}
		ok = ok && fits
	}
	return s, ok
}

func tests(v any) (map[string]map[string][]string, bool) {
	operators, ok := v.(map[string]any)
	all := map[string]map[string][]string{}
	for operator, v := range operators {
		keys, isMap := v.(map[string]any)
		ok = ok && isMap
		all[operator] = map[string][]string{}
		for key, v := range keys {
			values, fits := texts(v)
			all[operator][key], ok = values, ok && fits
		}
	}
	return all, ok
}

// texts are one text or several.
func texts(v any) ([]string, bool) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i, x := range list {
		text, ok := x.(string)
		if !ok {
			return nil, false
		}
		out[i] = text
	}
	return out, true
}
