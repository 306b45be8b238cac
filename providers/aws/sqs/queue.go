package sqs

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

// liveQueue is a queue as it was seen.
type liveQueue struct {
	url   string
	attrs map[string]string // as the service writes them
	tags  map[string]string
}

type (
	queueSite = reconcile.Site[QueueProps, Queue]
	queueDiff = reconcile.Diff[liveQueue]
)

var queueKind = &reconcile.Kind[QueueProps, liveQueue, Queue]{
	Type: queueType,
	Doc: "A queue of Amazon SQS, standard or FIFO, with all its attributes and tags. Its messages are not managed: " +
		"a queue with messages in it, waiting, delayed or in flight, holds data, and deleting it needs leave.",

	Observe:  observeQueue,
	Create:   createQueue,
	Compare:  compareQueue,
	Attrs:    queueAttrs,
	Delete:   deleteQueue,
	Identity: func(q Queue) string { return string(q.ARN) },

	Naming:   queueNaming,
	Given:    func(want QueueProps) string { return want.Name },
	Defaults: queueDefaults,
	Check:    checkQueue,
	Late:     []tree.Path{"deadLetter", "redriveAllow", "policy"},
	AtBirth:  []string{"arn", "url", "name"},

	Owner: func(live liveQueue) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Holds: liveQueue.holds,
	List:  listQueues,

	// Attributes take up to 60 seconds to be seen everywhere, and a deletion as long:
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
	Visibility: time.Minute,

	Source: source,
	Calls: []string{
		"SQS.CreateQueue", "SQS.DeleteQueue", "SQS.GetQueueUrl", "SQS.GetQueueAttributes", "SQS.SetQueueAttributes",
		"SQS.ListQueues", "SQS.ListQueueTags", "SQS.TagQueue", "SQS.UntagQueue",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:ListQueueTags"},
		List:    []string{"sqs:ListQueues"},
		Create:  []string{"sqs:CreateQueue", "sqs:TagQueue"},
		Update:  []string{"sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue"},
		Delete:  []string{"sqs:DeleteQueue"},

		Resource: aws.On("sqs", ""),
		Anywhere: []string{"sqs:ListQueues"},
	},
}

func queueAttrs(live liveQueue) Queue {
	return Queue{ARN: aws.ARN(live.attrs["QueueArn"]), URL: URL(live.url), Name: live.name()}
}

func (l liveQueue) name() string {
	arn := l.attrs["QueueArn"]
	return arn[strings.LastIndexByte(arn, ':')+1:]
}

// holds is as near as SQS can tell: it counts approximately.
func (l liveQueue) holds() bool {
	for _, count := range []string{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	} {
		if l.number(count) > 0 {
			return true
		}
	}
	return false
}

func queueNaming(want QueueProps, _ reconcile.Place) reconcile.Naming {
	naming := reconcile.Naming{Max: 80, Allowed: nameRune}
	if want.FIFO {
		naming.Suffix = ".fifo"
	}
	return naming
}

func nameRune(r rune) bool {
	return r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func queueDefaults(want QueueProps) QueueProps {
	aws.OrDefault(&want.VisibilityTimeout, 30*time.Second)
	aws.OrDefault(&want.MessageRetention, 4*24*time.Hour)
	aws.OrDefault(&want.MaximumMessageSize, props.MiB)
	aws.OrDefault(&want.MaxReceives, 10)
	aws.OrDefault(&want.KMSDataKeyReusePeriod, 5*time.Minute)
	aws.OrDefault(&want.SQSManagedSSE, want.KMSMasterKeyID == "")
	aws.OrDefault(&want.DeduplicationScope, "queue")
	aws.OrDefault(&want.FIFOThroughputLimit, "perQueue")
	return want
}

// checkQueue finds what SQS would refuse, or would take without doing it.
func checkQueue(want QueueProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if want.Name != "" && !token.Has(want.Name) {
		if bare := strings.TrimSuffix(want.Name, ".fifo"); len(want.Name) > 80 || bare == "" || strings.ContainsFunc(bare, foreignRune) {
			wrong("name", "want up to 80 letters, digits, - and _")
		}
		if strings.HasSuffix(want.Name, ".fifo") != want.FIFO {
			wrong("name", "the names of FIFO queues end in .fifo, and no others do")
		}
	}
	checkFIFO(want, wrong)
	if want.KMSMasterKeyID != "" && want.SQSManagedSSE != nil && *want.SQSManagedSSE {
		wrong("sqsManagedSse", "messages are encrypted either with keys of SQS or with kmsMasterKeyId")
	}
	if r := want.RedriveAllow; r != nil {
		if !token.Has(r.Permission) && (r.Permission == "byQueue") != (len(r.Sources) > 0) {
			wrong("redriveAllow.sources", "byQueue needs the queues, and nothing else takes any")
		}
		if len(r.Sources) > 10 {
			wrong("redriveAllow.sources", "want at most 10 queues")
		}
	}
	for _, span := range []struct {
		path tree.Path
		time *time.Duration
	}{
		{"visibilityTimeout", want.VisibilityTimeout},
		{"delay", &want.Delay},
		{"messageRetention", want.MessageRetention},
		{"receiveWait", &want.ReceiveWait},
		{"kmsDataKeyReusePeriod", want.KMSDataKeyReusePeriod},
	} {
		if span.time != nil && *span.time%time.Second != 0 {
			wrong(span.path, "want whole seconds")
		}
	}
	return problems.OrNil()
}

func foreignRune(r rune) bool { return !nameRune(r) }

func checkFIFO(want QueueProps, wrong func(tree.Path, string)) {
	if !want.FIFO {
		const alone = "only FIFO queues take it, and fifo is not set"
		if want.ContentBasedDeduplication {
			wrong("contentBasedDeduplication", alone)
		}
		if want.DeduplicationScope != nil {
			wrong("deduplicationScope", alone)
		}
		if want.FIFOThroughputLimit != nil {
			wrong("fifoThroughputLimit", alone)
		}
		return
	}
	limit, scope := want.FIFOThroughputLimit, want.DeduplicationScope
	if limit != nil && *limit == "perMessageGroupId" && (scope == nil || *scope == "queue") {
		wrong("fifoThroughputLimit", "perMessageGroupId needs the deduplicationScope messageGroup")
	}
}
