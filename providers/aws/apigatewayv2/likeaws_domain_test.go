package apigatewayv2

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// custom are the custom domains of a world and what leads from them to APIs. moto keeps no status, target, routing or
// truststore of a domain, changes neither domains nor mappings, gives two mappings of one path the same identity, and
// deletes no domain that is mapped. Requests still reach it through the proxy that counts and breaks calls: what has no
// effect there has none here. As in AWS a path of a domain is mapped once, and mappings go with their domain.
type custom struct {
	domains  map[string]obj
	mappings map[string][]obj // by domain
	created  int
}

// about reports a request on domains, their mappings or their tags.
func (r *request) about() bool {
	return r.path[0] == "domainnames" || r.path[0] == "tags" && strings.Contains(r.path[1], domainPath)
}

// domain answers a request on custom domains.
func (s *likeAWS) domain(w http.ResponseWriter, r *request) {
	status, header, answer, effect := s.Exchange(r.Request, r.text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if effect {
		out, refused := s.act(r)
		switch {
		case status == 0:
		case refused != 0:
			refuse(w, refused, "Refused as AWS does.")
			return
		default:
			header, status = http.Header{"Content-Type": {"application/json"}}, http.StatusOK
			text, err := json.Marshal(out)
			if err != nil {
				panic(err)
			}
			answer = []byte(strings.ReplaceAll(string(text), s.real, account))
		}
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// act does what a request asks for; refused is the status of an error.
func (s *likeAWS) act(r *request) (out obj, refused int) {
	switch {
	case r.is("GET", "domainnames"):
		var all []any
		for _, name := range slices.Sorted(maps.Keys(s.domains)) {
			all = append(all, s.domains[name])
		}
		return paged(r, all), 0
	case r.is("POST", "domainnames"):
		name := r.body["domainName"].(string)
		if s.domains[name] != nil {
			return nil, http.StatusConflict
		}
		d := obj{"domainName": name, "tags": obj{}, "routingMode": "API_MAPPING_ONLY"}
		maps.Copy(d, r.body)
		configured(d)
		s.domains[name] = d
		return d, 0
	case r.path[0] == "tags":
		return s.tagged(r)
	}
	d := s.domains[r.path[1]]
	switch {
	case d == nil:
		return nil, http.StatusNotFound
	case r.is("DELETE", "domainnames", "*"):
		delete(s.domains, r.path[1])
		delete(s.mappings, r.path[1])
		return nil, 0
	case r.is("PATCH", "domainnames", "*"):
		changed(d, r.body)
	case len(r.path) > 2:
		return s.mapped(r)
	}
	return d, 0
}

// changed merges a change into a domain.
func changed(d, change obj) {
	for _, key := range []string{"domainNameConfigurations", "routingMode"} {
		if change[key] != nil {
			d[key] = change[key]
		}
	}
	configured(d)
	trust, said := change["mutualTlsAuthentication"].(obj)
	if !said {
		return
	}
	if trust["truststoreVersion"] == "" {
		delete(trust, "truststoreVersion")
	}
	d["mutualTlsAuthentication"] = trust
	if trust["truststoreUri"] == "" {
		delete(d, "mutualTlsAuthentication")
	}
}

// configured adds what AWS knows of a configuration.
func configured(d obj) {
	for _, c := range d["domainNameConfigurations"].([]any) {
		c := c.(obj)
		c["apiGatewayDomainName"], c["hostedZoneId"] = "d-a1b2c3.execute-api.us-east-1.amazonaws.com", "Z1UJRXOUMOOFQ8"
		for key, otherwise := range map[string]any{"domainNameStatus": "AVAILABLE", "ipAddressType": "ipv4", "securityPolicy": "TLS_1_2"} {
			if c[key] == nil {
				c[key] = otherwise
			}
		}
	}
}

func (s *likeAWS) tagged(r *request) (out obj, refused int) {
	_, name, _ := strings.Cut(r.path[1], domainPath)
	d := s.domains[name]
	if d == nil {
		return nil, http.StatusNotFound
	}
	tags := d["tags"].(obj)
	if more, ok := r.body["tags"].(obj); ok && r.Method == http.MethodPost {
		maps.Copy(tags, more)
	}
	if r.Method == http.MethodDelete {
		for _, key := range r.URL.Query()["tagKeys"] {
			delete(tags, key)
		}
	}
	return obj{}, 0
}

// mapped answers requests on the mappings of a domain that is there.
func (s *likeAWS) mapped(r *request) (out obj, refused int) {
	name := r.path[1]
	all := s.mappings[name]
	key, _ := r.body["apiMappingKey"].(string)
	held := slices.IndexFunc(all, func(m obj) bool { return m["apiMappingKey"] == key })
	at := -1
	if len(r.path) == 4 {
		if at = slices.IndexFunc(all, func(m obj) bool { return m["apiMappingId"] == r.path[3] }); at < 0 {
			return nil, http.StatusNotFound
		}
	}
	switch {
	case r.is("GET", "domainnames", "*", "apimappings"):
		var items []any
		for _, m := range all {
			items = append(items, m)
		}
		return paged(r, items), 0
	case r.Method == http.MethodDelete:
		s.mappings[name] = slices.Delete(slices.Clone(all), at, at+1)
		return obj{}, 0
	case r.Method != http.MethodGet && !s.hasStage(r):
		return nil, http.StatusNotFound
	case r.Method == http.MethodPost && held >= 0, r.Method == http.MethodPatch && held >= 0 && held != at:
		return nil, http.StatusConflict
	case r.Method == http.MethodPost:
		s.created++
		m := obj{"apiMappingId": fmt.Sprint("m", s.created), "apiMappingKey": key, "apiId": r.body["apiId"], "stage": r.body["stage"]}
		s.mappings[name] = append(all, m)
		return m, 0
	}
	maps.Copy(all[at], r.body)
	return all[at], 0
}

// hasStage reports whether the stage of a mapping is there.
func (s *likeAWS) hasStage(r *request) bool {
	api, _ := r.body["apiId"].(string)
	of := &request{Request: r.Request, path: []string{"apis", api}}
	return slices.ContainsFunc(s.list(of, "stages"), func(stage obj) bool { return stage["stageName"] == r.body["stage"] })
}

// isMapped reports whether a mapping leads to an API, or to one of its stages.
func (s *likeAWS) isMapped(api, stage string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.mappings {
		for _, m := range all {
			if m["apiId"] == api && (stage == "" || m["stage"] == stage) {
				return true
			}
		}
	}
	return false
}

// paged is the page of a listing that a request asks for.
func paged(r *request, all []any) obj {
	from, _ := strconv.Atoi(r.URL.Query().Get("nextToken"))
	out := obj{"items": slices.Concat([]any{}, all[from:min(from+pageSize, len(all))])}
	if from+pageSize < len(all) {
		out["nextToken"] = strconv.Itoa(from + pageSize)
	}
	return out
}
