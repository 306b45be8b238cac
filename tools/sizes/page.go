package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// The table of docs/ARCHITECTURE.md that says how large the engine is: what joins, decides, reads, executes and edits the state. Its last
// column is today's.
const (
	pageFile  = "docs/ARCHITECTURE.md"
	pageTable = "| `engine`, `engine/plan`, `engine/planner`, `engine/execute` and `engine/edit` |"
)

var pageParts = []string{"./engine", "./engine/plan", "./engine/planner", "./engine/execute", "./engine/edit"}

// writePage writes what is measured into the page.
func writePage(dir string) error {
	path := filepath.Join(dir, pageFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	now, err := measured(dir)
	if err != nil {
		return err
	}
	page, err := withSizes(string(text), now)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// measured returns the last cells of the table's rows.
func measured(dir string) ([]string, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir}, pageParts...)
	if err != nil {
		return nil, err
	}
	var methods, fields object
	var source lines
	var parts []string
	all, back := 0, 0
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return nil, e
		}
		files := written(p)
		for _, o := range objects(p, files) {
			if o.methods > methods.methods || o.methods == methods.methods && o.name < methods.name {
				methods = o
			}
			if o.fields > fields.fields || o.fields == fields.fields && o.name < fields.name {
				fields = o
			}
		}
		before := source.source
		for _, f := range files {
			if err := source.add(p.Fset.Position(f.Package).Filename); err != nil {
				return nil, err
			}
		}
		parts = append(parts, fmt.Sprintf("%s in `%s`", thousands(source.source-before), p.Name))
		a, b := arrowsBetween(p, files)
		all, back = all+a, back+b
	}
	return []string{
		fmt.Sprintf("%d (`%s`)", methods.methods, methods.name),
		fmt.Sprintf("%d (`%s`)", fields.fields, fields.name),
		fmt.Sprintf("%d of %d", back, all),
		fmt.Sprintf("%s: %s", thousands(source.source), strings.Join(parts, ", ")),
		fmt.Sprint((source.long*1000 + source.source/2) / source.source),
	}, nil
}

// thousands is a number with its thousands set apart.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// withSizes returns the page with other last cells in the rows of the table.
func withSizes(page string, cells []string) (string, error) {
	all := strings.SplitAfter(page, "\n")
	for i, line := range all {
		if !strings.HasPrefix(line, pageTable) {
			continue
		}
		for n, cell := range cells {
			at := i + 2 + n // a line of dashes is between
			if at >= len(all) || !strings.HasPrefix(all[at], "| ") {
				return "", fmt.Errorf("%s: the table has %d rows, and not %d", pageFile, n, len(cells))
			}
			row := strings.TrimSuffix(strings.TrimSpace(all[at]), "|")
			all[at] = row[:strings.LastIndex(row, "|")+1] + " " + cell + " |\n"
		}
		return strings.Join(all, ""), nil
	}
	return "", fmt.Errorf("%s: no line begins with %q", pageFile, pageTable)
}
