// Command sizes reports what makes Go code hard to hold in one's head: objects with many methods and fields, files of one
// package that depend on each other in circles, long functions and lines, and how much code there is.
//
// It knows types and where they are declared. It judges nothing: the report is read by people. What it finds in the engine
// stands in docs/ARCHITECTURE.md, which -page writes.
//
//	go -C tools run ./sizes -dir ..
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("dir", ".", "folder of the module")
	most := flag.Int("most", 8, "rows of each list")
	page := flag.Bool("page", false, "write the sizes of the engine into "+pageFile+", and report nothing")
	flag.Parse()
	if *page {
		if err := writePage(*dir); err != nil {
			fmt.Fprintln(os.Stderr, "sizes:", err)
			os.Exit(1)
		}
		return
	}
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	if err := report(os.Stdout, *dir, *most, patterns); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// report measures packages and writes the tables.
func report(out io.Writer, dir string, most int, patterns []string) error {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir}, patterns...)
	if err != nil {
		return err
	}
	var rooms, types, functions, arrows table
	perRoom := map[string]*lines{}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return fmt.Errorf("%s: %w", p.PkgPath, e)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
		files := written(p)
		if len(files) == 0 {
			continue
		}
		room := name
		if before, _, nested := strings.Cut(name, "/"); nested && before != "engine" {
			room = before
		}
		if room == "" {
			room = "."
		}
		if perRoom[room] == nil {
			perRoom[room] = &lines{}
		}
		for _, f := range files {
			if err := perRoom[room].add(p.Fset.Position(f.Package).Filename); err != nil {
				return err
			}
		}
		for _, o := range objects(p, files) {
			types.add(o.methods+o.fields, name+"."+o.name, o.methods, o.fields)
		}
		for _, f := range longFunctions(p, files) {
			functions.add(f.lines, f.where, f.name, f.lines)
		}
		if all, back := arrowsBetween(p, files); all > 0 {
			arrows.add(back, name, all, back)
		}
	}
	for room, l := range perRoom {
		rooms.add(l.source, room, l.source, l.long)
	}
	for _, t := range []struct {
		title, head string
		rows        *table
	}{
		{"Lines of hand-written source", "folder\tlines\tover 120 columns", &rooms},
		{"Largest types", "type\tmethods\tfields", &types},
		{"Longest functions", "where\tfunction\tlines", &functions},
		{"Arrows between the files of a package", "package\tarrows\tbackwards", &arrows},
	} {
		if err := t.rows.write(out, t.title, t.head, most); err != nil {
			return err
		}
	}
	return nil
}

// written returns the files of a package that people wrote.
func written(p *packages.Package) []*ast.File {
	return slices.DeleteFunc(slices.Clone(p.Syntax), ast.IsGenerated)
}

// lines counts lines of source, and those over 120 columns with a tab as one.
type lines struct{ source, long int }

func (l *lines) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		l.source++
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 120 {
			l.long++
		}
	}
	return nil
}

// table is a list of rows, the heaviest first.
type table struct{ rows []row }

type row struct {
	weight int
	cells  []string
}

func (t *table) add(weight int, cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row{weight, texts})
}

func (t *table) write(out io.Writer, title, head string, most int) error {
	slices.SortFunc(t.rows, func(a, b row) int {
		if a.weight != b.weight {
			return b.weight - a.weight
		}
		return strings.Compare(a.cells[0], b.cells[0])
	})
	if _, err := fmt.Fprintf(out, "%s\n\n", title); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, r := range t.rows[:min(most, len(t.rows))] {
		fmt.Fprintln(w, strings.Join(r.cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
