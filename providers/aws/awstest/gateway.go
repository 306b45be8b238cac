package awstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// gateway passes on a call of API Gateway, and makes those that moto does not have of those that it has: authorizers are
// listed one by one, and a stage is changed by making it again. As in AWS, variables and settings of routes are merged
// with what is there, an empty variable goes, and the rest is replaced:
// https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid-stages-stagename.html
func (p passing) gateway(r *http.Request, c Call) Answer {
	path := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/v2/apis/"), "/")
	switch {
	case len(path) == 2 && path[1] == "authorizers" && r.Method == http.MethodGet:
		return p.authorizers(r, c)
	case len(path) == 2 && path[1] == "authorizers" && r.Method == http.MethodPost:
		a := p.send(r, c, r.Method, *r.URL, c.Body)
		var made struct{ AuthorizerID string }
		if a.Status/100 == 2 && json.Unmarshal(a.Body, &made) == nil {
			p.settle(func() { p.asked = append(p.asked, r.URL.Path+"/"+made.AuthorizerID) })
		}
		return a
	case len(path) == 3 && path[1] == "stages" && r.Method == http.MethodPatch, len(path) > 3 && path[1] == "stages":
		return p.changeStage(r, c, path)
	}
	return p.send(r, c, r.Method, *r.URL, c.Body)
}

func (p passing) authorizers(r *http.Request, c Call) Answer {
	a := p.send(r, c, http.MethodGet, url.URL{Path: strings.TrimSuffix(r.URL.Path, "/authorizers")}, nil)
	if a.Status/100 != 2 {
		return a // there is no such API
	}
	var asked []string
	p.settle(func() { asked = slices.Clone(p.asked) })
	items := []json.RawMessage{}
	for _, path := range asked {
		if !strings.HasPrefix(path, r.URL.Path+"/") {
			continue
		}
		if one := p.send(r, c, http.MethodGet, url.URL{Path: path}, nil); one.Status/100 == 2 {
			items = append(items, one.Body)
		}
	}
	return with(a, map[string]any{"items": items})
}

func (p passing) changeStage(r *http.Request, c Call, path []string) Answer {
	stages := "/v2/apis/" + path[0] + "/stages"
	a := p.send(r, c, http.MethodGet, url.URL{Path: stages + "/" + unescaped(path[2]), RawPath: stages + "/" + path[2]}, nil)
	if a.Status/100 != 2 {
		return a // there is no such stage
	}
	var stage, change map[string]any
	if err := json.Unmarshal(a.Body, &stage); err != nil {
		return unreachable(fmt.Errorf("read a stage: %w", err))
	}
	switch {
	case len(path) == 4 && path[3] == "accesslogsettings":
		delete(stage, "accessLogSettings")
	case len(path) == 5 && path[3] == "routesettings":
		if settings, ok := stage["routeSettings"].(map[string]any); ok {
			delete(settings, unescaped(path[4]))
		}
	default:
		if err := json.Unmarshal(c.Body, &change); err != nil {
			return unreachable(fmt.Errorf("read UpdateStage: %w", err))
		}
	}
	for key, value := range change {
		stage[key] = merged(key, stage[key], value)
	}
	body, err := json.Marshal(stage)
	if err != nil {
		return unreachable(err)
	}
	return p.send(r, c, http.MethodPost, url.URL{Path: stages}, body)
}

// merged is a part of a stage after a change.
func merged(key string, have, change any) any {
	m, isMap := change.(map[string]any)
	if key != "routeSettings" && key != "stageVariables" || !isMap {
		return change
	}
	all, _ := have.(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, m)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == "" })
	return all
}

func unescaped(part string) string {
	plain, err := url.PathUnescape(part)
	if err != nil {
		return part
	}
	return plain
}

// with is an answer with another body.
func with(a Answer, body any) Answer {
	text, err := json.Marshal(body)
	if err != nil {
		return unreachable(err)
	}
	a.Header = a.Header.Clone()
	a.Header.Del("Content-Length")
	a.Body = text
	return a
}
