package cmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeployedFlags: the files that run the service elsewhere call it with flags that it has.
func TestDeployedFlags(t *testing.T) {
	flags := map[string]bool{}
	for _, flag := range (&app{}).serveCommand().Flags {
		for _, name := range flag.Names() {
			flags["--"+name] = true
		}
	}
	for _, name := range []string{"compose.yaml", "kubernetes.yaml"} {
		file, err := os.Open(filepath.Join("..", "service", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		used := 0
		for d := yaml.NewDecoder(file); ; {
			var document any
			if err := d.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, args := range serveArguments(document) {
				for _, argument := range args {
					flag, _, _ := strings.Cut(argument, "=")
					if used++; !flags[flag] {
						t.Errorf("%s: serve has no %s", name, flag)
					}
				}
			}
		}
		if used < 5 {
			t.Errorf("%s calls serve with %d flags", name, used)
		}
	}
}

// serveArguments are what follows serve in the lists of a document.
func serveArguments(node any) [][]string {
	var all [][]string
	switch node := node.(type) {
	case map[string]any:
		for _, value := range node {
			all = append(all, serveArguments(value)...)
		}
	case []any:
		var texts []string
		for _, value := range node {
			all = append(all, serveArguments(value)...)
			if text, ok := value.(string); ok {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 && texts[0] == "serve" {
			all = append(all, texts[1:])
		}
	}
	return all
}
