package terraform

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed types.txt
var typesText string

// typeLine is a line of the table of types.
type typeLine struct {
	typ string
	// kind is that of the resource; "" for types that fold or have none.
	kind, identity string
	// rename are props by attributes, both as paths; units those of attributes.
	rename map[string]string
	units  map[string]string
	ignore map[string]bool
	known  map[string]string
	// given are attributes of a type of CloudFormation, as templates.
	given map[string]string
	into  string // what is not mapped otherwise goes into this prop
	hook  string

	parent                     string
	childFields, parentFields  []string
	needless, reason           string // declared by other means; has no kind
	values                     []string
	fold, noKind, other, plain bool
	// generic: the type is a kind of the registry's, whose properties have its names and are all meant.
	generic bool
}

// table reads the table of types.
func table() (map[string]*typeLine, error) { return tableOf("types.txt", typesText) }

// tableOf reads the table that a file has.
func tableOf(file, content string) (map[string]*typeLine, error) {
	all := map[string]*typeLine{}
	for n, text := range strings.Split(content, "\n") {
		words := strings.Fields(text)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		line, err := parseLine(words)
		if err == nil && all[line.typ] != nil {
			err = fmt.Errorf("%s stands there twice", line.typ)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
		}
		if file != "types.txt" {
			line.reserve()
		}
		all[line.typ] = line
	}
	return all, nil
}

func parseLine(words []string) (*typeLine, error) {
	if len(words) < 3 {
		return nil, fmt.Errorf("%s: want TYPE KIND IDENTITY", words[0])
	}
	l := &typeLine{typ: words[0], rename: map[string]string{}, units: map[string]string{}, ignore: map[string]bool{}, known: map[string]string{}, given: map[string]string{}}
	switch words[1] {
	case "=":
		l.other = true
		if hook, ok := strings.CutPrefix(words[2], "!"); ok {
			l.hook, l.values = hook, words[3:]
			return l, nil
		}
		l.needless = strings.Join(words[2:], " ")
		return l, nil
	case "x":
		l.noKind, l.reason = true, strings.Join(words[2:], " ")
		return l, nil
	case ">":
		return l, l.parseFold(words[2:])
	}
	if hook, ok := strings.CutPrefix(words[1], "!"); ok { // a function makes resources of it
		l.hook, l.kind = hook, words[2]
		return l, nil
	}
	l.kind, l.identity, l.plain = words[1], words[2], true
	for _, word := range words[3:] {
		if err := l.rule(word); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *typeLine) parseFold(words []string) error {
	if len(words) != 3 || !strings.HasPrefix(words[2], "!") {
		return fmt.Errorf("%s: want > PARENT child=parent !name", l.typ)
	}
	child, parent, ok := strings.Cut(words[1], "=")
	if !ok {
		return fmt.Errorf("%s: want child=parent, have %s", l.typ, words[1])
	}
	l.fold, l.parent, l.hook = true, words[0], words[2][1:]
	l.childFields, l.parentFields = strings.Split(child, "+"), strings.Split(parent, "+")
	return nil
}

func (l *typeLine) rule(word string) error {
	switch word[0] {
	case '-':
		l.ignore[word[1:]] = true
	case '+':
		name, template, ok := strings.Cut(word[1:], "=")
		if !ok {
			return fmt.Errorf("%s: want +Attribute=TEXT, have %s", l.typ, word)
		}
		l.given[name] = template
	case '^':
		l.into = word[1:]
	case '!':
		l.hook = word[1:]
	case '@':
		name, template, ok := strings.Cut(word[1:], "=")
		if !ok {
			return fmt.Errorf("%s: want @Attribute=TEXT, have %s", l.typ, word)
		}
		l.known[name] = template
	default:
		prop, attr, ok := strings.Cut(word, "<")
		if !ok {
			return fmt.Errorf("%s: %s is no rule", l.typ, word)
		}
		attr, unit, _ := strings.Cut(attr, ":")
		for one := range strings.SplitSeq(attr, "?") {
			l.rename[one] = prop
			if unit != "" {
				l.units[one] = unit
			}
		}
	}
	return nil
}

// filled fills a template with attributes. It is "" where one is missing.
func filled(template string, i *instance) string {
	var b strings.Builder
	for template != "" {
		before, rest, ok := strings.Cut(template, "{")
		b.WriteString(before)
		if !ok {
			break
		}
		names, after, _ := strings.Cut(rest, "}")
		value := ""
		for name := range strings.SplitSeq(names, "?") {
			if value = i.text(name); value != "" {
				break
			}
		}
		if value == "" {
			return ""
		}
		b.WriteString(value)
		template = after
	}
	return b.String()
}
