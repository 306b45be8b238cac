package awstest

import (
	"net/http"
	"strconv"
)

// policies are what CloudWatch Logs says of the policies of a group that nobody has given any. moto knows neither these
// reads nor the calls that would set one. What is beyond it is for tests of their own; see [Amend].
func policies(c Call) (shown Fields, known bool) {
	switch c.Operation {
	case "GetDataProtectionPolicy":
		return Fields{}, true
	case "DescribeIndexPolicies":
		return Fields{"indexPolicies": []any{}}, true
	}
	return nil, false
}

// logGroups forwards a call to CloudWatch Logs, or answers it where moto cannot.
func (p passing) logGroups(r *http.Request, c Call) Answer {
	shown, known := policies(c)
	if !known {
		return p.amend(r, c, p.send(r, c, r.Method, *r.URL, c.Body))
	}
	body := encoded(shown)
	return Answer{Status: http.StatusOK, Header: http.Header{
		"Content-Type": {"application/x-amz-json-1.1"}, "Content-Length": {strconv.Itoa(len(body))},
	}, Body: body}
}
