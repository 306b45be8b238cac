// Command STACKNAME is a static website on AWS: the files of the folder site in a bucket of S3 that everybody may read,
// over HTTP.
//
//	curl "$(athanor output url)"
//	curl "$AWS_ENDPOINT_URL/$(athanor output bucket)/index.html"    # on an emulator
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/random"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

// files are the files of the folder site, by the keys of their addresses. A new file is added here.
var files = map[string]string{"index": "index.html", "missing": "404.html", "style": "style.css"}

func stack(s *athanor.Stack) error {
	suffix := random.NewID(s, "suffix", random.IDProps{Bytes: new(4)})
	name := s.Name() + "-" + s.Stage() + "-" + suffix.Hex // names of buckets are shared with all accounts of AWS
	site := s3.NewBucket(s, "site", s3.BucketProps{
		Name:    name,
		Website: &s3.Website{IndexDocument: "index.html", ErrorDocument: "404.html"},
		// The site is public: the policy is allowed, access control lists are not.
		PublicAccessBlock: &s3.PublicAccessBlock{BlockPublicPolicy: new(false), RestrictPublicBuckets: new(false)},
		Policy:            aws.Policy(aws.Statement{Everybody: true, Actions: []string{"s3:GetObject"}, Resources: []string{"arn:aws:s3:::" + name + "/*"}}),
	})
	for key, file := range files {
		s3.NewObject(s, "file["+key+"]", s3.ObjectProps{
			Bucket: site.Name, Key: file, Source: "site/" + file, CacheControl: "max-age=60",
		})
	}
	s.Output("url", "http://"+site.WebsiteEndpoint)
	s.Output("bucket", site.Name)
	return nil
}
