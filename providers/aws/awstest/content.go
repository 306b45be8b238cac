package awstest

import (
	"net/http"
	"strings"
)

// contentOperations are those of CloudFront by method and path, with * for an id. Its requests carry no name.
var contentOperations = map[string]string{
	"GET distribution":                   "ListDistributions",
	"POST distribution":                  "CreateDistribution",
	"GET distribution/*":                 "GetDistribution",
	"GET distribution/*/config":          "GetDistributionConfig",
	"PUT distribution/*/config":          "UpdateDistribution",
	"DELETE distribution/*":              "DeleteDistribution",
	"POST distribution/*/invalidation":   "CreateInvalidation",
	"GET distribution/*/invalidation":    "ListInvalidations",
	"GET distribution/*/invalidation/*":  "GetInvalidation",
	"GET origin-access-control":          "ListOriginAccessControls",
	"POST origin-access-control":         "CreateOriginAccessControl",
	"GET origin-access-control/*":        "GetOriginAccessControl",
	"PUT origin-access-control/*/config": "UpdateOriginAccessControl",
	"DELETE origin-access-control/*":     "DeleteOriginAccessControl",
	"GET tagging":                        "ListTagsForResource",
	"POST tagging Tag":                   "TagResource",
	"POST tagging Untag":                 "UntagResource",
	"POST distribution WithTags":         "CreateDistributionWithTags",
}

// contentOperation reads what a request to CloudFront asks for; "METHOD /path" where the table does not know it.
func contentOperation(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[min(1, len(parts)):] // the version
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "*"
	}
	asked := r.Method + " " + strings.Join(parts, "/")
	if query := r.URL.Query(); query.Has("WithTags") {
		asked += " WithTags"
	} else if operation := query.Get("Operation"); operation != "" {
		asked += " " + operation
	}
	if name, ok := contentOperations[asked]; ok {
		return name
	}
	return r.Method + " " + r.URL.Path
}
