package apigatewayv2

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
)

// NewHTTPAPI declares an HTTP API.
func NewHTTPAPI(s *athanor.Stack, name string, p HTTPAPIProps, opts ...athanor.Option) HTTPAPI {
	return athanor.Declare(s, apiKind, name, p, opts...)
}

// ReadHTTPAPI uses an HTTP API that the stack does not own: by its identity or ARN, or by HTTPAPIProps with its name.
func ReadHTTPAPI(s *athanor.Stack, name string, by any) HTTPAPI {
	return athanor.Read(s, apiKind, name, by)
}

// NewDomainName declares a custom domain.
func NewDomainName(s *athanor.Stack, name string, p DomainNameProps, opts ...athanor.Option) DomainName {
	return athanor.Declare(s, domainKind, name, p, opts...)
}

// ReadDomainName uses a custom domain that the stack does not own: by its name or ARN.
func ReadDomainName(s *athanor.Stack, name string, by any) DomainName {
	return athanor.Read(s, domainKind, name, by)
}

// Route leads requests to a function, and lets the API invoke it for them and nothing else. The functions in with
// change the route before it is declared. The permission is declared below the API's address, by the route.
//
//	api.Route(s, "GET /items/{id}", fn)
//	api.Route(s, "PUT /items/{id}", fn, func(r *apigatewayv2.Route) { r.Authorizer = "people" })
func (a HTTPAPI) Route(s *athanor.Stack, key string, fn lambda.Function, with ...func(*Route)) lambda.Permission {
	r := Route{Lambda: fn.ARN}
	for _, change := range with {
		change(&r)
	}
	s.Bind(a.ID, key, r)
	name, renamed := aws.Below(s, a.ID, shown(key))
	return lambda.NewPermission(s, name, lambda.PermissionProps{
		Function: fn.ARN, Principal: "apigateway.amazonaws.com", SourceARN: a.ExecutionARN + aws.ARN(requests(key)),
	}, renamed)
}

// shown is what an address can show of a route's key, with a hash where that might be another's too.
func shown(key string) string {
	var name strings.Builder
	exact := true
	for _, c := range strings.ReplaceAll(key, " /", "/") {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			name.WriteRune(c)
		case c == '/':
			name.WriteByte('-')
		case c == '{', c == '+':
			name.WriteByte('_')
		case c != '}' && c != '$':
			name.WriteByte('-')
			exact = false
		}
	}
	text := strings.Trim(name.String(), "-")
	if !exact {
		h := sha256.Sum256([]byte(key))
		text += "-" + hex.EncodeToString(h[:3])
	}
	return text
}

// requests are those of a route, in all stages, as policies write them: with * for what differs from one to the next.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
func requests(key string) string {
	method, path, ok := strings.Cut(key, " ")
	if !ok {
		return "/*/" + key
	}
	if method == "ANY" {
		method = "*"
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "*"
		}
	}
	return "/*/" + method + strings.Join(parts, "/")
}
