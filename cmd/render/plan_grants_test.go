package render

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// TestGrantChanges: of the permissions of a role a plan shows what is added and taken away, however they are ordered, and nothing else is
// taken for permissions.
func TestGrantChanges(t *testing.T) {
	statement := func(sid, on string, actions ...any) map[string]any {
		return map[string]any{"sid": sid, "actions": actions, "resources": []any{on}}
	}
	read, write := statement("r", "arn:a", "s3:GetObject", "s3:ListBucket"), statement("w", "arn:a", "s3:PutObject")
	denied := map[string]any{"effect": "Deny", "actions": []any{"*"}, "resources": []any{"arn:a", "arn:b"}, "conditions": map[string]any{"Bool": map[string]any{}}}
	for name, c := range map[string]struct {
		have, want any
		text       []string
	}{
		"added":             {[]any{read}, []any{write, read}, []string{"+ s3:PutObject on arn:a"}},
		"the first":         {nil, []any{read}, []string{"+ 2 actions on arn:a"}},
		"the last":          {[]any{read}, nil, []string{"- 2 actions on arn:a"}},
		"one for another":   {[]any{read}, []any{write}, []string{"+ s3:PutObject on arn:a", "- 2 actions on arn:a"}},
		"only ordered":      {[]any{read, write}, []any{write, read}, nil},
		"denied":            {[]any{}, []any{denied}, []string{"+ deny * on arn:a, arn:b, on conditions"}},
		"a list of texts":   {[]any{"a"}, []any{"b"}, nil},
		"a raw document":    {map[string]any{"Statement": []any{}}, []any{read}, nil},
		"no actions":        {nil, []any{map[string]any{"sid": "x"}}, nil},
		"nothing, nothing":  {nil, nil, nil},
		"text, for nothing": {"text", nil, nil},
	} {
		var got []string
		for _, g := range grantChanges(engine.Reason{Path: "bindings", Have: c.have, Want: c.want}) {
			got = append(got, g.text)
		}
		if !slices.Equal(got, c.text) {
			t.Errorf("%s: %q, want %q", name, got, c.text)
		}
	}
}
