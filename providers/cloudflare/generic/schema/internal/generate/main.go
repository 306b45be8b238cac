// Command generate makes the table of package schema from the descriptions that tools/cloudflare.sh fetches: operations.json
// and others.json, of the npm package @distilled.cloud/cloudflare (Apache-2.0). It prints what it made, and what it left out.
package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
)

func main() {
	from := flag.String("from", "", "folder with operations.json and others.json")
	out := flag.String("out", "table.bin", "the table to write")
	flag.Parse()
	if err := run(*from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// described is one operation as the descriptions have it.
type described struct {
	Service, Name, Method, Path string

	Params            []struct{ Name, Path, Query, Header string }
	Request, Response map[string]any
	Inside            string
}

func run(from, out string) error {
	var all []*described
	for _, file := range []string{"operations.json", "others.json"} {
		text, err := os.ReadFile(filepath.Join(from, file)) //nolint:gosec // the caller's own
		if err != nil {
			return err
		}
		var read struct{ Operations []*described }
		if err := json.Unmarshal(text, &read); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, read.Operations...)
	}
	types, unserved := convert(all)
	table, err := pack(schema.Index{Unserved: unserved, Source: source(from)}, types)
	if err != nil {
		return err
	}
	report(types, unserved, len(table))
	return os.WriteFile(out, table, 0o644) //nolint:gosec // it is source
}

// source is the package that the descriptions are from, with its version.
func source(from string) string {
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	text, _ := os.ReadFile(filepath.Join(from, "package-lock.json")) //nolint:gosec // the caller's own
	_ = json.Unmarshal(text, &lock)
	name := "@distilled.cloud/cloudflare"
	return name + " " + lock.Packages["node_modules/"+name].Version
}

func pack(index schema.Index, types map[string]*schema.Type) ([]byte, error) {
	index.Types, index.Pieces = map[string][]string{}, map[string][2]int{}
	lines := map[string]*bytes.Buffer{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		group, noun, _ := strings.Cut(strings.TrimPrefix(name, schema.Prefix), ".")
		if lines[group] == nil {
			lines[group] = &bytes.Buffer{}
		}
		enc := json.NewEncoder(lines[group])
		enc.SetEscapeHTML(false)
		if err := enc.Encode(types[name]); err != nil {
			return nil, err
		}
		index.Types[group] = append(index.Types[group], noun)
	}
	var pieces []byte
	for _, group := range slices.Sorted(maps.Keys(lines)) {
		piece, err := deflate(lines[group].Bytes())
		if err != nil {
			return nil, err
		}
		index.Pieces[group] = [2]int{len(pieces), len(piece)}
		pieces = append(pieces, piece...)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	packed, err := deflate(text)
	if err != nil {
		return nil, err
	}
	return slices.Concat(binary.AppendUvarint(nil, uint64(len(packed))), packed, pieces), nil
}

func deflate(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

func report(types map[string]*schema.Type, unserved map[string]string, size int) {
	shapes := map[schema.Shape]int{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		t := types[name]
		shapes[t.Shape]++
		fmt.Println(name, t.Shape, t.Path, t.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(unserved)) {
		fmt.Println("not served:", name, unserved[name])
	}
	fmt.Println(len(types), "types,", shapes, len(unserved), "not served,", size, "bytes")
}
