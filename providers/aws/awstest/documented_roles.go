package awstest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// role is what is known of a role, and since when.
type role struct {
	created  time.Time // zero: it was there before
	policies map[string]*document
}

// document is a policy as other services see it: a change of it reaches them late.
type document struct{ versions []version }

type version struct {
	at      time.Time
	actions []string // that it allows; nil: none
}

func (d *document) put(at time.Time, actions []string) {
	d.versions = append(d.versions, version{at, actions})
}

// seen is what the document allows, as a service knows it that is behind.
func (d *document) seen(behind time.Duration) []string {
	for _, v := range slices.Backward(d.versions) {
		if time.Since(v.at) >= behind {
			return v.actions
		}
	}
	return nil
}

// noteRole remembers what IAM was told. The caller holds the lock.
func (p *player) noteRole(c Call, a Answer, at time.Time) {
	if c.Service != "IAM" {
		return
	}
	in, err := url.ParseQuery(string(c.Body))
	if err != nil {
		return
	}
	name := c.Account + "/" + in.Get("RoleName")
	switch c.Operation {
	case "CreateRole":
		p.roles[name] = &role{created: at, policies: map[string]*document{}}
	case "DeleteRole":
		delete(p.roles, name)
	case "PutRolePolicy":
		p.policyOf(name, in.Get("PolicyName")).put(at, allowed(in.Get("PolicyDocument")))
	case "DeleteRolePolicy":
		p.policyOf(name, in.Get("PolicyName")).put(at, nil)
	case "AttachRolePolicy":
		actions := []string{"*"} // one of AWS's own
		if d := p.managed[in.Get("PolicyArn")]; d != nil {
			actions = d.versions[len(d.versions)-1].actions
		}
		p.policyOf(name, in.Get("PolicyArn")).put(at, actions)
	case "DetachRolePolicy":
		p.policyOf(name, in.Get("PolicyArn")).put(at, nil)
	case "CreatePolicy":
		if _, arn, ok := strings.Cut(string(a.Body), "<Arn>"); ok {
			arn, _, _ = strings.Cut(arn, "</Arn>")
			p.managed[arn] = &document{}
			p.managed[arn].put(at, allowed(in.Get("PolicyDocument")))
		}
	case "CreatePolicyVersion":
		for _, r := range p.roles {
			if d := r.policies[in.Get("PolicyArn")]; d != nil && in.Get("SetAsDefault") == "true" {
				d.put(at, allowed(in.Get("PolicyDocument")))
			}
		}
	}
}

func (p *player) policyOf(name, policy string) *document {
	r := p.roles[name]
	if r == nil {
		r = &role{policies: map[string]*document{}}
		p.roles[name] = r
	}
	if r.policies[policy] == nil {
		r.policies[policy] = &document{}
	}
	return r.policies[policy]
}

// allowed are the actions that a policy allows.
func allowed(policy string) (actions []string) {
	var document struct {
		Statement []struct {
			Effect string
			Action any
		}
	}
	if json.Unmarshal([]byte(policy), &document) != nil {
		return nil
	}
	for _, s := range document.Statement {
		if s.Effect != "Allow" {
			continue
		}
		switch a := s.Action.(type) {
		case string:
			actions = append(actions, a)
		case []any:
			for _, one := range a {
				actions = append(actions, text(one))
			}
		}
	}
	return actions
}

// demand is what a service asks of a role before it takes a call.
type demand struct{ role, action, refusal string }

// refuses is the error of a service that does not know a role yet, or not what it may do.
func (p *player) refuses(c Call) (failure, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, is := p.unready(c); is {
		return f, true
	}
	if p.Propagation == 0 {
		return failure{}, false
	}
	for _, d := range p.demands(c) {
		r := p.roles[c.Account+"/"+path.Base(d.role)]
		switch {
		case r == nil: // it was there before
		case time.Since(r.created) < p.Propagation:
			return invalidFor(c, d.role), true
		case d.action != "" && !r.allows(d.action, p.Propagation):
			return failure{status: http.StatusBadRequest, code: "InvalidParameterValueException", message: d.refusal}, true
		}
	}
	return failure{}, false
}

// allows reports that a service which is behind knows of a policy that allows an action.
func (r *role) allows(action string, behind time.Duration) bool {
	for _, d := range r.policies {
		if slices.ContainsFunc(d.seen(behind), func(pattern string) bool {
			ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(action))
			return err == nil && ok
		}) {
			return true
		}
	}
	return false
}

// invalidFor is how a service says that it cannot assume a role: every mistake in a role has this code.
func invalidFor(c Call, arn string) failure {
	if c.Service == "Events" {
		return failure{
			status: http.StatusBadRequest, code: "ValidationException",
			message: "Provided role '" + arn + "' cannot be assumed by principal 'events.amazonaws.com'.",
		}
	}
	return failure{
		status: http.StatusBadRequest, code: "InvalidParameterValueException",
		message: "The role defined for the function cannot be assumed by Lambda.",
	}
}

// demands are those of a call. What Lambda asks of the role of a function:
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-filesystem.html
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars-encryption.html
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html#events-sqs-permissions
func (p *player) demands(c Call) (all []demand) {
	if c.Service == "Events" && c.Operation == "PutTargets" {
		targets, _ := jsonOf(c.Body)["Targets"].([]any)
		for _, t := range targets {
			if m, ok := t.(map[string]any); ok && text(m["RoleArn"]) != "" {
				all = append(all, demand{role: text(m["RoleArn"])})
			}
		}
		return all
	}
	if c.Service != "Lambda" || !c.Mutating {
		return nil
	}
	in := jsonOf(c.Body)
	arn := text(in["Role"])
	if arn == "" {
		name := text(in["FunctionName"])
		if name == "" {
			name = functionIn(c)
		}
		arn = p.functions[c.Account+"/"+name[strings.LastIndexByte(name, ':')+1:]]
	}
	if arn == "" {
		return nil
	}
	needs := func(action, refusal string) { all = append(all, demand{arn, action, refusal}) }
	switch c.Operation {
	case "CreateFunction", "UpdateFunctionConfiguration":
		if text(in["Role"]) != "" {
			all = append(all, demand{role: arn})
		}
		if vpc, _ := in["VpcConfig"].(map[string]any); len(list(vpc["SubnetIds"])) > 0 {
			needs("ec2:CreateNetworkInterface", "The provided execution role does not have permissions to call CreateNetworkInterface on EC2")
		}
		if target, _ := in["DeadLetterConfig"].(map[string]any); text(target["TargetArn"]) != "" {
			needs(sending(text(target["TargetArn"])))
		}
		if len(list(in["FileSystemConfigs"])) > 0 {
			needs("elasticfilesystem:ClientMount", "The provided execution role does not have permissions to call ClientMount on EFS")
		}
		if text(in["KMSKeyArn"]) != "" {
			needs("kms:Decrypt", "Lambda was unable to configure access to your environment variables because the KMS key is not usable by the role")
		}
	case "PutFunctionEventInvokeConfig":
		to, _ := in["DestinationConfig"].(map[string]any)
		for _, on := range []string{"OnSuccess", "OnFailure"} {
			if d, _ := to[on].(map[string]any); text(d["Destination"]) != "" {
				needs(sending(text(d["Destination"])))
			}
		}
	case "CreateEventSourceMapping":
		switch serviceOfARN(text(in["EventSourceArn"])) {
		case "sqs":
			needs("sqs:ReceiveMessage", "The provided execution role does not have permissions to call ReceiveMessage on SQS")
		case "dynamodb":
			needs("dynamodb:GetRecords", "Cannot access stream. Please ensure the role can perform the GetRecords action")
		}
	}
	return all
}

// sending is what a role needs to send to a destination.
func sending(arn string) (action, refusal string) {
	switch serviceOfARN(arn) {
	case "sns":
		return "sns:Publish", "The provided execution role does not have permissions to call Publish on SNS"
	case "lambda":
		return "lambda:InvokeFunction", "The provided execution role does not have permissions to call InvokeFunction on Lambda"
	case "events":
		return "events:PutEvents", "The provided execution role does not have permissions to call PutEvents on EventBridge"
	}
	return "sqs:SendMessage", "The provided execution role does not have permissions to call SendMessage on SQS"
}

func jsonOf(body []byte) map[string]any {
	in := map[string]any{}
	_ = json.Unmarshal(body, &in) // a request without members has none
	return in
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
