package asset

import "testing"

func TestIgnoreRules(t *testing.T) {
	rules := ReadIgnore("*.map\n!keep.map\r\n/drafts/\n# no\n")
	for path, want := range map[string]bool{"a.map": true, "b/c.map": true, "keep.map": false, "drafts": false, "a.txt": false} {
		if have := rules.Excludes(path, false, false); have != want {
			t.Errorf("%s: %t, want %t", path, have, want)
		}
	}
	if !rules.Excludes("drafts", true, false) || rules.Excludes("b/drafts", true, false) || !rules.Excludes("b", true, true) {
		t.Error("a rule for folders is for those alone, and where none fits it is as before")
	}
}

// A line of whatever kind is read or passed over.
func FuzzIgnoreRule(f *testing.F) {
	for _, line := range []string{"a/**/b", "[a-z]*", "!x/", "\\", "[", "[]]", "***"} {
		f.Add(line)
	}
	f.Fuzz(func(_ *testing.T, line string) {
		ReadIgnore(line).Excludes("a/b/c", false, false)
	})
}
