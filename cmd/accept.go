package cmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// acceptance is what `drift --accept --json` prints: how the program becomes what exists.
type acceptance struct {
	Type    string         `json:"type"` // "accept"
	Address string         `json:"address"`
	Source  string         `json:"source,omitempty"`
	Changes []acceptedProp `json:"changes"`
	// Diff changes the file, for patch; "" where the program is in Go.
	Diff string `json:"diff,omitempty"`
	// Notes say what is left to do by hand.
	Notes []string `json:"notes,omitempty"`
}

// acceptedProp is a prop that was changed outside athanor.
type acceptedProp struct {
	Path     tree.Path `json:"path"`
	Deployed any       `json:"deployed"`
	Value    any       `json:"value"`
	Secret   bool      `json:"secret,omitempty"`
}

// acceptDrift prints the change to the program that accepts what was changed outside athanor of a resource. It writes nothing.
func acceptDrift(o *session.Opener, c *cli.Context) error {
	address := c.String("accept")
	s, err := o.OpenStage(c)
	if err != nil || s == nil {
		return err
	}
	at := slices.IndexFunc(s.Graph.Resources, func(r engine.Resource) bool { return r.Address == address })
	if at < 0 {
		return noAddress(s, address)
	}
	s.Options.Target = []string{address}
	p, err := s.Engine.PlanDrift(c.Context, s.Stage, s.Graph, s.Options)
	if err != nil {
		return err
	}
	if err := p.BlockedError(p.Uncompared()); err != nil {
		return o.Refused(err)
	}
	source := s.Graph.Resources[at].Source
	if deletedOutside(p, address) {
		return cli.Hint(fmt.Errorf("%s was deleted outside athanor: there is no value to accept", address),
			cmp.Or(o.Place(source), "the program")+" declares it: take the declaration out and deploy, or deploy to create it again")
	}
	accepted := acceptance{Type: "accept", Address: address, Source: o.Place(source), Changes: changedOutside(p, address)}
	if len(accepted.Changes) > 0 {
		if err := intoProgram(s, &accepted, source); err != nil {
			return err
		}
	}
	showAcceptance(o, accepted)
	return nil
}

// noAddress is the error about an address that a program does not declare.
func noAddress(s *session.Session, address string) error {
	names := make([]string, len(s.Graph.Resources))
	for i := range names {
		names[i] = s.Graph.Resources[i].Address
	}
	err := fmt.Errorf("stack %s declares no resource %s", s.Stage.Stack, address)
	return cli.HintNearest(err, address, names, "`athanor drift` lists what was changed outside athanor")
}

// deletedOutside reports whether a drift plan would create an object again.
func deletedOutside(p *engine.Plan, address string) bool {
	return slices.ContainsFunc(p.Actions, func(a engine.Planned) bool { return a.Address == address && a.Action == engine.Create })
}

// changedOutside are the props of a resource that were changed outside athanor, those included that the next deploy would
// change back anyway.
func changedOutside(p *engine.Plan, address string) []acceptedProp {
	var changes []acceptedProp
	add := func(reasons []engine.Reason) {
		for _, r := range reasons {
			if r.Source != engine.ByWorld {
				continue
			}
			change := acceptedProp{Path: r.Path, Deployed: r.Want, Value: r.Have, Secret: r.Secret}
			if r.Secret {
				change.Deployed, change.Value = reconcile.Mask, reconcile.Mask
			}
			changes = append(changes, change)
		}
	}
	for _, planned := range p.Actions {
		if planned.Address == address {
			add(planned.Reasons)
		}
	}
	for _, left := range p.Left {
		if left.Address == address {
			add(left.Reasons)
		}
	}
	return changes
}

// yamlPlace matches the place of a declaration in YAML.
var yamlPlace = regexp.MustCompile(`^(.+\.ya?ml):\d+(:\d+)?$`)

// intoProgram completes an acceptance with the change to the text of the program, where that is YAML.
func intoProgram(s *session.Session, accepted *acceptance, source string) error {
	found := yamlPlace.FindStringSubmatch(source)
	if found == nil {
		return nil
	}
	file := found[1]
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Graph.Dir, file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(data)
	for _, change := range accepted.Changes {
		if change.Secret {
			accepted.Notes = append(accepted.Notes, string(change.Path)+" is a secret, which is not shown: change it where its value comes from")
			continue
		}
		next, err := yamlstack.WithProp(text, accepted.Address, change.Path, change.Value, change.Value == nil)
		if err != nil {
			accepted.Notes = append(accepted.Notes, fmt.Sprintf("%s: %v", change.Path, err))
			continue
		}
		text = next
	}
	accepted.Diff = diffOf(s.Opener.Place(file), string(data), text)
	return nil
}

// diffOf is the difference of two texts of a file as patch takes it, with the lines from the first to the last that differ.
func diffOf(file, before, after string) string {
	if before == after {
		return ""
	}
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	same := 0
	for same < min(len(a), len(b))-from && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	a, b = a[from:len(a)-same], b[from:len(b)-same]
	start := func(lines []string) int {
		if len(lines) == 0 {
			return from // after that line
		}
		return from + 1
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", file, file, start(a), len(a), start(b), len(b))
	write := func(sign string, lines []string) {
		for _, line := range lines {
			out.WriteString(sign + line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write("-", a)
	write("+", b)
	return out.String()
}

// showAcceptance prints the change to the program.
func showAcceptance(o *session.Opener, accepted acceptance) {
	if o.AsJSON {
		if accepted.Changes == nil {
			accepted.Changes = []acceptedProp{}
		}
		o.JSON(accepted)
		return
	}
	if len(accepted.Changes) == 0 {
		fmt.Fprintf(o.Err, "%s was not changed outside athanor\n", accepted.Address)
		return
	}
	if accepted.Diff != "" {
		fmt.Fprint(o.Out, render.Escaped(accepted.Diff))
	} else {
		for _, change := range accepted.Changes {
			value := "(take it out)"
			if change.Value != nil {
				value = render.Plain(change.Value)
			}
			fmt.Fprintf(o.Out, "%s: %s: %s: %s\n", cmp.Or(accepted.Source, "the program"), accepted.Address, change.Path, render.Escaped(value))
		}
	}
	for _, note := range accepted.Notes {
		fmt.Fprintf(o.Err, "note: %s\n", note)
	}
	fmt.Fprintln(o.Err, "nothing was written; change the program as shown, then: athanor plan")
}
