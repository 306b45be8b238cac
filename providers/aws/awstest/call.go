package awstest

import (
	"net/http"
	"net/url"
	"strings"
)

// protocol is a way to spell operations and errors.
type protocol int

const (
	restJSON protocol = iota
	restXML
	jsonRPC
	query
	registryHTTP
)

// onWire is what else is read of a call.
type onWire struct {
	protocol protocol
	action   url.Values // parameters of the query protocol
}

// on is what else was read of a call.
func on(c Call) onWire {
	w, _ := c.Wire.(onWire)
	return w
}

// classify reads what a request asks for.
func classify(r *http.Request, body []byte, fallback string) Call {
	var on onWire
	signed, isSigned := readScope(r)
	c := Call{
		Account: fallback,
		Region:  signed.region,
		Method:  r.Method,
		URI:     r.URL.RequestURI(),
		Body:    body,
	}
	if isSigned {
		c.Account = accountOf(signed.key)
	}
	service := signed.service
	target := r.Header.Get("X-Amz-Target")
	on.action = queryAction(r, body)
	switch {
	case isRegistry(r):
		on.protocol = registryHTTP
		service, c.Region = "ecr", "us-east-1"
		c.Operation, c.Resource = registryOperation(r)
	case target != "":
		on.protocol = jsonRPC
		_, c.Operation, _ = strings.Cut(target, ".")
	case on.action.Get("Action") != "" && service != "s3":
		on.protocol = query
		c.Operation = on.action.Get("Action")
		if !isSigned {
			service = "sts" // the only one of them with unsigned calls
		}
	case service == "route53":
		on.protocol = query // it spells errors as those do
		c.Operation = dnsOperation(r)
	case service == "cloudfront":
		on.protocol = query // as Route 53
		c.Operation = contentOperation(r)
	case service == "s3" || !isSigned:
		on.protocol = restXML
		service = "s3"
		c.Resource = strings.Trim(r.URL.Path, "/")
		c.Operation = objectStorageOperation(r)
	default:
		on.protocol = restJSON
		c.Operation = r.Method + " " + r.URL.Path
	}
	c.Service = serviceName(service)
	c.Wire = on
	c.Mutating = !reads(c)
	c.Constant = c.Service == "STS"
	return c
}

// scope is the credential scope of a signature.
type scope struct{ key, region, service string }

// readScope reads it from the header, or from the query of a presigned URL.
func readScope(r *http.Request) (scope, bool) {
	_, credential, found := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !found {
		credential = r.URL.Query().Get("X-Amz-Credential")
	}
	credential, _, _ = strings.Cut(credential, ",")
	part := strings.Split(strings.TrimSpace(credential), "/")
	if len(part) != 5 {
		return scope{}, false
	}
	return scope{key: part[0], region: part[2], service: part[3]}, true
}

// accountOf is the inverse of [AccessKey]; "" for other keys.
func accountOf(key string) string {
	account, found := strings.CutPrefix(key, "AKIA")
	if !found || len(account) != 12 || strings.Trim(account, "0123456789") != "" {
		return ""
	}
	return account
}

// queryAction returns the parameters of a call of the query protocol.
func queryAction(r *http.Request, body []byte) url.Values {
	if r.Method == http.MethodGet {
		return r.URL.Query()
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return nil
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil
	}
	return values
}

// serviceName returns how AWS writes the service that signs as id.
func serviceName(id string) string {
	switch id {
	case "s3", "sqs", "sns", "sts", "iam", "kms", "ec2", "ssm", "ecr", "ecs", "acm":
		return strings.ToUpper(id)
	case "tagging":
		return "Tagging"
	case "lambda":
		return "Lambda"
	case "dynamodb":
		return "DynamoDB"
	case "cloudcontrolapi":
		return "CloudControl"
	case "logs":
		return "Logs"
	case "route53":
		return "Route53"
	case "cloudfront":
		return "CloudFront"
	case "secretsmanager":
		return "SecretsManager"
	case "states":
		return "SFN"
	case "scheduler":
		return "Scheduler"
	case "events":
		return "Events"
	case "cognito-idp":
		return "Cognito"
	}
	return id
}

// reads reports whether a call cannot change anything. By default a call can.
func reads(c Call) bool {
	switch on(c).protocol {
	case restXML:
		return c.Operation == "SelectObjectContent" ||
			(c.Method == http.MethodGet || c.Method == http.MethodHead) && c.Operation != "CreateSession"
	case restJSON, registryHTTP:
		return c.Method == http.MethodGet || c.Method == http.MethodHead
	}
	if c.Service == "STS" {
		return true // it hands out credentials, and keeps nothing that anybody could read
	}
	for _, verb := range []string{
		"Get", "List", "Describe", "Head", "BatchGet", "Query", "Scan", "Search", "Lookup",
		"Check", "Validate", "Simulate", "Select", "Filter",
	} {
		if strings.HasPrefix(c.Operation, verb) {
			return true
		}
	}
	return false
}
