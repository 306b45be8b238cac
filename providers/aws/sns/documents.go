package sns

import (
	"maps"

	"github.com/athanor-dev/athanor/providers/aws"
)

// documentOf is a document by its meaning. The empty one is none, which is how SNS takes one away.
func documentOf(document any) any {
	plain := aws.Document(document)
	if m, ok := plain.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	return plain
}

// retries are what SNS fills in of a retry policy that is begun.
// https://docs.aws.amazon.com/sns/latest/dg/creating-delivery-policy.html
var retries = map[string]any{
	"numRetries": int64(3), "minDelayTarget": int64(20), "maxDelayTarget": int64(20), "backoffFunction": "linear",
	"numNoDelayRetries": int64(0), "numMinDelayRetries": int64(0), "numMaxDelayRetries": int64(0),
}

// deliveryOf is a delivery policy in one form: SNS fills in what a retry policy leaves open, and shows what it does not
// have as null or false.
func deliveryOf(document any) any {
	m, ok := delivery(documentOf(document)).(map[string]any)
	if ok && len(m) == 0 {
		return nil
	}
	if ok {
		return m
	}
	return documentOf(document)
}

func delivery(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, v := range m {
		v = delivery(v)
		inner, isMap := v.(map[string]any)
		switch {
		case v == nil, v == false, isMap && len(inner) == 0:
			continue
		case isMap && (k == "healthyRetryPolicy" || k == "defaultHealthyRetryPolicy"):
			filled := maps.Clone(retries)
			maps.Copy(filled, inner)
			v = filled
		}
		out[k] = v
	}
	return out
}

// defaultPolicy is what SNS gives a new topic.
func defaultPolicy(topic aws.ARN, more ...any) any {
	p, _ := topic.Parse()
	actions := append([]any{
		"SNS:GetTopicAttributes", "SNS:SetTopicAttributes", "SNS:AddPermission", "SNS:RemovePermission", "SNS:DeleteTopic",
		"SNS:Subscribe", "SNS:ListSubscriptionsByTopic", "SNS:Publish",
	}, more...)
	return map[string]any{
		"Version": "2008-10-17", "Id": "__default_policy_ID",
		"Statement": []any{map[string]any{
			"Sid": "__default_statement_ID", "Effect": "Allow", "Principal": map[string]any{"AWS": "*"},
			"Action": actions, "Resource": string(topic),
			"Condition": map[string]any{"StringEquals": map[string]any{"AWS:SourceOwner": p.Account}},
		}},
	}
}
