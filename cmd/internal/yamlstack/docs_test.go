package yamlstack_test

import (
	"go/parser"
	gotoken "go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page on authoring stays true: its YAML loads, and its Go is Go. Blocks that need a cloud's kinds are
// marked, and only read as YAML.
func TestAuthoringPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/authoring.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(go|yaml|yaml aws)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 20 {
		t.Fatalf("%d blocks: the page has changed its form", len(blocks))
	}
	for _, b := range blocks {
		switch language, text := b[1], b[2]; language {
		case "yaml":
			if _, err := loadConfig(t, text, "dev", nil); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		case "yaml aws":
			_, err := loadConfig(t, text, "dev", nil)
			for _, line := range lines(t, err) {
				if !strings.Contains(line, "unknown kind") && !strings.Contains(line, "there is no provider") && !strings.Contains(line, "nothing is declared") {
					t.Errorf("%s in\n%s", line, text)
				}
			}
		case "go":
			if !strings.HasPrefix(text, "func ") {
				text = "func _() {\n" + text + "}\n"
			}
			if _, err := parser.ParseFile(gotoken.NewFileSet(), "page.go", "package p\n"+text, 0); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		}
	}
}
