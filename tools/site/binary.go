package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
)

// helpFile has what every command prints of itself; a test of the command holds it to that.
const helpFile = "cmd/athanor/testdata/surface/help.txt"

// fromBinary makes a page of each command and each kind.
func fromBinary(root fs.FS, binary string) ([]*page, error) {
	commands, err := commandPages(root)
	if err != nil {
		return nil, err
	}
	kinds, err := kindPages(root, binary)
	return append(commands, kinds...), err
}

// commandPages are the commands, those below another on its page.
func commandPages(root fs.FS) (pages []*page, err error) {
	text, err := fs.ReadFile(root, helpFile)
	if err != nil {
		return nil, err
	}
	var current *page
	for part := range strings.SplitSeq("\n"+string(text), "\n$ athanor ") {
		line, help, _ := strings.Cut(part, "\n")
		words := strings.Fields(strings.TrimSuffix(line, "--help"))
		if len(words) == 0 {
			continue // the help of athanor itself
		}
		if current == nil || current.slug != words[0] {
			current = &page{section: "commands", slug: words[0], title: "athanor " + words[0], weight: len(pages) + 1, summary: usage(help)}
			pages = append(pages, current)
		}
		if len(words) > 1 {
			current.body += "\n## athanor " + strings.Join(words, " ") + "\n"
		}
		current.body += "\n```text\n" + strings.TrimSpace(help) + "\n```\n"
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s has no command", helpFile)
	}
	return pages, nil
}

// usage is what the first line of a help says a command does.
func usage(help string) string {
	first, _, _ := strings.Cut(help, "\n")
	_, does, found := strings.Cut(first, ": ")
	if !found {
		return ""
	}
	return strings.ToUpper(does[:1]) + does[1:] + "."
}

type field struct {
	Path, Type, Doc, Default, Min, Max   string
	Required, Secret, TakesRef, Replaces bool
	MaxItems, MaxLen                     int
	Enum                                 []string
	Fields                               []field
}

type kind struct {
	Kind, Doc          string
	Count              int // of a family of kinds
	Props, Attributes  []field
	Calls, Permissions []string
	Logs, InDev        bool

	example example
}

// kindPages are the kinds of the binary. A family has a page that says how to list its types.
func kindPages(root fs.FS, binary string) (pages []*page, err error) {
	programs, err := programsOf(root)
	if err != nil {
		return nil, err
	}
	list, err := exec.Command(binary, "kinds", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("athanor kinds: %w", said(err))
	}
	lines := bufio.NewScanner(bytes.NewReader(list))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var k kind
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			return nil, err
		}
		if !k.family() {
			whole, err := exec.Command(binary, "kinds", k.Kind, "--json").Output()
			if err != nil {
				return nil, fmt.Errorf("athanor kinds %s: %w", k.Kind, said(err))
			}
			if err := json.Unmarshal(whole, &k); err != nil {
				return nil, err
			}
			if k.example, err = exampleOf(root, k.Kind, programs); err != nil {
				return nil, err
			}
		}
		pages = append(pages, &page{
			section: "kinds", slug: strings.ToLower(strings.Trim(k.Kind, "*:.")), title: k.Kind, weight: len(pages) + 1,
			summary: firstSentence(k.Doc), body: k.markdown(),
		})
	}
	return pages, lines.Err()
}

// family reports a page that stands for all kinds whose names begin alike.
func (k *kind) family() bool { return strings.HasSuffix(k.Kind, "*") }

func said(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}

func (k *kind) markdown() string {
	var out strings.Builder
	out.WriteString("\n" + escape(k.Doc) + "\n")
	if k.family() && k.Count == 0 {
		return out.String() // they depend on the stack
	}
	if k.family() {
		fmt.Fprintf(&out, "\nThese are %d types: `athanor kinds '%s'` lists them, and `athanor kinds NAME` documents one.\n", k.Count, k.Kind)
		return out.String()
	}
	if k.InDev {
		out.WriteString("\nRuns in `athanor dev` alone.\n")
	}
	if k.Logs {
		out.WriteString("\nHas logs: `athanor logs ADDRESS`.\n")
	}
	k.example.write(&out)
	if paths := replacing(k.Props); len(paths) > 0 {
		out.WriteString("\n## What replaces\n\nA change of one of these makes a new object: `" + strings.Join(paths, "` `") + "`. Every other prop changes in place.\n")
	}
	if len(k.Props) > 0 {
		out.WriteString("\n## Props\n")
		writeFields(&out, k.Props)
	}
	if len(k.Attributes) > 0 {
		out.WriteString("\n## Attributes\n")
		writeFields(&out, k.Attributes)
	}
	if len(k.Permissions) > 0 {
		out.WriteString("\n## Permissions\n\n`" + strings.Join(k.Permissions, "` `") + "`\n")
	}
	if len(k.Calls) > 0 {
		out.WriteString("\n## Calls\n\n`" + strings.Join(k.Calls, "` `") + "`\n")
	}
	return out.String()
}

// replacing are the paths of the props whose change replaces the object.
func replacing(fields []field) (paths []string) {
	for _, f := range fields {
		if f.Replaces {
			paths = append(paths, f.Path)
			continue
		}
		paths = append(paths, replacing(f.Fields)...)
	}
	return paths
}

func writeFields(out *strings.Builder, fields []field) {
	for _, f := range fields {
		fmt.Fprintf(out, "\n### `%s`\n\n", f.Path)
		out.WriteString(strings.Join(f.facts(), " · ") + "\n")
		if f.Doc != "" {
			out.WriteString("\n" + escape(f.Doc) + "\n")
		}
		writeFields(out, f.Fields)
	}
}

// facts are what a prop's line says, in the order of athanor kinds.
func (f *field) facts() []string {
	facts := []string{"*" + f.Type + "*"}
	add := func(is bool, format string, args ...any) {
		if is {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	add(f.Required, "**required**")
	add(f.Default != "", "default: %s", escape(f.Default))
	add(f.Replaces, "**changing it replaces**")
	add(f.Secret, "secret")
	add(len(f.Enum) > 0, "`%s`", strings.Join(f.Enum, "` or `"))
	add(f.Min != "", "at least %s", f.Min)
	add(f.Max != "", "at most %s", f.Max)
	add(f.MaxItems > 0, "at most %d entries", f.MaxItems)
	add(f.MaxLen > 0, "at most %d characters", f.MaxLen)
	return facts
}

// escape makes text that is no Markdown into Markdown that shows it.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "#", `\#`, "|", `\|`).Replace(text)
}
