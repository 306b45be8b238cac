package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// NewEventSourceMapping declares that a function is called with what a source has. [Consume] does so with what its role
// needs.
func NewEventSourceMapping(s *athanor.Stack, name string, p EventSourceMappingProps, opts ...athanor.Option) EventSourceMapping {
	return athanor.Declare(s, mappingKind, name, p, opts...)
}

// Source is something whose records a function can be called with.
type Source interface {
	// Feed grants what it takes to read it as such a source, and gives its ARN, and where it is begun: "" for what is not
	// read by position.
	Feed(to aws.Grantee) (source aws.ARN, start string)
}

// ConsumeOption changes what [Consume] declares.
type ConsumeOption func(*EventSourceMappingProps, *[]athanor.Option)

// With has the mapping made with these props; what they name of the function and the source is not looked at.
func With(p EventSourceMappingProps) ConsumeOption {
	return func(into *EventSourceMappingProps, _ *[]athanor.Option) { *into = p }
}

// Options are options of the mapping.
func Options(opts ...athanor.Option) ConsumeOption {
	return func(_ *EventSourceMappingProps, into *[]athanor.Option) { *into = append(*into, opts...) }
}

// Consume calls a function with what a source has: it grants the function's role what it takes to read it, and declares
// the mapping, below the function's address and by that of the source: renamed with either. The mapping is made after
// the role has its grants.
//
//	lambda.Consume(s, fn, orders)
//	lambda.Consume(s, fn, orders, lambda.With(lambda.EventSourceMappingProps{BatchSize: new(100), BatchWindow: new(time.Second)}))
func Consume(s *athanor.Stack, fn Function, from Source, opts ...ConsumeOption) EventSourceMapping {
	source, start := from.Feed(fn)
	var p EventSourceMappingProps
	name, renamed := aws.Below(s, string(fn.ARN), string(source))
	more := []athanor.Option{renamed}
	if token.Has(string(fn.role)) {
		more = append(more, athanor.DependsOn(fn.role))
	}
	for _, o := range opts {
		o(&p, &more)
	}
	p.Function, p.Source = fn.ARN, source
	if p.StartingPosition == nil {
		p.StartingPosition = aws.OrNil(start)
	}
	return NewEventSourceMapping(s, name, p, more...)
}

// EventSourceMappingProps declare that Lambda reads a source and calls a function with what it finds there. Defaults
// and limits are those of https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
type EventSourceMappingProps struct {
	// Function that is called: the ARN of it, or of a version or an alias of it.
	Function aws.ARN `prop:"required,needsready,maxlen=256" wire:"FunctionName"`
	// Source is the ARN of a queue of SQS, a stream of DynamoDB or Kinesis, a cluster of MSK, a broker of MQ or a cluster
	// of DocumentDB. Default: none, for a Kafka cluster of one's own (servers).
	Source aws.ARN `prop:"immutable,maxlen=1024" wire:"EventSourceArn"`
	// Enabled says whether the source is read.
	Enabled *bool `prop:"default=true" wire:"Enabled"`
	// BatchSize is how many records a call gets at most: up to 10,000, from FIFO queues 10. More than 10 from a queue need
	// a batchWindow. Default: 10 from queues, 100 from all others.
	BatchSize *int `prop:"min=1,max=10000" wire:"BatchSize"`
	// BatchWindow is how long records are gathered for a call, in whole seconds up to 5 minutes. Default: 0s from queues
	// and streams; left out it is not managed for others, which begin with half a second and cannot go back to it.
	BatchWindow *time.Duration `prop:"min=0s,max=5m" wire:"MaximumBatchingWindowInSeconds"`
	// Filters are patterns; a record is read that matches one: documents, or JSON text. Default: none, all records.
	Filters []any `prop:"maxitems=20" wire:"FilterCriteria.Filters,filters"`
	// ReportBatchItemFailures: the function's answer says which records failed, and only they come again.
	ReportBatchItemFailures bool `prop:"default=false" wire:"FunctionResponseTypes,ReportBatchItemFailures,omitzero"`
	// MaxConcurrency is how many calls a queue makes at a time, from 2 to 1,000. Default: none, as many as there can be.
	MaxConcurrency *int `prop:"min=2,max=1000" wire:"ScalingConfig.MaximumConcurrency"`
	// OnFailure is the queue, topic, bucket or Kafka topic that is told of records of streams and Kafka which are given
	// up. Default: none.
	OnFailure aws.ARN `prop:"deferrable,maxlen=350" wire:"DestinationConfig.OnFailure.Destination"`
	// BisectOnError splits a failed batch of a stream in two.
	BisectOnError bool `prop:"default=false" wire:"BisectBatchOnFunctionError,omitzero"`
	// MaxRecordAge is how old records of streams and Kafka may be that are still tried, in whole seconds from a minute to
	// 7 days. Default: none, without bound.
	MaxRecordAge *time.Duration `prop:"min=1m,max=168h" wire:"MaximumRecordAgeInSeconds"`
	// MaxRetries of a failed batch of a stream or Kafka, up to 10,000. Default: none, without bound.
	MaxRetries *int `prop:"min=0,max=10000" wire:"MaximumRetryAttempts"`
	// Parallelization is how many batches of one shard of a stream are worked on at a time, up to 10.
	Parallelization *int `prop:"min=1,max=10,default=1" wire:"ParallelizationFactor"`
	// TumblingWindow is the length of a window over a stream whose state calls hand on, in whole seconds up to 15 minutes.
	// 0s is none.
	TumblingWindow time.Duration `prop:"min=0s,max=15m,default=0s" wire:"TumblingWindowInSeconds"`
	// StartingPosition is where a source is begun; streams, Kafka and DocumentDB need it. Default: none.
	StartingPosition *string `prop:"enum=TRIM_HORIZON|LATEST|AT_TIMESTAMP,immutable" wire:"StartingPosition"`
	// StartingTimestamp is when the first records are of, for AT_TIMESTAMP: such as 2026-01-31T12:00:00Z. Default: none.
	StartingTimestamp string `prop:"immutable" wire:"StartingPositionTimestamp,moment"`
	// Topics are the topic of Kafka, one; Kafka needs it. Default: none.
	Topics []string `prop:"immutable,maxitems=1" wire:"Topics"`
	// Queues are the queue of MQ, one; MQ needs it. Default: none.
	Queues []string `prop:"immutable,maxitems=1" wire:"Queues"`
	// Servers are host:port of a Kafka cluster of one's own. Default: none.
	Servers []string `prop:"immutable,set" wire:"SelfManagedEventSource.Endpoints,servers"`
	// ConsumerGroupID of Kafka, which needs it: a mapping that is made anew goes on where its group has come to. Default:
	// none.
	ConsumerGroupID string `prop:"immutable" wire:"-"`
	// Access is how Kafka, MQ and DocumentDB are reached. Default: none.
	Access []Access `prop:"set,maxitems=23" wire:"SourceAccessConfigurations,elements"`
	// DocumentDB says which changes are read of DocumentDB, which needs it. Default: none.
	DocumentDB *DocumentDB `wire:"DocumentDBEventSourceConfig"`
	// Pollers are kept ready, for queues and Kafka. Default: none, they come and go.
	Pollers *Pollers `wire:"ProvisionedPollerConfig"`
	// KMSKey encrypts the filters: the ARN of a key. Default: none.
	KMSKey aws.ARN `prop:"maxlen=2048" wire:"KMSKeyArn"`
	// EventCount publishes metrics of how many records went where.
	EventCount bool `prop:"default=false" wire:"MetricsConfig.Metrics,EventCount,omitzero"`
	// Tags of the mapping, beside the owner tags. Default: none.
	Tags map[string]string
}

// Access is a secret or a part of a network by which a source is reached.
type Access struct {
	// Type of it.
	Type string `prop:"required,enum=BASIC_AUTH|VPC_SUBNET|VPC_SECURITY_GROUP|SASL_SCRAM_512_AUTH|SASL_SCRAM_256_AUTH|VIRTUAL_HOST|CLIENT_CERTIFICATE_TLS_AUTH|SERVER_ROOT_CA_CERTIFICATE|OAUTHBEARER_AUTH|OAUTHBEARER_SCOPE|OAUTHBEARER_AUDIENCE|OAUTHBEARER_LOGICAL_CLUSTER|OAUTHBEARER_IDENTITY_POOL|IAM_AUTH|IAM_OAUTHBEARER_AUTH" wire:"Type"`
	// URI of it: the ARN of a secret, subnet:ID, security_group:ID, or a name.
	URI string `prop:"required,maxlen=200" wire:"URI"`
}

// DocumentDB says which changes of a cluster are read.
type DocumentDB struct {
	// Database is its name.
	Database string `prop:"required,maxlen=63" wire:"DatabaseName"`
	// Collection is its name. Default: none, all of the database.
	Collection string `prop:"maxlen=57" wire:"CollectionName"`
	// FullDocument says whether updates come with the whole document; by Default with what changed.
	FullDocument *string `prop:"enum=UpdateLookup|Default,default=Default" wire:"FullDocument"`
}

// Pollers are what reads a source.
type Pollers struct {
	// Minimum of them. Default: none, the service's.
	Minimum *int `prop:"min=1,max=200" wire:"MinimumPollers"`
	// Maximum of them. Default: none, the service's.
	Maximum *int `prop:"min=1,max=10000" wire:"MaximumPollers"`
}

// EventSourceMapping is what others may refer to of a mapping.
type EventSourceMapping struct {
	// ARN of the mapping.
	ARN aws.ARN `attr:"early"`
	// ID that Lambda gave it.
	ID string `attr:"early"`
	// Function that is called: its ARN.
	Function aws.ARN `attr:"mutable"`
	// Source that is read: its ARN, "" for a Kafka cluster of one's own.
	Source aws.ARN `attr:"early"`
}

// liveMapping is an observed mapping.
type liveMapping struct {
	attrs EventSourceMapping
	have  EventSourceMappingProps
	tags  map[string]string
	state string
}

type mappingSite = kind.Site[EventSourceMappingProps, EventSourceMapping]

var mappingTable = kind.TableOf[EventSourceMappingProps](
	kind.Codec{
		Name: "filters",
		Write: func(filters any) (any, error) {
			var all []any
			for i, f := range filters.([]any) {
				text, err := aws.DocumentText(f)
				if err != nil {
					return nil, fmt.Errorf("%d: %w", i, err)
				}
				all = append(all, map[string]any{"Pattern": text})
			}
			return all, nil
		},
		Read: func(wire any) (any, error) {
			var all []any
			list, _ := wire.([]any)
			for _, f := range list {
				filter, _ := f.(map[string]any)
				all = append(all, filter["Pattern"])
			}
			return all, nil
		},
		Form: func(filters any) any {
			list, _ := filters.([]any)
			out := make([]any, len(list))
			for i, x := range list {
				out[i] = aws.Document(x)
			}
			return out
		},
	},
	kind.Codec{
		Name: "servers",
		Write: func(servers any) (any, error) {
			list, err := props.EncodeValue(servers)
			return map[string]any{string(types.EndPointTypeKafkaBootstrapServers): list}, err
		},
		Read: func(wire any) (any, error) {
			endpoints, _ := wire.(map[string]any)
			return endpoints[string(types.EndPointTypeKafkaBootstrapServers)], nil
		},
	},
	kind.Codec{Name: "moment", Form: func(moment any) any {
		text, _ := moment.(string)
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
		return moment
	}},
	among(string(types.FunctionResponseTypeReportBatchItemFailures)), among(string(types.EventSourceMappingMetricEventCount)),
).For(kind.In(sdk.CreateEventSourceMappingInput{}), kind.Out(types.EventSourceMappingConfiguration{}),
	kind.Out(struct{ FunctionName, Enabled string }{})) // which are shown otherwise

// among is the codec of a boolean that a list says by having a word, or not. It is named after the word.
func among(word string) kind.Codec {
	return kind.Codec{
		Name: word,
		Write: func(has any) (any, error) {
			if has == false {
				return []any{}, nil
			}
			return []any{word}, nil
		},
		Read: func(wire any) (any, error) {
			list, _ := wire.([]any)
			return slices.Contains(list, any(word)), nil
		},
	}
}

var mappingKind = &kind.Kind[EventSourceMappingProps, liveMapping, EventSourceMapping]{
	Type: mappingType,
	Doc: "A mapping of an event source to a Lambda function: Lambda reads a queue, a stream, Kafka, MQ or DocumentDB, and calls the " +
		"function. It is ready when Lambda reads the source, so that nothing is passed over that comes after the deployment. Where a source was " +
		"read up to goes with the mapping when it is deleted or replaced. Not managed, and left as they are: schema registries, " +
		"logging and consumption mode of Kafka, groups of pollers.",

	Observe:    observeMapping,
	Create:     createMapping,
	Compare:    compareMapping,
	Attributes: func(live liveMapping) EventSourceMapping { return live.attrs },
	Delete:     deleteMapping,
	Identity:   func(m EventSourceMapping) string { return string(m.ARN) },

	Props: mappingTable,
	Check: checkMapping,
	Owner: tagged(
		func(want EventSourceMappingProps) map[string]string { return want.Tags },
		func(live liveMapping) (map[string]string, aws.ARN) { return live.tags, live.attrs.ARN }),
	Status: func(live liveMapping) kind.Status {
		switch live.state {
		case "Creating", "Updating", "Deleting", "Enabling", "Disabling":
			return kind.Busy("the mapping is " + strings.ToLower(live.state))
		}
		return kind.Ready()
	},
	List: func(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
		return listMappings(ctx, scope, nil)
	},
	// Not every region's tagging service shows mappings.
	Parents: &kind.Parents{
		Kinds: []string{functionType},
		List: func(ctx context.Context, scope kind.ListScope, function kind.Found) ([]kind.Found, error) {
			return listMappings(ctx, scope, &function.Identity)
		},
	},
	// Lambda takes one mapping of a function and a source.
	DeleteFirst: true,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Lambda", "lambda", source, kind.Permissions{
		Observe: []string{"GetEventSourceMapping", "ListEventSourceMappings", "ListTags"},
		List:    []string{"ListEventSourceMappings"},
		Create:  []string{"CreateEventSourceMapping", "TagResource"},
		Update:  []string{"UpdateEventSourceMapping", "TagResource", "UntagResource"},
		Delete:  []string{"DeleteEventSourceMapping"},
		Resource: func(location kind.Location, _ string) []string {
			return aws.On("lambda", "event-source-mapping:")(location, "*")
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html
		Anywhere: []string{"CreateEventSourceMapping", "ListEventSourceMappings"},
		Depends: []kind.Dependence{
			// Where Lambda refuses the role, its age says whether to wait.
			{Actions: []string{"lambda:GetFunctionConfiguration"}, Props: []tree.Path{"function"}, Resource: aws.On("lambda", "function:")},
			{Actions: []string{"iam:GetRole"}, Resource: aws.RoleResources},
			// https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html#filter-criteria-encryption
			aws.UseKey(0, nil, []string{"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"}, "kmsKey"),
			aws.UseKey(reconcile.Observing|reconcile.Deleting, nil, []string{"kms:Decrypt"}, "kmsKey"),
		},
	}, "Lambda.GetFunctionConfiguration", "IAM.GetRole"),
}

// serviceOf is the service of a source, "kafka" for a cluster of one's own.
func serviceOf(source aws.ARN) string {
	p, ok := source.Parse()
	if !ok {
		return "kafka"
	}
	return p.Service
}

// isStream reports sources that are read by position.
func isStream(service string) bool { return service == "kinesis" || service == "dynamodb" }

// checkMapping finds what Lambda would refuse, beyond what the table says.
func checkMapping(want EventSourceMappingProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if (want.Source == "") == (len(want.Servers) == 0) {
		wrong("source", "want either a source or servers")
	}
	at := want.StartingPosition != nil && *want.StartingPosition == "AT_TIMESTAMP"
	if at != (want.StartingTimestamp != "") && (want.StartingPosition == nil || !token.Has(*want.StartingPosition)) {
		wrong("startingTimestamp", "AT_TIMESTAMP needs it, and nothing else takes it")
	}
	if t := want.StartingTimestamp; t != "" && !token.Has(t) {
		if _, err := time.Parse(time.RFC3339, t); err != nil {
			wrong("startingTimestamp", "want a time such as 2026-01-31T12:00:00Z")
		}
	}
	if !token.Has(string(want.Source)) {
		checkSource(want, wrong)
	}
	return problems.OrNil()
}

// checkSource is about props that some sources alone take, or need.
func checkSource(want EventSourceMappingProps, wrong func(tree.Path, string)) {
	service := serviceOf(want.Source)
	byOffset := isStream(service) || service == "kafka"
	byPosition := byOffset || service == "rds"
	for _, only := range []struct {
		path      tree.Path
		set       bool
		of        string
		ok, needs bool
	}{
		{"maxConcurrency", want.MaxConcurrency != nil, "queues of SQS", service == "sqs", false},
		{"parallelization", want.Parallelization != nil && *want.Parallelization != 1, "streams", isStream(service), false},
		{"tumblingWindow", want.TumblingWindow != 0, "streams", isStream(service), false},
		{"bisectOnError", want.BisectOnError, "streams and Kafka", byOffset, false},
		{"maxRecordAge", want.MaxRecordAge != nil, "streams and Kafka", byOffset, false},
		{"maxRetries", want.MaxRetries != nil, "streams and Kafka", byOffset, false},
		{"onFailure", want.OnFailure != "", "streams and Kafka", byOffset, false},
		{"startingPosition", want.StartingPosition != nil, "streams, Kafka and DocumentDB", byPosition, true},
		{"topics", len(want.Topics) > 0, "Kafka", service == "kafka", true},
		{"consumerGroupId", want.ConsumerGroupID != "", "Kafka", service == "kafka", true},
		{"queues", len(want.Queues) > 0, "MQ", service == "mq", true},
		{"documentDb", want.DocumentDB != nil, "DocumentDB", service == "rds", true},
	} {
		switch {
		case only.set && !only.ok:
			wrong(only.path, fmt.Sprintf("%s alone takes it, and the source is of %s", only.of, service))
		case only.needs && only.ok && !only.set:
			wrong(only.path, "is required: the source is of "+service)
		}
	}
}

// compareMapping states every aspect. One call sets all that can be changed. What a source does not have is not
// compared.
func compareMapping(d *kind.Diff[liveMapping], want EventSourceMappingProps, live liveMapping) {
	have := live.have
	want.Function = arnOf(d.Place(), want.Function)
	service := serviceOf(have.Source)
	if service == "sqs" {
		aws.OrDefault(&want.BatchSize, 10)
	}
	aws.OrDefault(&want.BatchSize, 100)
	if service == "sqs" || isStream(service) {
		aws.OrDefault(&want.BatchWindow, 0)
	} else {
		aws.OrDefault(&want.BatchWindow, *have.BatchWindow)
	}
	if !isStream(service) {
		want.Parallelization, want.TumblingWindow = have.Parallelization, have.TumblingWindow
	}
	kind.Compare(d, mappingTable, want, have, updateMapping(want))
}

// arnOf is a function's ARN where it was named by its name alone.
func arnOf(location kind.Location, function aws.ARN) aws.ARN {
	if token.Has(string(function)) || strings.HasPrefix(string(function), "arn:") {
		return function
	}
	return functionARN(location, string(function))
}

func updateMapping(want EventSourceMappingProps) *kind.Operation[liveMapping] {
	return kind.Set("UpdateEventSourceMapping", func(ctx context.Context, u kind.Update[liveMapping]) error {
		in, err := changes(want, u.Live.have, u.Changed)
		if err != nil {
			return err
		}
		in.UUID = &u.Live.attrs.ID
		client := clientOf(u.Cloud)
		_, err = client.UpdateEventSourceMapping(ctx, in)
		function := cmp.Or(aws.ARN(sdkaws.ToString(in.FunctionName)), u.Live.have.Function)
		return grantedLate(ctx, client, u.Facts, function, aws.NotYet(err))
	})
}

// changes are what is changed of a mapping, and no more.
func changes(want, have EventSourceMappingProps, changed []tree.Path) (*sdk.UpdateEventSourceMappingInput, error) {
	in := &sdk.UpdateEventSourceMappingInput{}
	err := mappingTable.Changed(want, have, changed, kind.Struct(in))
	if in.MaximumRecordAgeInSeconds != nil && want.MaxRecordAge == nil {
		in.MaximumRecordAgeInSeconds = new(unbounded)
	}
	if in.MaximumRetryAttempts != nil && want.MaxRetries == nil {
		in.MaximumRetryAttempts = new(unbounded)
	}
	// What is cleared of these is empty, and not zero.
	if in.ScalingConfig != nil && want.MaxConcurrency == nil {
		in.ScalingConfig = &types.ScalingConfig{}
	}
	if in.DestinationConfig != nil && want.OnFailure == "" {
		in.DestinationConfig.OnFailure = &types.OnFailure{}
	}
	if want.Pollers == nil && slices.Contains(changed, "pollers") {
		in.ProvisionedPollerConfig = &types.ProvisionedPollerConfig{}
	}
	return in, err
}

// unbounded is how Lambda writes that there is no bound.
const unbounded = int32(-1)

// grantedLate: what a mapping needs is granted to the function's role, often a moment before.
func grantedLate(ctx context.Context, client *sdk.Client, s kind.Facts, function aws.ARN, err error) error {
	if !isInvalid(err) {
		return err
	}
	out, failed := client.GetFunctionConfiguration(ctx, &sdk.GetFunctionConfigurationInput{FunctionName: new(string(function))})
	if failed != nil {
		return err
	}
	return lag{s.Cloud, aws.ARN(sdkaws.ToString(out.Role)), s.Since, true}.of(ctx, err)
}

// createMapping carries everything and all tags in one call; what is at its default is left out, since some sources do
// not take it.
func createMapping(ctx context.Context, s mappingSite) (EventSourceMapping, error) {
	in, err := creation(s.Want)
	if err != nil {
		return EventSourceMapping{}, err
	}
	in.Tags = aws.Tags(s.Cloud, s.Want.Tags, s.Owner)
	client := clientOf(s.Cloud)
	out, err := client.CreateEventSourceMapping(ctx, in)
	if err != nil {
		return EventSourceMapping{}, grantedLate(ctx, client, s.Facts, s.Want.Function, err)
	}
	return EventSourceMapping{
		ARN: aws.ARN(sdkaws.ToString(out.EventSourceMappingArn)), ID: sdkaws.ToString(out.UUID),
		Function: arnOf(s.Location, s.Want.Function), Source: s.Want.Source,
	}, nil
}

func creation(want EventSourceMappingProps) (*sdk.CreateEventSourceMappingInput, error) {
	in := &sdk.CreateEventSourceMappingInput{}
	if err := mappingTable.Created(want, kind.Struct(in)); err != nil {
		return nil, err
	}
	if !isStream(serviceOf(want.Source)) {
		in.ParallelizationFactor, in.TumblingWindowInSeconds = nil, nil
	}
	switch {
	case want.ConsumerGroupID == "":
	case len(want.Servers) > 0:
		in.SelfManagedKafkaEventSourceConfig = &types.SelfManagedKafkaEventSourceConfig{ConsumerGroupId: &want.ConsumerGroupID}
	default:
		in.AmazonManagedKafkaEventSourceConfig = &types.AmazonManagedKafkaEventSourceConfig{ConsumerGroupId: &want.ConsumerGroupID}
	}
	return in, nil
}

var (
	errNoMapping   = errors.New("a mapping is found by its ARN, or by its function and source")
	errStillExists = errors.New("the mapping still exists")
)

// idOf is the id at the end of a mapping's ARN.
func idOf(identity string) string { return identity[strings.LastIndexByte(identity, ':')+1:] }

func observeMapping(ctx context.Context, s mappingSite) (live liveMapping, err error) {
	client, id := clientOf(s.Cloud), idOf(s.ID)
	switch {
	case s.Last != nil:
		id = s.Last.ID
	case s.ID == "":
		return findMapping(ctx, client, s)
	}
	out, err := client.GetEventSourceMapping(ctx, &sdk.GetEventSourceMappingInput{UUID: &id})
	if err != nil {
		return live, aws.Absent(err)
	}
	if live, err = mappingOf(out); err != nil {
		return live, err
	}
	if err = live.readTags(ctx, client); live.state == "Deleting" && aws.IsAbsent(err) {
		return live, nil // its tags are deleted first
	}
	return live, err
}

// findMapping looks through the list of the function and the source for the mapping that agrees in all that cannot
// change. Where several do, the owner tag decides.
func findMapping(ctx context.Context, client *sdk.Client, s mappingSite) (liveMapping, error) {
	want := s.Want
	if want.Function == "" {
		return liveMapping{}, errNoMapping
	}
	if token.Has(string(want.Function)) || token.Has(string(want.Source)) {
		return liveMapping{}, reconcile.ErrAbsent // what is not known yet is not mapped
	}
	var found []liveMapping
	in := &sdk.ListEventSourceMappingsInput{
		FunctionName: new(string(want.Function)), EventSourceArn: aws.OrNil(string(want.Source)),
	}
	for c, err := range mappings(ctx, client, in) {
		if err != nil {
			return liveMapping{}, aws.Absent(err)
		}
		live, err := mappingOf(&c)
		if err != nil {
			return live, err
		}
		if live.have.readsSame(want) {
			found = append(found, live)
		}
	}
	if len(found) == 0 {
		return liveMapping{}, reconcile.ErrAbsent
	}
	for i := range found {
		if err := found[i].readTags(ctx, client); err != nil {
			return liveMapping{}, err
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(l liveMapping) bool { return !adopt.MarkOf(l.tags).SameResource(s.Owner) })
	}
	if len(found) != 1 {
		return liveMapping{}, fmt.Errorf("%w: several mappings of %s to %s", reconcile.ErrAmbiguous, want.Source, want.Function)
	}
	return found[0], nil
}

// readsSame reports whether a mapping reads what is declared.
func (p EventSourceMappingProps) readsSame(want EventSourceMappingProps) bool {
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	return p.Source == want.Source && slices.Equal(p.Topics, want.Topics) && slices.Equal(p.Queues, want.Queues) &&
		slices.Equal(sorted(p.Servers), sorted(want.Servers)) && p.ConsumerGroupID == want.ConsumerGroupID
}

func (l *liveMapping) readTags(ctx context.Context, client *sdk.Client) error {
	out, err := client.ListTags(ctx, &sdk.ListTagsInput{Resource: new(string(l.attrs.ARN))})
	if err != nil {
		return aws.Absent(err)
	}
	l.tags = out.Tags
	return nil
}

// mappingOf is a mapping as it is shown: a pointer to an answer about it alone, or to an element of a list, which have
// the same members.
func mappingOf(shown any) (live liveMapping, err error) {
	wire := kind.Struct(shown)
	text := func(name string) string {
		s, _ := wire.Get(name).(string)
		return s
	}
	if wire.Get("FilterCriteriaError") != nil {
		code, message := text("FilterCriteriaError.ErrorCode"), text("FilterCriteriaError.Message")
		return live, fmt.Errorf("filters: %w", hidden(&code, &message))
	}
	have, err := mappingTable.Read(wire)
	if err != nil {
		return live, err
	}
	live.state = text("State")
	have.Function, have.Enabled = aws.ARN(text("FunctionArn")), new(live.state != "Disabled" && live.state != "Disabling")
	have.ConsumerGroupID = cmp.Or(text("AmazonManagedKafkaEventSourceConfig.ConsumerGroupId"),
		text("SelfManagedKafkaEventSourceConfig.ConsumerGroupId"))
	aws.OrDefault(&have.BatchWindow, 0)
	if n := have.MaxRecordAge; n != nil && *n < 0 {
		have.MaxRecordAge = nil
	}
	if n := have.MaxRetries; n != nil && *n < 0 {
		have.MaxRetries = nil
	}
	if p := have.Pollers; p != nil && *p == (Pollers{}) {
		have.Pollers = nil
	}
	live.have = have
	live.attrs = EventSourceMapping{
		ARN: aws.ARN(text("EventSourceMappingArn")), ID: text("UUID"), Function: have.Function, Source: have.Source,
	}
	return live, nil
}

// deleteMapping asks for the deletion, unless it is under way: Lambda stops reading first.
func deleteMapping(ctx context.Context, s mappingSite) error {
	client, id := clientOf(s.Cloud), s.Last.ID
	live, err := client.GetEventSourceMapping(ctx, &sdk.GetEventSourceMappingInput{UUID: &id})
	if err != nil {
		return err // absent is what is wanted
	}
	if sdkaws.ToString(live.State) == "Deleting" {
		return aws.Busy(errStillExists)
	}
	_, err = client.DeleteEventSourceMapping(ctx, &sdk.DeleteEventSourceMappingInput{UUID: &id})
	return err
}

type element = types.EventSourceMappingConfiguration

// mappings are those that are not being deleted.
func mappings(ctx context.Context, client *sdk.Client, in *sdk.ListEventSourceMappingsInput) iter.Seq2[element, error] {
	return func(yield func(element, error) bool) {
		next := func(out *sdk.ListEventSourceMappingsOutput) *string { return out.NextMarker }
		for page, err := range aws.PagesByToken(ctx, client.ListEventSourceMappings, in, &in.Marker, next) {
			if err != nil {
				yield(element{}, err)
				return
			}
			for _, m := range page.EventSourceMappings {
				if sdkaws.ToString(m.State) != "Deleting" && !yield(m, nil) {
					return
				}
			}
		}
	}
}

// listMappings lists the mappings of one function, of all where it is nil.
func listMappings(ctx context.Context, scope kind.ListScope, function *string) (all []kind.Found, err error) {
	for m, err := range mappings(ctx, clientOf(scope.Cloud), &sdk.ListEventSourceMappingsInput{FunctionName: function}) {
		if err != nil {
			return nil, err
		}
		all = append(all, kind.Found{Kind: mappingType, Place: scope.Place, Identity: sdkaws.ToString(m.EventSourceMappingArn)})
	}
	return all, nil
}

// tagged is the ownership of a function or a mapping.
func tagged[P, L any](declared func(P) map[string]string, live func(L) (map[string]string, aws.ARN)) kind.Tagged[P, L] {
	of := func(l L) *string {
		_, arn := live(l)
		return new(string(arn))
	}
	return aws.Tagged(declared, func(l L) map[string]string { tags, _ := live(l); return tags }, "TagResource",
		func(ctx context.Context, u kind.Update[L], tags map[string]string) error {
			_, err := clientOf(u.Cloud).TagResource(ctx, &sdk.TagResourceInput{Resource: of(u.Live), Tags: tags})
			return err
		},
		func(ctx context.Context, u kind.Update[L], keys []string) error {
			_, err := clientOf(u.Cloud).UntagResource(ctx, &sdk.UntagResourceInput{Resource: of(u.Live), TagKeys: slices.Clone(keys)})
			return err
		})
}
