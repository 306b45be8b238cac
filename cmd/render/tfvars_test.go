package render

import "testing"

func TestTFVars(t *testing.T) {
	got := TFVars(map[string]any{
		"url": "https://x/?a=${b}&c=%{d}$", "n": int64(3), "big": 1.5, "yes": true, "none": nil, "odd": "a\"b\\c\nd\te\x1b[31m\u202e",
		"list": []any{"a", int64(1)}, "map": map[string]any{"a b": "c", "${k}": []any{}, "in": map[string]any{"x": map[string]any{}}},
	})
	want := `big = 1.5
list = ["a", 1]
map = {
  "$${k}" = []
  "a b" = "c"
  "in" = {
    "x" = {}
  }
}
n = 3
none = null
odd = "a\"b\\c\nd\te\u001B[31m\u202E"
url = "https://x/?a=$${b}&c=%%{d}$"
yes = true
`
	if got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
}
