package sns

import (
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveTopic is a topic as it was seen.
type liveTopic struct {
	arn   aws.ARN
	attrs map[string]string // as the service writes them
	// protection is the data protection policy, "" for none or when nobody asked.
	protection string
	tags       map[string]string
}

type (
	topicSite = reconcile.Site[TopicProps, Topic]
	topicDiff = reconcile.Diff[liveTopic]
)

var topicKind = &reconcile.Kind[TopicProps, liveTopic, Topic]{
	Type: topicType,
	Doc: "A topic of Amazon SNS, standard or FIFO, with all its attributes and tags. Its subscriptions are a kind of " +
		"their own; SNS deletes them with the topic. A FIFO topic with an archive of messages holds data.",

	Observe:  observeTopic,
	Create:   createTopic,
	Compare:  compareTopic,
	Attrs:    topicAttrs,
	Delete:   deleteTopic,
	Identity: func(t Topic) string { return string(t.ARN) },

	Naming:   topicNaming,
	Given:    func(want TopicProps) string { return want.Name },
	Defaults: topicDefaults,
	Check:    checkTopic,
	Late:     []tree.Path{"policy"},
	AtBirth:  []string{"arn", "name"},
	Moves:    []string{"dataProtection"},

	Owner: func(live liveTopic) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Holds: liveTopic.archives,
	List:  listTopics,

	// SNS says that it agrees with itself only in time, and not in how much of it.
	Visibility: 30 * time.Second,

	Source: source,
	Calls: []string{
		"SNS.CreateTopic", "SNS.DeleteTopic", "SNS.GetTopicAttributes", "SNS.SetTopicAttributes", "SNS.ListTopics",
		"SNS.GetDataProtectionPolicy", "SNS.PutDataProtectionPolicy",
		"SNS.ListTagsForResource", "SNS.TagResource", "SNS.UntagResource",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"sns:GetTopicAttributes", "sns:GetDataProtectionPolicy", "sns:ListTagsForResource"},
		List:    []string{"sns:ListTopics"},
		Create:  []string{"sns:CreateTopic", "sns:TagResource", "sns:SetTopicAttributes"}, // which alone sets the version of signatures
		Update:  []string{"sns:SetTopicAttributes", "sns:PutDataProtectionPolicy", "sns:TagResource", "sns:UntagResource"},
		Delete:  []string{"sns:DeleteTopic", "sns:SetTopicAttributes"},

		Resource: aws.On("sns", ""),
		Anywhere: []string{"sns:ListTopics"},
		Passes: map[string][]tree.Path{"iam:PassRole": {
			"httpLogging.successRoleArn", "httpLogging.failureRoleArn", "sqsLogging.successRoleArn", "sqsLogging.failureRoleArn",
			"lambdaLogging.successRoleArn", "lambdaLogging.failureRoleArn", "firehoseLogging.successRoleArn", "firehoseLogging.failureRoleArn",
			"applicationLogging.successRoleArn", "applicationLogging.failureRoleArn",
		}},
	},
}

func topicAttrs(live liveTopic) Topic {
	return Topic{ARN: live.arn, Name: live.name(), DataProtection: protected(live.protection)}
}

// protected is how the record knows that there is a policy to take away.
func protected(policy string) string {
	if policy == "" {
		return ""
	}
	return "declared"
}

func (l liveTopic) name() string {
	return string(l.arn)[strings.LastIndexByte(string(l.arn), ':')+1:]
}

func (l liveTopic) archives() bool { return documentOf(l.attrs["ArchivePolicy"]) != nil }

func topicNaming(want TopicProps, _ reconcile.Place) reconcile.Naming {
	naming := reconcile.Naming{Max: 256, Allowed: nameRune}
	if want.FIFO {
		naming.Suffix = ".fifo"
	}
	return naming
}

func nameRune(r rune) bool {
	return r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func topicDefaults(want TopicProps) TopicProps {
	aws.OrDefault(&want.FIFOThroughputScope, "Topic")
	aws.OrDefault(&want.SignatureVersion, 1)
	aws.OrDefault(&want.TracingConfig, "PassThrough")
	aws.OrDefault(&want.MaximumMessageSize, 256*props.KiB)
	return want
}

// checkTopic finds what SNS would refuse.
func checkTopic(want TopicProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if want.Name != "" && !token.Has(want.Name) {
		bare := strings.TrimSuffix(want.Name, ".fifo")
		if len(want.Name) > 256 || bare == "" || strings.ContainsFunc(bare, func(r rune) bool { return !nameRune(r) }) {
			wrong("name", "want up to 256 letters, digits, - and _")
		}
		if strings.HasSuffix(want.Name, ".fifo") != want.FIFO {
			wrong("name", "the names of FIFO topics end in .fifo, and no others do")
		}
	}
	if !token.Has(want.DisplayName) && len([]rune(want.DisplayName)) > 100 {
		wrong("displayName", "want up to 100 characters")
	}
	alone := "only FIFO topics take it, and fifo is not set"
	only := map[tree.Path]bool{
		"contentBasedDeduplication": want.ContentBasedDeduplication, "fifoThroughputScope": want.FIFOThroughputScope != nil,
		"archivePolicy": want.ArchivePolicy != nil,
	}
	if want.FIFO {
		alone = "only standard topics take it, and fifo is set"
		only = map[tree.Path]bool{
			"tracingConfig":        want.TracingConfig != nil && *want.TracingConfig == "Active",
			"dataProtectionPolicy": want.DataProtectionPolicy != nil,
		}
	}
	for path, set := range only {
		if set {
			wrong(path, alone)
		}
	}
	return problems.OrNil()
}
