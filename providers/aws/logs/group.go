package logs

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveGroup is a log group as it was seen.
type liveGroup struct {
	arn   aws.ARN
	group types.LogGroup
	tags  map[string]string
	// used: there is a stream in it, which is made with the first event.
	used                   bool
	dataProtection, index  string // documents, "" for none
	policy, policyRevision string
	policyName             string
}

type (
	groupSite = reconcile.Site[LogGroupProps, LogGroup]
	groupDiff = reconcile.Diff[liveGroup]
)

var groupKind = &reconcile.Kind[LogGroupProps, liveGroup, LogGroup]{
	Type: groupType,
	Doc: "A log group of CloudWatch Logs with its retention, key, class, protection, policies and tags. Its events are " +
		"not managed: a group with streams in it, or with deletion protection, holds data, and deleting it needs leave. " +
		"Streams, metric filters, subscription filters and transformers are not managed either.",

	Observe:  observeGroup,
	Create:   createGroup,
	Compare:  compareGroup,
	Attrs:    func(live liveGroup) LogGroup { return groupOf(live.arn) },
	Delete:   deleteGroup,
	Identity: func(g LogGroup) string { return string(g.ARN) },

	Naming: func(LogGroupProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 512, Allowed: nameRune}
	},
	Given:    func(want LogGroupProps) string { return want.Name },
	Defaults: groupDefaults,
	Check:    checkGroup,
	Late:     []tree.Path{"policy", "dataProtectionPolicy"},
	AtBirth:  []string{"arn", "streamsArn", "name"},

	Owner: func(live liveGroup) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Holds: liveGroup.holds,
	List:  listGroups,
	Logs:  groupLogs,

	// The service publishes no bound; listings have been seen to lag by seconds.
	Visibility: 10 * time.Second,

	Source: source,
	Calls: []string{
		"Logs.DescribeLogGroups", "Logs.DescribeLogStreams", "Logs.ListTagsForResource", "Logs.GetDataProtectionPolicy",
		"Logs.DescribeIndexPolicies", "Logs.DescribeResourcePolicies", "Logs.CreateLogGroup", "Logs.DeleteLogGroup",
		"Logs.PutRetentionPolicy", "Logs.DeleteRetentionPolicy", "Logs.AssociateKmsKey", "Logs.DisassociateKmsKey",
		"Logs.PutLogGroupDeletionProtection", "Logs.PutBearerTokenAuthentication", "Logs.PutDataProtectionPolicy",
		"Logs.DeleteDataProtectionPolicy", "Logs.PutIndexPolicy", "Logs.DeleteIndexPolicy", "Logs.PutResourcePolicy",
		"Logs.DeleteResourcePolicy", "Logs.TagResource", "Logs.UntagResource", "Logs.FilterLogEvents",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{
			"logs:DescribeLogGroups", "logs:DescribeLogStreams", "logs:ListTagsForResource", "logs:GetDataProtectionPolicy",
			"logs:DescribeIndexPolicies", "logs:DescribeResourcePolicies",
		},
		Create: []string{"logs:CreateLogGroup", "logs:TagResource"},
		Update: []string{
			"logs:PutRetentionPolicy", "logs:DeleteRetentionPolicy", "logs:AssociateKmsKey", "logs:DisassociateKmsKey",
			"logs:PutLogGroupDeletionProtection", "logs:PutBearerTokenAuthentication", "logs:PutDataProtectionPolicy",
			"logs:DeleteDataProtectionPolicy", "logs:PutIndexPolicy", "logs:DeleteIndexPolicy", "logs:PutResourcePolicy",
			"logs:DeleteResourcePolicy", "logs:TagResource", "logs:UntagResource",
		},
		Delete: []string{"logs:DeleteLogGroup", "logs:PutLogGroupDeletionProtection"},
		// Some actions want the group's ARN alone, others the one of all in it.
		Resource: func(place reconcile.Place, name string) []string {
			arn := string(arnOf(place, name))
			return []string{arn, arn + ":*"}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatchlogs.html
		Anywhere: []string{"logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:PutResourcePolicy", "logs:DeleteResourcePolicy"},
	},
}

// arnOf is how CloudWatch Logs names a group.
func arnOf(place reconcile.Place, name string) aws.ARN {
	return aws.ARNIn(place, "logs", "log-group:"+name)
}

func groupOf(arn aws.ARN) LogGroup {
	p, _ := arn.Parse()
	return LogGroup{ARN: arn, StreamsARN: arn + ":*", Name: strings.TrimPrefix(p.Resource, "log-group:")}
}

// holds does not go by the stored bytes alone, which are counted hours later.
func (l liveGroup) holds() bool { return l.used || l.stored() > 0 || l.protected() }

func (l liveGroup) stored() int64 {
	if n := l.group.StoredBytes; n != nil {
		return *n
	}
	return 0
}

func (l liveGroup) protected() bool {
	on := l.group.DeletionProtectionEnabled
	return on != nil && *on
}

func (l liveGroup) class() string {
	if l.group.LogGroupClass == "" {
		return string(types.LogGroupClassStandard) // of groups that are older than classes
	}
	return string(l.group.LogGroupClass)
}

func nameRune(r rune) bool {
	return strings.ContainsRune("-_/.#", r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func groupDefaults(want LogGroupProps) LogGroupProps {
	aws.OrDefault(&want.Class, string(types.LogGroupClassStandard))
	return want
}

// days are the times that events can be kept for.
var days = []time.Duration{
	0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

const day = 24 * time.Hour

// checkGroup finds what CloudWatch Logs would refuse.
func checkGroup(want LogGroupProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if name := want.Name; name != "" && !token.Has(name) {
		if len(name) > 512 || strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }) {
			wrong("name", "want up to 512 letters, digits and . - _ / #")
		}
		if strings.HasPrefix(name, "aws/") {
			wrong("name", "names do not begin with aws/")
		}
	}
	if want.Retention%day != 0 || !slices.Contains(days, want.Retention/day) {
		wrong("retention", "CloudWatch Logs keeps events for 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653 days")
	}
	class := "STANDARD"
	if want.Class != nil {
		class = *want.Class
	}
	if class == "DELIVERY" && want.Retention != 0 {
		wrong("retention", "the class DELIVERY has its own")
	}
	if class != "STANDARD" && !token.Has(class) {
		if want.DataProtectionPolicy != nil {
			wrong("dataProtectionPolicy", "the class STANDARD alone has one")
		}
		if want.IndexPolicy != nil {
			wrong("indexPolicy", "the class STANDARD alone has one")
		}
	}
	return problems.OrNil()
}
