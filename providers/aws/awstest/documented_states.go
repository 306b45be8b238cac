package awstest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// busy is a function or a table that is being created or changed.
type busy struct {
	until    time.Time
	creating bool
}

// functionIn is the function that a call of Lambda is about, "" for others.
func functionIn(c Call) string {
	uri, _, _ := strings.Cut(c.URI, "?")
	parts := strings.Split(strings.Trim(uri, "/"), "/")
	if len(parts) < 3 || parts[1] != "functions" {
		return ""
	}
	return parts[2][strings.LastIndexByte(parts[2], ':')+1:]
}

// busyKey is that of the function or the table that a call is about, "" for others.
func busyKey(c Call) string {
	name := ""
	switch c.Service {
	case "Lambda":
		if name = functionIn(c); name == "" && c.Operation == "CreateFunction" {
			name = text(jsonOf(c.Body)["FunctionName"])
		}
	case "ECS":
		in := jsonOf(c.Body)
		if name = text(in["serviceName"]); name == "" {
			name = text(in["service"])
		}
	case "DynamoDB":
		name = text(jsonOf(c.Body)["TableName"])
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	if name == "" {
		return ""
	}
	return serviceKey(c) + "\x00" + name
}

// noteBusy remembers what is under way after a call. The caller holds the lock.
func (p *player) noteBusy(c Call, at time.Time) {
	key := busyKey(c)
	if key == "" {
		return
	}
	switch c.Operation {
	case "CreateFunction":
		p.functions[c.Account+"/"+text(jsonOf(c.Body)["FunctionName"])] = text(jsonOf(c.Body)["Role"])
		p.busy[key] = busy{at.Add(p.Pending), true}
	case "UpdateFunctionConfiguration":
		if arn := text(jsonOf(c.Body)["Role"]); arn != "" {
			p.functions[c.Account+"/"+functionIn(c)] = arn
		}
		p.busy[key] = busy{at.Add(p.Pending), false}
	case "CreateService":
		p.busy[key] = busy{at.Add(p.Pending), true}
	case "UpdateService":
		if in := jsonOf(c.Body); in["taskDefinition"] != nil || in["networkConfiguration"] != nil || in["forceNewDeployment"] == true {
			p.busy[key] = busy{at.Add(p.Pending), false}
		}
	case "CreateTable":
		p.busy[key] = busy{at.Add(p.Pending), true}
	case "UpdateFunctionCode", "UpdateTable":
		p.busy[key] = busy{at.Add(p.Pending), false}
	case "DeleteFunction", "DeleteTable":
		delete(p.busy, key)
	}
}

// unready is the refusal to change what is being created or changed. The caller holds the lock.
func (p *player) unready(c Call) (failure, bool) {
	if f, refused := p.undisabled(c); refused {
		return f, true
	}
	b := p.busy[busyKey(c)]
	if !c.Mutating || time.Until(b.until) <= 0 {
		return failure{}, false
	}
	switch c.Operation {
	case "UpdateFunctionConfiguration", "UpdateFunctionCode", "PublishVersion":
		return failure{
			status: http.StatusConflict, code: "ResourceConflictException",
			message: "The operation cannot be performed at this time. An update or the creation of the function is in progress.",
		}, true
	case "UpdateTable", "DeleteTable", "UpdateTimeToLive", "UpdateContinuousBackups", "TagResource", "UntagResource":
		return failure{status: http.StatusBadRequest, code: "ResourceInUseException", message: "Attempt to change a resource which is still in use."}, true
	}
	return failure{}, false
}

// state is an answer with the state of what is being created or changed.
func (p *player) state(c Call, a Answer) Answer {
	if c.Name() == "ECS.DescribeServices" {
		return p.deploying(c, a)
	}
	p.mu.Lock()
	b := p.busy[busyKey(c)]
	p.mu.Unlock()
	if a.Status/100 != 2 || time.Until(b.until) <= 0 {
		return a
	}
	out := jsonOf(a.Body)
	switch c.Operation {
	case "GetFunction", "GetFunctionConfiguration":
		at := out
		if inner, ok := out["Configuration"].(map[string]any); ok {
			at = inner
		}
		if b.creating {
			at["State"], at["StateReason"], at["StateReasonCode"] = "Pending", "The function is being created.", "Creating"
		} else {
			at["LastUpdateStatus"], at["LastUpdateStatusReason"], at["LastUpdateStatusReasonCode"] = "InProgress", "The function is being changed.", "Creating"
		}
	case "DescribeTable":
		table, ok := out["Table"].(map[string]any)
		if !ok {
			return a
		}
		if table["TableStatus"] = "UPDATING"; b.creating {
			table["TableStatus"] = "CREATING"
		}
	default:
		return a
	}
	return rewritten(a, encoded(out))
}

// deploying is a description of services whose deployments are in progress.
func (p *player) deploying(c Call, a Answer) Answer {
	if a.Status/100 != 2 {
		return a
	}
	out, isBusy := jsonOf(a.Body), false
	for _, item := range list(out["services"]) {
		service, _ := item.(map[string]any)
		p.mu.Lock()
		b := p.busy[serviceKey(c)+"\x00"+text(service["serviceName"])]
		if time.Until(b.until) > 0 {
			p.waited[c.Name()]++
		}
		p.mu.Unlock()
		if time.Until(b.until) <= 0 {
			continue
		}
		isBusy = true
		for _, item := range list(service["deployments"]) {
			if d, _ := item.(map[string]any); d["status"] == "PRIMARY" {
				d["rolloutState"], d["rolloutStateReason"] = "IN_PROGRESS", "ECS deployment "+text(d["id"])+" in progress."
				d["runningCount"], d["pendingCount"] = 0, d["desiredCount"]
			}
		}
	}
	if !isBusy {
		return a
	}
	return rewritten(a, encoded(out))
}

// rewritten is an answer with another body.
func rewritten(a Answer, body []byte) Answer {
	a.Header = a.Header.Clone()
	a.Header.Set("Content-Length", strconv.Itoa(len(body)))
	a.Body = body
	return a
}

// The limits of one request: https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html
const (
	mostRecords = 1000
	mostText    = 32_000
)

// change refuses a batch of changes that is too large, and says how far a change is.
func (p *player) change(c Call) (Answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c.Name() {
	case "Route53.ChangeResourceRecordSets":
		var in struct {
			Changes []struct {
				Action string
				Values []string `xml:"ResourceRecordSet>ResourceRecords>ResourceRecord>Value"`
			} `xml:"ChangeBatch>Changes>Change"`
		}
		if xml.Unmarshal(c.Body, &in) != nil {
			return Answer{}, false
		}
		records, letters := 0, 0
		for _, change := range in.Changes {
			times := 1
			if change.Action == "UPSERT" {
				times = 2
			}
			records += times * len(change.Values)
			for _, v := range change.Values {
				letters += times * len(v)
			}
		}
		if records > mostRecords || letters > mostText {
			return spell(c, failure{status: http.StatusBadRequest, code: "InvalidChangeBatch", message: "Number of records limit of 1000 exceeded."}), true
		}
	case "Route53.GetChange":
		since, ok := p.changes[c.URI[strings.LastIndexByte(c.URI, '/')+1:]]
		if !ok {
			return Answer{}, false
		}
		status := "PENDING"
		if time.Since(since) >= p.Pending {
			status = "INSYNC"
		}
		body := fmt.Sprintf(`<?xml version="1.0"?><GetChangeResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeInfo>`+
			`<Id>%s</Id><Status>%s</Status><SubmittedAt>%s</SubmittedAt></ChangeInfo></GetChangeResponse>`,
			c.URI[strings.LastIndexByte(c.URI, '/')+1:], status, since.UTC().Format(time.RFC3339))
		return made(http.StatusOK, "text/xml", []byte(body)), true
	}
	return Answer{}, false
}

// noteChange gives a change of a hosted zone an id of its own, and a time. The caller holds the lock.
func (p *player) noteChange(c Call, a *Answer, at time.Time) {
	if c.Service != "Route53" || p.Pending == 0 {
		return
	}
	before, rest, ok := bytes.Cut(a.Body, []byte("<ChangeInfo>"))
	if !ok {
		return
	}
	_, after, ok := bytes.Cut(rest, []byte("</ChangeInfo>"))
	if !ok {
		return
	}
	id := fmt.Sprintf("C%013d", len(p.changes)+1)
	p.changes[id] = at
	info := fmt.Sprintf("<ChangeInfo><Id>/change/%s</Id><Status>PENDING</Status><SubmittedAt>%s</SubmittedAt></ChangeInfo>", id, at.UTC().Format(time.RFC3339))
	*a = rewritten(*a, bytes.Join([][]byte{before, []byte(info), after}, nil))
}
