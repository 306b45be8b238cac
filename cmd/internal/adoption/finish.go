package adoption

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// finishedLine is what adopt --finish prints with --json.
type finishedLine struct {
	Type string `json:"type"` // "finish"
	File string `json:"file"`
	// Finished are the addresses whose options.adopt was removed; ByHand those whose author must do it.
	Finished []string `json:"finished"`
	ByHand   []string `json:"byHand"`
	// Waiting are those that no deploy has adopted yet.
	Waiting []string `json:"waiting"`
}

// adoptFinish removes options.adopt of what state holds from the file that declares it.
func adoptFinish(o *session.Opener, c *cli.Context) error {
	s, src, err := o.Begin(c, 0)
	if err != nil {
		return err
	}
	if s, err = o.Evaluated(c, s, src, 0); err != nil || s == nil {
		return err
	}
	rows, err := s.Engine.Rows(c.Context, s.Stage, false)
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, r := range rows {
		held[r.Address] = slices.ContainsFunc(r.Generations, func(g engine.GenerationView) bool { return g.Identity != "" && !g.Intent })
	}
	line := finishedLine{Type: "finish", File: o.Place(src.File()), Finished: []string{}, ByHand: []string{}, Waiting: []string{}}
	byEntry := map[string][]string{} // the addresses of each entry of the file
	ready := map[string]bool{}
	for _, r := range s.Graph.Resources {
		if r.Options.Adopt == "" {
			continue
		}
		entry, _, _ := strings.Cut(r.Address, "[")
		byEntry[entry] = append(byEntry[entry], r.Address)
		if entry != r.Address {
			byEntry[r.Address] = []string{r.Address}
		}
		if _, known := ready[entry]; !known {
			ready[entry] = true
		}
		if ready[r.Address] = held[r.Address]; !held[r.Address] {
			ready[entry] = false
			line.Waiting = append(line.Waiting, r.Address)
		}
	}
	if src.Self || src.GoMain || src.Graph || src.Stdin {
		for _, r := range s.Graph.Resources {
			if held[r.Address] && r.Options.Adopt != "" {
				line.ByHand = append(line.ByHand, r.Address)
			}
		}
		return sayFinished(o, line)
	}
	text, err := localfile.ReadFile(c.Context, src.File())
	if err != nil {
		return err
	}
	rest, done := withoutAdopt(text, func(entry string) bool { return ready[entry] && len(byEntry[entry]) > 0 })
	for _, entry := range done {
		line.Finished = append(line.Finished, byEntry[entry]...)
	}
	for _, r := range s.Graph.Resources {
		if held[r.Address] && r.Options.Adopt != "" && !slices.Contains(line.Finished, r.Address) && !slices.Contains(line.ByHand, r.Address) {
			line.ByHand = append(line.ByHand, r.Address)
		}
	}
	if len(done) > 0 {
		if err := files.Rewrite(src.File(), rest); err != nil {
			return err
		}
	}
	return sayFinished(o, line)
}

// sayFinished says what was done, and what is left to do.
func sayFinished(o *session.Opener, line finishedLine) error {
	if o.WroteJSON(line) {
		return nil
	}
	fmt.Fprintf(o.Out, "%s: removed options.adopt of %d resources\n", line.File, len(line.Finished))
	for _, address := range line.ByHand {
		fmt.Fprintf(o.Err, "remove it by hand: options.adopt of %s\n", address)
	}
	for _, address := range line.Waiting {
		fmt.Fprintf(o.Err, "%s is not in state: `athanor deploy` adopts it\n", address)
	}
	return nil
}

// withoutAdopt is YAML without options.adopt of the entries that are finished, line by line, so that comments and
// order stay. An entry that is written in one line stays, and is not among those that are done.
func withoutAdopt(text []byte, finished func(entry string) bool) (rest []byte, done []string) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return text, nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	cut, replaced := map[int]bool{}, map[int]string{}
	_, resources := member(doc.Content[0], "resources")
	if resources == nil || resources.Kind != yaml.MappingNode {
		return text, nil
	}
	for i := 0; i+1 < len(resources.Content); i += 2 {
		name, entry := resources.Content[i].Value, resources.Content[i+1]
		if !finished(name) {
			continue
		}
		key, options := member(entry, "options")
		if options == nil || options.Kind != yaml.MappingNode {
			continue
		}
		adopt, value := member(options, "adopt")
		if adopt == nil || !inLines(lines, key, options, adopt, value) {
			continue
		}
		drops := map[int]bool{adopt.Line: true}
		if len(options.Content) == 2 {
			drops[key.Line] = true
		}
		replaces := map[int]string{}
		if each := "${each.value.adopt}"; value.Value == each && !eachAdopt(lines, entry, drops, replaces) {
			continue
		}
		for n := range drops {
			cut[n] = true
		}
		maps.Copy(replaced, replaces)
		done = append(done, name)
	}
	var b bytes.Buffer
	for n, line := range lines {
		switch with, ok := replaced[n+1]; {
		case ok:
			b.WriteString(with)
		case !cut[n+1]:
			b.WriteString(line)
		}
	}
	return b.Bytes(), done
}

// eachAdopt drops the identities in the entries of a for. False: they are not written a line each.
func eachAdopt(lines []string, entry *yaml.Node, drops map[int]bool, replaces map[int]string) bool {
	_, all := member(entry, "for")
	if all == nil || all.Kind != yaml.MappingNode || all.Style&yaml.FlowStyle != 0 {
		return false
	}
	for i := 0; i+1 < len(all.Content); i += 2 {
		key, values := all.Content[i], all.Content[i+1]
		if values.Kind != yaml.MappingNode {
			return false
		}
		adopt, value := member(values, "adopt")
		if adopt == nil || !inLines(lines, key, values, adopt, value) {
			return false
		}
		drops[adopt.Line] = true
		if len(values.Content) == 2 {
			line := strings.TrimRight(lines[key.Line-1], "\r\n")
			replaces[key.Line] = line + " {}\n"
		}
	}
	return true
}

// inLines reports whether a key of a mapping and its value take one line of their own.
func inLines(lines []string, outer, mapping, key, value *yaml.Node) bool {
	return mapping.Style&yaml.FlowStyle == 0 && outer.Line < key.Line && value.Kind == yaml.ScalarNode && value.Line == key.Line &&
		value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && value.Anchor == "" &&
		strings.HasPrefix(strings.TrimLeft(lines[key.Line-1], " "), "adopt:") && (key.Line >= len(lines) || !strings.Contains(value.Value, "\n"))
}

// member is a key of a mapping with its value, nil where it is not there.
func member(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}
