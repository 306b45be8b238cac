package cmd

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// testSuite is the comparison of a stage in the format of JUnit, which CI systems show.
type testSuite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Cases    []testCase `xml:"testcase"`
}

// testCase is one resource.
type testCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *testFailure `xml:"failure,omitempty"`
	Error   *testFailure `xml:"error,omitempty"`
}

type testFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeReport writes a drift plan as a JUnit report.
func writeReport(file string, p *engine.Plan) error {
	text, err := xml.MarshalIndent(suiteOf(p), "", "  ")
	if err != nil {
		return err
	}
	if err := files.Replace(file, append([]byte(xml.Header), append(text, '\n')...), 0o600); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}

// suiteOf is a drift plan as a suite: a resource that drifted is a failure, and one that could not be compared an error.
func suiteOf(p *engine.Plan) testSuite {
	suite := testSuite{Name: p.Stack + "/" + p.Stage}
	uncompared := map[string]bool{}
	for _, a := range p.Uncompared() {
		uncompared[a.Address] = true
	}
	byWorld := map[string][]engine.Reason{}
	for _, l := range p.Left {
		for _, r := range l.Reasons {
			if r.Source == engine.ByWorld {
				byWorld[l.Address] = append(byWorld[l.Address], r)
			}
		}
	}
	for _, a := range p.Actions {
		one := testCase{Class: printable(a.Kind), Name: printable(a.Address)}
		reasons := append(byWorld[a.Address], a.Reasons...)
		switch {
		case uncompared[a.Address]:
			one.Error = &testFailure{Message: printable(a.Problem), Text: printable(a.Hint)}
			suite.Errors++
		case a.Action == engine.Create:
			one.Failure = &testFailure{Message: driftMessage(a)}
			suite.Failures++
		case a.Action != engine.Unchanged || len(reasons) > 0:
			one.Failure = &testFailure{Message: driftMessage(a), Text: differences(reasons)}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// driftMessage says in a sentence how a resource drifted.
func driftMessage(a engine.Planned) string {
	switch {
	case a.Action == engine.Create:
		return "deleted outside athanor"
	case a.Problem != "":
		return "changed outside athanor; not repaired: " + printable(a.Problem)
	}
	return "changed outside athanor"
}

// differences lists what was deployed and what there is, a path on each line.
func differences(reasons []engine.Reason) string {
	var b strings.Builder
	for _, r := range reasons {
		have, want := r.Have, r.Want
		if r.Secret {
			have, want = reconcile.Mask, reconcile.Mask
		}
		fmt.Fprintf(&b, "%s: %s → %s\n", printable(string(r.Path)), valueText(want), valueText(have))
	}
	return b.String()
}

// valueText is a value on one line, for people.
func valueText(v any) string {
	if v == nil {
		return "(none)"
	}
	return printable(strings.ReplaceAll(render.Plain(v), "\n", "\\n"))
}

// printable is a text without what XML cannot hold.
func printable(text string) string { return render.Escaped(text) }
