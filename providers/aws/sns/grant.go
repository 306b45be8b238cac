package sns

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a topic: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. A topic that is encrypted with a key of KMS also needs leave to use the key.
const (
	// Publish messages, one or many at a time.
	Publish Access = "sns:Publish"
	// Subscribe endpoints to the topic, and list them.
	Subscribe Access = "sns:Subscribe sns:ListSubscriptionsByTopic"
)

// Grant allows a role, or what runs as one, to use the topic.
//
//	events.Grant(fn, sns.Publish)
func (t Topic) Grant(to aws.Grantee, access ...Access) { aws.Grant(to, aws.Actions(access...), t.ARN) }
