package gomodule

import "testing"

// TestReadGoMod reads both forms of each directive, with quotes and comments.
func TestReadGoMod(t *testing.T) {
	mod := readGoMod([]byte(`// comment
module "example.com/a" // here

go 1.26

require example.com/b v1.0.0 // indirect
require (
	example.com/c v1.2.0
	// example.com/not v1.0.0
)
replace example.com/b v1.0.0 => ../b
replace (
	example.com/c => "/with space/c"
)
tool example.com/t
`))
	if mod.path != "example.com/a" || mod.goVersion != "1.26" || len(mod.required) != 2 || mod.versions["example.com/c"] != "v1.2.0" ||
		mod.replaced["example.com/b"] != "../b" || mod.replaced["example.com/c"] != "/with space/c" {
		t.Errorf("%+v", mod)
	}
}
