// Package samples has the Go of the documentation's pages, so that it compiles and is evaluated: a function for each sample, under the
// name of its page. A test holds every sample of a page to the body of its function.
//
// It knows what the pages show, and what they leave out of it. It does not know the tutorials and instructions, which a test types.
package samples

import (
	"slices"

	"github.com/athanor-dev/athanor"
)

// Sample is the Go that stands on a page in one block.
type Sample struct {
	// Page is the name of the page in the folder docs.
	Page string
	// Declare is the program.
	Declare func(*athanor.Stack) error
}

// All are the samples, by page and in the order in which they stand there.
func All() []Sample {
	return slices.Concat(
		on("authoring.md", Shop, authoring2, authoring3, authoring4, authoring5, authoring6, authoring7, authoring8, authoring9, authoring10,
			authoring11, authoring12, authoring13, authoring14, authoring15, authoring16),
		on("aws.md", aws1, aws2, aws3, aws4, aws5),
		on("cloudflare-types.md", cloudflareTypes1),
		on("cloudflare.md", cloudflare1),
	)
}

// on are the samples of one page.
func on(page string, declare ...func(*athanor.Stack) error) []Sample {
	var all []Sample
	for _, d := range declare {
		all = append(all, Sample{page, d})
	}
	return all
}
