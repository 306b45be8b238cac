package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/docs"
)

// docsInput is what an agent asks the documentation.
type docsInput struct {
	Query string `json:"query,omitempty" jsonschema:"words to look for, such as rotate the key of a stage"`
	Page  string `json:"page,omitempty" jsonschema:"the name of one page, which is returned whole, such as howto/stages.md"`
}

// mostSections is how many sections a search returns.
const mostSections = 5

// readDocs returns a page, or the sections that answer a query; without either it lists the pages.
func readDocs(_ context.Context, in docsInput) (agentOutput, error) {
	switch {
	case in.Page != "" && in.Query != "":
		return agentOutput{}, errors.New("give a query or a page, not both")
	case in.Page != "":
		text, err := docs.Page(in.Page)
		if err != nil {
			return agentOutput{}, fmt.Errorf("%q: %w; without arguments this tool lists the pages", in.Page, err)
		}
		return agentOutput{Output: forAgent(text)}, nil
	case in.Query == "":
		return agentOutput{Output: strings.Join(docs.Pages(), "\n")}, nil
	}
	found := docs.Search(in.Query, mostSections)
	if len(found) == 0 {
		return agentOutput{Messages: "no section has one of these words; without arguments this tool lists the pages"}, nil
	}
	var out strings.Builder
	for _, s := range found {
		fmt.Fprintf(&out, "## %s (%s)\n\n%s\n\n", s.Heading, s.Page, strings.TrimSpace(s.Text))
	}
	return agentOutput{Output: forAgent(out.String())}, nil
}
