package wrangler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/athanor-dev/athanor/adopt/from"
)

// decoded reads a configuration as JSON with comments, or as TOML.
func decoded(f from.File) (map[string]any, error) {
	var doc map[string]any
	if strings.HasSuffix(f.Name, ".toml") {
		if err := toml.Unmarshal(f.Content, &doc); err != nil {
			if where, ok := errors.AsType[toml.ParseError](err); ok {
				return nil, fmt.Errorf("line %d: %s", where.Position.Line, where.Message)
			}
			return nil, err
		}
		tables(doc)
		return doc, nil
	}
	text, err := uncommented(f.Content)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more follows the object")
	}
	return doc, nil
}

// tables makes lists of all lists of tables, which the decoder of TOML gives a type of their own.
func tables(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = tables(x)
		}
		return v
	case []map[string]any:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = tables(x)
		}
		return all
	case []any:
		for i, x := range v {
			v[i] = tables(x)
		}
	}
	return v
}

var errComment = errors.New("a comment does not end")

// uncommented makes JSON of JSON with comments and commas before closing brackets: they become spaces, so that places of errors
// stay.
func uncommented(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	out := bytes.Clone(text)
	comma := -1 // the place of a comma after which nothing has come
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			comma = -1
		case bytes.HasPrefix(text[i:], []byte("//")):
			end := bytes.IndexByte(text[i:], '\n')
			if end < 0 {
				end = len(text) - i
			}
			blank(i, i+end)
			i += end - 1
		case bytes.HasPrefix(text[i:], []byte("/*")):
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return nil, errComment
			}
			blank(i, i+end+4)
			i += end + 3
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out, nil
}
