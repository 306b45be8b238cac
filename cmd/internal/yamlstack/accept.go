package yamlstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ErrNotChanged is matched by the error about a change that cannot be written into the text of a stack.
var ErrNotChanged = errors.New("the value cannot be changed in place")

// WithProp returns the text of a file of a stack in which a prop of a resource has another value, or with absent none. The
// rest of the text stays as it is.
func WithProp(text, address string, path tree.Path, value any, absent bool) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", err
	}
	if len(doc.Content) == 0 {
		return "", fmt.Errorf("%w: the file declares nothing", ErrNotChanged)
	}
	e := editor{lines: strings.SplitAfter(text, "\n")}
	_, resources := entryOf(doc.Content[0], "resources")
	_, resource := entryOf(resources, address)
	if resource == nil {
		return "", fmt.Errorf("%w: the file does not declare %s by that name", ErrNotChanged, address)
	}
	err := e.change(resource, slices.Concat([]tree.Step{{Key: "props", Index: -1}}, path.Steps()), value, absent)
	return strings.Join(e.lines, ""), err
}

// entryOf finds a key of a mapping, and its value.
func entryOf(of *yaml.Node, name string) (key, value *yaml.Node) {
	if of == nil || of.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(of.Content); i += 2 {
		if of.Content[i].Value == name {
			return of.Content[i], of.Content[i+1]
		}
	}
	return nil, nil
}

// editor is a text that is changed, by lines with their ends.
type editor struct{ lines []string }

// change finds the path below a node and changes what is there.
func (e *editor) change(at *yaml.Node, steps []tree.Step, value any, absent bool) error {
	for i, step := range steps {
		if at.Kind == yaml.AliasNode {
			return fmt.Errorf("%w: line %d is an alias of an anchor", ErrNotChanged, at.Line)
		}
		last := i == len(steps)-1
		switch {
		case step.Any:
			return fmt.Errorf("%w: the path names no single value", ErrNotChanged)
		case step.Index >= 0:
			if at.Kind != yaml.SequenceNode || step.Index >= len(at.Content) || last && absent {
				return fmt.Errorf("%w: line %d: entries of lists come and go as a whole", ErrNotChanged, at.Line)
			}
			at = at.Content[step.Index]
			if last {
				return e.replace(nil, nil, at, value)
			}
		default:
			key, next := entryOf(at, step.Key)
			switch {
			case at.Kind != yaml.MappingNode && at.Tag != "!!null":
				return fmt.Errorf("%w: line %d holds a value of another form, such as a reference", ErrNotChanged, at.Line)
			case next == nil && absent:
				return fmt.Errorf("%w: the program does not declare it", ErrNotChanged)
			case next == nil:
				return e.insert(at, step.Key, nested(steps[i+1:], value))
			case last && absent:
				return e.remove(at, key)
			case last:
				return e.replace(at, key, next, value)
			}
			at = next
		}
	}
	return fmt.Errorf("%w: the path is empty", ErrNotChanged)
}

// nested is a value below the keys of a path.
func nested(steps []tree.Step, value any) any {
	for _, step := range slices.Backward(steps) {
		value = map[string]any{step.Key: value}
	}
	return value
}

// replace writes another value in the place of a node; of is the mapping that has it under the key, nil for a list.
func (e *editor) replace(of, key, node *yaml.Node, value any) error {
	if strings.Contains(node.Value, "${") {
		return fmt.Errorf("%w: line %d: it is %s", ErrNotChanged, node.Line, node.Value)
	}
	line := e.lines[node.Line-1]
	from := byteAt(line, node.Column)
	if to, ok := endOfFlow(line, from, node); ok && node.Anchor == "" && !strings.HasPrefix(line[from:], "!") {
		e.lines[node.Line-1] = line[:from] + textOf(value) + line[to:]
		return nil
	}
	if of == nil || of.Style&yaml.FlowStyle != 0 {
		return fmt.Errorf("%w: line %d: the value is written over several lines", ErrNotChanged, node.Line)
	}
	first, end := key.Line-1, e.end(key)
	head := e.lines[first][:byteAt(e.lines[first], key.Column)]
	e.lines = slices.Replace(e.lines, first, end, head+keyText(key.Value)+": "+textOf(value)+"\n")
	return nil
}

// remove takes an entry out of a mapping.
func (e *editor) remove(of, key *yaml.Node) error {
	if of.Style&yaml.FlowStyle != 0 || len(of.Content) == 2 {
		return fmt.Errorf("%w: line %d: take %s out by hand", ErrNotChanged, key.Line, key.Value)
	}
	e.lines = slices.Delete(e.lines, key.Line-1, e.end(key))
	return nil
}

// insert adds an entry to a mapping, as its last one.
func (e *editor) insert(of *yaml.Node, name string, value any) error {
	text := keyText(name) + ": " + textOf(value)
	switch {
	case of.Kind == yaml.MappingNode && of.Style&yaml.FlowStyle != 0:
		line := e.lines[of.Line-1]
		to, ok := endOfFlow(line, byteAt(line, of.Column), of)
		if !ok {
			return fmt.Errorf("%w: line %d: the mapping is written over several lines", ErrNotChanged, of.Line)
		}
		if len(of.Content) > 0 {
			text = ", " + text
		}
		inner := strings.TrimRight(line[:to-1], " ")
		e.lines[of.Line-1] = inner + text + line[to-1:]
		return nil
	case of.Kind != yaml.MappingNode || len(of.Content) == 0:
		return fmt.Errorf("%w: line %d has no entries to follow", ErrNotChanged, of.Line)
	}
	first, last := of.Content[0], of.Content[len(of.Content)-2]
	end := e.end(last)
	if !strings.HasSuffix(e.lines[end-1], "\n") {
		e.lines[end-1] += "\n"
	}
	e.lines = slices.Insert(e.lines, end, strings.Repeat(" ", first.Column-1)+text+"\n")
	return nil
}

// end is the line after the entry of a key in block form.
func (e *editor) end(key *yaml.Node) int {
	end := key.Line
	for i := key.Line; i < len(e.lines); i++ {
		text := strings.TrimRight(e.lines[i], " \r\n")
		inner := strings.TrimLeft(text, " ")
		indent := len(text) - len(inner)
		switch {
		case inner == "" || strings.HasPrefix(inner, "#"):
			continue
		case indent < key.Column-1 || indent == key.Column-1 && !strings.HasPrefix(inner, "- "):
			return end
		}
		end = i + 1
	}
	return end
}

// byteAt is the offset of a column, which counts characters from 1.
func byteAt(line string, column int) int {
	at := 0
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// endOfFlow is the end of a value that is written on one line: a scalar, or a list or mapping in brackets.
func endOfFlow(line string, from int, node *yaml.Node) (end int, ok bool) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Style == 0:
		end = from + len(node.Value)
		return end, end <= len(line) && line[from:end] == node.Value
	case node.Kind == yaml.ScalarNode && node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return endOfQuoted(line, from)
	case node.Style&yaml.FlowStyle == 0:
		return 0, false
	}
	depth := 0
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '\'', '"':
			if !strings.ContainsAny(line[i-1:i], " [{,:") {
				continue // a letter of a plain word
			}
			next, ok := endOfQuoted(line, i)
			if !ok {
				return 0, false
			}
			i = next - 1
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return 0, false
}

// endOfQuoted is the end of a text in quotes.
func endOfQuoted(line string, from int) (end int, ok bool) {
	quote := line[from]
	for i := from + 1; i < len(line); i++ {
		switch {
		case quote == '"' && line[i] == '\\':
			i++
		case line[i] != quote:
		case quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		default:
			return i + 1, true
		}
	}
	return 0, false
}

// plainText matches texts that YAML reads back as texts, wherever they stand.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// textOf writes a value as YAML has it, on one line. What would be a reference stays text.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		escaped := strings.ReplaceAll(v, "$", "$$")
		switch strings.ToLower(v) {
		case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		default:
			if plainText.MatchString(v) || durationText.MatchString(v) {
				return escaped
			}
		}
		return quoted(escaped)
	case map[string]any:
		var entries []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			entries = append(entries, keyText(name)+": "+textOf(v[name]))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case []any:
		var entries []string
		for _, x := range v {
			entries = append(entries, textOf(x))
		}
		return "[" + strings.Join(entries, ", ") + "]"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// durationText matches durations and sizes, which no reader takes for numbers.
var durationText = regexp.MustCompile(`^[1-9][0-9]*[A-Za-z]+([0-9]+[A-Za-z]+)*$`)

func keyText(name string) string {
	if plainText.MatchString(name) {
		return name
	}
	return quoted(name)
}

func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || !strconv.IsPrint(r) && r != ' ':
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
