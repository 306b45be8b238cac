// Command benchtables writes the tables of bench/README.md from the output of go test -bench. It knows the names and the
// units of the benchmarks; it measures nothing.
//
//	go -C tools run ./benchtables -readme ../bench/README.md ../bench/results/20260301T120000Z.txt
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	readme := flag.String("readme", "", "file whose tables are replaced")
	flag.Parse()
	if err := run(*readme, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchtables:", err)
		os.Exit(1)
	}
}

// run reads results, of which later ones replace earlier ones, and rewrites the tables that they have numbers for. A benchmark that
// failed costs its own rows alone: the error names it when the tables are written.
func run(readme string, results []string) error {
	if readme == "" || len(results) == 0 {
		return errors.New("name the file with -readme, and the results")
	}
	all := &measured{}
	for _, name := range results {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := all.read(string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	old, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	text, err := replace(string(old), all.tables())
	if err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	if err := os.WriteFile(readme, []byte(text), 0o644); err != nil || len(all.failed) == 0 {
		return err
	}
	return fmt.Errorf("%w, and the tables have the others: %s", errFailed, strings.Join(all.failed, "; "))
}
