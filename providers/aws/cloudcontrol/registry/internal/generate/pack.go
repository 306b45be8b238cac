package main

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func pathOf(property string) tree.Path { return tree.Path("").Key(property) }

// pack writes the table: the index, then a piece for each service with one line for each of its types.
func pack(index registry.Index, types map[string]*registry.Type) ([]byte, error) {
	index.Types, index.Pieces = map[string][]string{}, map[string][2]int{}
	lines := map[string]*bytes.Buffer{}
	for _, name := range keys(types) {
		cut := strings.LastIndex(name, "::")
		service := name[:cut]
		if lines[service] == nil {
			lines[service] = &bytes.Buffer{}
		}
		enc := json.NewEncoder(lines[service])
		enc.SetEscapeHTML(false)
		types[name].Shorten()
		if err := enc.Encode(types[name]); err != nil {
			return nil, err
		}
		index.Types[service] = append(index.Types[service], name[cut+2:])
	}
	shared := words32K(lines)
	var pieces []byte
	for _, service := range keys(lines) {
		piece, err := deflate(lines[service].Bytes(), shared)
		if err != nil {
			return nil, err
		}
		index.Pieces[service] = [2]int{len(pieces), len(piece)}
		pieces = append(pieces, piece...)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	var table []byte
	for _, section := range [][]byte{text, shared} {
		packed, err := deflate(section, nil)
		if err != nil {
			return nil, err
		}
		table = append(binary.AppendUvarint(table, uint64(len(packed))), packed...)
	}
	return append(table, pieces...), nil
}

func deflate(data, shared []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriterDict(&out, flate.BestCompression, shared)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

var phrase = regexp.MustCompile(`"[^"]{1,40}":\{[^{}]{0,200}\}|"[^"\\]{4,}"`)

// words32K are phrases that many services share, the most useful last: what a compressor begins with, so that small
// pieces need not spell them out. It looks back 32 KiB at most.
func words32K(lines map[string]*bytes.Buffer) []byte {
	counts := map[string]int{}
	for _, text := range lines {
		seen := map[string]bool{}
		for _, p := range phrase.FindAllString(text.String(), -1) {
			if !seen[p] {
				seen[p] = true
				counts[p]++
			}
		}
	}
	var phrases []string
	for p, n := range counts {
		if n >= 3 {
			phrases = append(phrases, p)
		}
	}
	slices.SortFunc(phrases, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b]*len(b), counts[a]*len(a)), cmp.Compare(a, b))
	})
	var shared string
	for _, p := range phrases {
		if len(shared)+len(p) > 32_000 {
			break
		}
		if !strings.Contains(shared, p) {
			shared = p + "," + shared
		}
	}
	return []byte(shared)
}
