package aws

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"

	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/reconcile"
)

// XMLService is a service that takes calls as XML by methods and paths (the protocol REST XML), and has one server for all regions of
// a partition, as CloudFront has. It is for kinds that need few operations, as [JSONService] is.
type XMLService struct {
	// Name is the service in calls, such as "CloudFront". Its environment variable for an endpoint ends with it.
	Name string
	// Signing is what requests are signed for; Host begins the name of its servers.
	Signing, Host string
}

// XMLCall is one call of an [XMLService].
type XMLCall struct {
	// Operation, such as "GetDistribution".
	Operation string
	// Method and Path of the request. What stands for a name in Path is escaped by the caller.
	Method, Path string
	Query        url.Values
	// Match is the version that the object must have, its ETag. Default: none.
	Match string
	// In is written as an XML document. Default: none, the request has no body.
	In any
	// Out is a pointer to what the answer is read into. Default: none.
	Out any
}

// Call makes one call, and returns the version (ETag) of what it shows, "" for none. It passes all that calls of the SDK's clients
// pass: gates, limits, the check of the account. An error has the service's code.
func (s XMLService) Call(ctx context.Context, cloud reconcile.Cloud, c XMLCall) (version string, err error) {
	r := request{operation: c.Operation, method: c.Method, path: c.Path, query: c.Query, header: map[string]string{}}
	if c.In != nil {
		body, err := xml.Marshal(c.In)
		if err != nil {
			return "", err
		}
		r.body, r.header["Content-Type"] = append([]byte(xml.Header), body...), "text/xml"
	}
	if c.Match != "" {
		r.header["If-Match"] = c.Match
	}
	service := JSONService{Name: s.Name, Signing: s.Signing, Host: s.Host, isGlobal: true, refusal: xmlError}
	header, err := service.make(ctx, cloud, r, xml.Unmarshal, c.Out)
	return header.Get("ETag"), err
}

// globalServer is the one server of a partition, and the region that requests to it are signed for:
// https://docs.aws.amazon.com/general/latest/gr/cf_region.html
func globalServer(host, region string) (server, signed string) {
	if Partition(region) == "aws-cn" {
		return "https://" + host + ".cn-northwest-1." + Domain(region), "cn-northwest-1"
	}
	return "https://" + host + "." + Domain(region), Global(reconcile.Place{Region: region}).Region
}

// xmlError is what a service says of a call that it refused:
// https://smithy.io/2.0/aws/protocols/aws-restxml-protocol.html#operation-error-serialization
func xmlError(_ *http.Response, answer []byte) error {
	var says struct {
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	if xml.Unmarshal(answer, &says) != nil {
		says.Message = ""
	}
	return &smithy.GenericAPIError{Code: cmp.Or(says.Code, "UnknownError"), Message: says.Message}
}
