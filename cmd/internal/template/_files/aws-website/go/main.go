// Command STACKNAME is a static website on AWS: the files of the folder site in a private bucket of S3, and a distribution of
// CloudFront in front of it. The first deploy takes minutes, until all edge locations know the distribution.
//
//	curl "$(athanor output url)"
//	curl "$AWS_ENDPOINT_URL/$(athanor output bucket)/index.html"    # on an emulator
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/aws/website"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

func stack(s *athanor.Stack) error {
	site := website.NewWebsite(s, "site", website.WebsiteProps{
		Files:        "site",
		NotFound:     "404.html",
		CacheControl: "max-age=60",
		// With a domain whose zone is at Route 53, the website gets a certificate and records there:
		// Domains: []string{"www.example.com"}, HostedZoneID: "Z0123456789ABC",
	})
	s.Output("url", site.URL)
	s.Output("bucket", site.Bucket)
	return nil
}
