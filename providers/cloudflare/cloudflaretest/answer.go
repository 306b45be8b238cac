package cloudflaretest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// failure is an error of the API.
type failure struct {
	service string
	status  int
	code    int
	message string
}

func (f *failure) Error() string { return fmt.Sprintf("%d %d %s", f.status, f.code, f.message) }

// notFound is the answer about a path that leads to nothing.
func notFound(path string) *failure {
	return &failure{status: 404, code: 7003, message: "Could not route to " + path + ", perhaps your object identifier is invalid?"}
}

// notUnderstood is the answer to a call that no repetition helps: with a status that clients neither repeat, as they do any above
// 500, nor take for the word that the object is deleted.
func notUnderstood(op *operation, why string) *failure {
	return &failure{status: 400, code: 7000, message: "cloudflaretest: " + op.String() + " (" + op.Method + " " + op.Path + "): " + why}
}

// listing is a result of which one page is answered.
type listing struct {
	items []any
	info  map[string]any
}

type object = map[string]any

// said is a whole answer.
func said(result any) wiretest.Answer {
	envelope := object{"success": true, "errors": []any{}, "messages": []any{}, "result": result}
	if l, ok := result.(listing); ok {
		envelope["result"], envelope["result_info"] = l.items, l.info
	}
	if e, ok := result.(whole); ok {
		envelope = e
	}
	return answer(http.StatusOK, envelope)
}

// whole is an answer that its handler gives with its envelope.
type whole object

func refused(f *failure) wiretest.Answer {
	return answer(f.status, object{
		"success": false, "messages": []any{}, "result": nil,
		"errors": []any{object{"code": f.code, "message": f.message}},
	})
}

func answer(status int, body any) wiretest.Answer {
	return wiretest.Answer{
		Status: status,
		Header: http.Header{
			"Content-Type":     {"application/json"},
			"Ratelimit":        {`"default";r=1199;t=300`},
			"Ratelimit-Policy": {`"default";q=1200;w=300`},
		},
		Body: plain(body),
	}
}

// broken is what the edge answers while what is behind it does not.
func broken() wiretest.Answer {
	return wiretest.Answer{
		Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("error code: 502"),
	}
}

// absent is the answer to a read while nothing exists yet.
func absent(c Call) wiretest.Answer {
	if c.Name() == "R2.ListBuckets" {
		return said(object{"buckets": []any{}})
	}
	if strings.HasPrefix(c.Operation, "List") && !belongs[c.Name()] {
		return said(paged(request{query: map[string][]string{}}, nil, 20))
	}
	if gone, ok := missing[c.Service]; ok {
		return refused(gone())
	}
	return refused(notFound(c.URI))
}

// belongs are the listings of what belongs to an object, which are missing without it.
var belongs = map[string]bool{
	"KV.ListNamespaceKeys": true, "Queues.ListConsumers": true, "R2.ListBucketObjects": true,
	"R2.ListBucketDomainManageds": true, "R2.ListBucketDomainCustoms": true, "R2.ListBucketEventNotifications": true,
	"Workers.ListScriptVersions": true, "Workers.ListScriptDeployments": true, "Workers.ListScriptSecrets": true,
}

// missing are the answers of the services about an object that does not exist.
var missing = map[string]func() *failure{
	"KV": noNamespace, "DNS": noRecord, "Queues": noQueue, "R2": noBucket, "D1": noDatabase, "Workers": noWorker,
	"Rulesets": noRuleset, "Zones": noZone, "Hyperdrive": noDrive, "Workflows": noFlow, "Containers": noApp, "Accounts": noToken, "User": noUserToken,
}

// paged is the page of a listing that a request asks for.
func paged(r request, items []any, perPage int) listing {
	ask := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.query.Get(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	page, size := ask("page", 1), ask("per_page", perPage)
	from := min((page-1)*size, len(items))
	to := min(from+size, len(items))
	return listing{
		items: append([]any{}, items[from:to]...),
		info:  object{"page": page, "per_page": size, "count": to - from, "total_count": len(items)},
	}
}

// cursored is the beginning of what is left of a listing, with a cursor when it is not all: what the last item is told
// by.
func cursored(r request, limit string, items []any, most int, of func(last any) string) listing {
	size := most
	if n, err := strconv.Atoi(r.query.Get(limit)); err == nil && n > 0 {
		size = min(n, most)
	}
	l := listing{items: append([]any{}, items[:min(size, len(items))]...), info: object{"count": min(size, len(items)), "cursor": ""}}
	if len(items) > size {
		l.info["cursor"] = of(items[size-1])
	}
	return l
}
