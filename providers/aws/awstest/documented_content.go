package awstest

import (
	"encoding/xml"
	"net/http"
	"regexp"
	"strings"
	"time"
)

var (
	contentID     = regexp.MustCompile(`<Id>([^<]+)</Id>`)
	contentStatus = regexp.MustCompile(`<Status>[A-Za-z]+</Status>`)
)

// contentOf is the distribution, or the invalidation, that a call to CloudFront is about, "" for others.
func contentOf(c Call) string {
	uri, _, _ := strings.Cut(c.URI, "?")
	parts := strings.Split(strings.Trim(uri, "/"), "/")
	switch {
	case c.Service != "CloudFront" || len(parts) < 3 || parts[1] != "distribution":
		return ""
	case len(parts) == 5 && parts[3] == "invalidation":
		return parts[4]
	}
	return parts[2]
}

// noteContent remembers since when edge locations do not know a change yet, and which records prove domains. The caller holds the lock.
func (p *player) noteContent(c Call, a *Answer, at time.Time) {
	switch c.Name() {
	case "CloudFront.CreateDistribution", "CloudFront.CreateDistributionWithTags", "CloudFront.UpdateDistribution", "CloudFront.CreateInvalidation":
		if id := contentID.FindSubmatch(a.Body); id != nil && p.Pending > 0 {
			p.edges[string(id[1])] = at
			*a = rewritten(*a, contentStatus.ReplaceAll(a.Body, []byte("<Status>InProgress</Status>")))
		}
	case "Route53.ChangeResourceRecordSets":
		var in struct {
			Changes []struct {
				Action string
				Name   string `xml:"ResourceRecordSet>Name"`
			} `xml:"ChangeBatch>Changes>Change"`
		}
		if xml.Unmarshal(c.Body, &in) != nil {
			return
		}
		for _, change := range in.Changes {
			if change.Action == "DELETE" {
				delete(p.proofs, hostOf(change.Name))
			} else {
				p.proofs[hostOf(change.Name)] = at
			}
		}
	}
}

func hostOf(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// spreading reports whether edge locations do not know yet what is under an identity. The caller holds the lock.
func (p *player) spreading(id string) bool {
	since, ok := p.edges[id]
	return ok && time.Since(since) < p.Pending
}

// content is an answer with the status of a distribution, an invalidation or a certificate.
func (p *player) content(c Call, a Answer) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.Status/100 != 2 || p.Pending == 0 {
		return a
	}
	switch c.Name() {
	case "CloudFront.GetDistribution", "CloudFront.GetInvalidation":
		if !p.spreading(contentOf(c)) {
			return a
		}
		p.waited[c.Name()]++
		return rewritten(a, contentStatus.ReplaceAll(a.Body, []byte("<Status>InProgress</Status>")))
	case "ACM.DescribeCertificate":
		out := jsonOf(a.Body)
		certificate, _ := out["Certificate"].(map[string]any)
		if certificate["Status"] != "ISSUED" || p.proved(certificate) {
			return a
		}
		p.waited[c.Name()]++
		certificate["Status"] = "PENDING_VALIDATION"
		return rewritten(a, encoded(out))
	}
	return a
}

// proved reports whether all records that a certificate asks for have been there for long enough.
func (p *player) proved(certificate map[string]any) bool {
	options, _ := certificate["DomainValidationOptions"].([]any)
	for _, o := range options {
		option, _ := o.(map[string]any)
		record, _ := option["ResourceRecord"].(map[string]any)
		since, ok := p.proofs[hostOf(text(record["Name"]))]
		if !ok || time.Since(since) < p.Pending {
			return false
		}
	}
	return true
}

// undisabled is the refusal to delete a distribution that edge locations serve. The caller holds the lock.
func (p *player) undisabled(c Call) (failure, bool) {
	if c.Name() != "CloudFront.DeleteDistribution" || !p.spreading(contentOf(c)) {
		return failure{}, false
	}
	return failure{
		status: http.StatusConflict, code: "DistributionNotDisabled", message: "The distribution you are trying to delete has not been disabled.",
	}, true
}
