package awstest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
)

// amend does what the cloud does in one call and the emulator leaves out: CreateBucket takes tags
// (CreateBucketConfiguration.Tags, since November 2025), which moto drops. A process that is killed right after the
// creation would find a bucket without an owner tag, which the real S3 does not show.
func (p passing) amend(r *http.Request, c Call, a Answer) Answer {
	if c.Name() != "S3.CreateBucket" || a.Status/100 != 2 || len(c.Body) == 0 {
		return a
	}
	var in struct {
		Tags struct{ Tag []struct{ Key, Value string } }
	}
	if err := xml.Unmarshal(c.Body, &in); err != nil {
		return unreachable(fmt.Errorf("read CreateBucket: %w", err))
	}
	if len(in.Tags.Tag) == 0 {
		return a
	}
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Tagging"`
		Tags    any      `xml:"TagSet>Tag"`
	}{Tags: in.Tags.Tag})
	if err != nil {
		return unreachable(err)
	}
	target := *r.URL
	target.Scheme, target.Host, target.RawQuery = p.origin.Scheme, p.origin.Host, "tagging"
	req, err := http.NewRequestWithContext(p.life, http.MethodPut, target.String(), bytes.NewReader(body))
	if err != nil {
		return unreachable(err)
	}
	req.Host = r.Host
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Moto-Account-Id"} {
		req.Header[name] = r.Header[name]
	}
	if c.Account != "" {
		req.Header.Set("X-Moto-Account-Id", c.Account)
	}
	res, err := p.transport.RoundTrip(req)
	if err != nil {
		return unreachable(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return unreachable(fmt.Errorf("tag a new bucket: %s", res.Status))
	}
	return a
}
