package awstest

import (
	"net/http"
	"strings"
)

// dnsOperations are those of Route 53 by method and path, with * for an id. Its requests carry no name.
var dnsOperations = map[string]string{
	"POST hostedzone":                   "CreateHostedZone",
	"GET hostedzone":                    "ListHostedZones",
	"GET hostedzonesbyname":             "ListHostedZonesByName",
	"GET hostedzone/*":                  "GetHostedZone",
	"POST hostedzone/*":                 "UpdateHostedZoneComment",
	"DELETE hostedzone/*":               "DeleteHostedZone",
	"GET hostedzone/*/rrset":            "ListResourceRecordSets",
	"POST hostedzone/*/rrset":           "ChangeResourceRecordSets",
	"POST hostedzone/*/associatevpc":    "AssociateVPCWithHostedZone",
	"POST hostedzone/*/disassociatevpc": "DisassociateVPCFromHostedZone",
	"GET change/*":                      "GetChange",
	"GET tags/hostedzone/*":             "ListTagsForResource",
	"POST tags/hostedzone":              "ListTagsForResources",
	"POST tags/hostedzone/*":            "ChangeTagsForResource",
}

// dnsOperation reads what a request to Route 53 asks for; "METHOD /path" where the table does not know it.
func dnsOperation(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	parts = parts[min(1, len(parts)):] // the version
	for i := 1; i < len(parts); i++ {
		if parts[i-1] == "hostedzone" || parts[i-1] == "change" {
			parts[i] = "*"
		}
	}
	if name, ok := dnsOperations[r.Method+" "+strings.Join(parts, "/")]; ok {
		return name
	}
	return r.Method + " " + r.URL.Path
}
