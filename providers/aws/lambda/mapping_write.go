package lambda

import (
	"context"
	"fmt"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// mappingInput is what can be changed of a mapping.
type mappingInput = sdk.UpdateEventSourceMappingInput

// mappingMembers are the parts of a mapping by the prop that each is made of.
var mappingMembers = map[string]func(in, all *mappingInput){
	"function":                func(in, all *mappingInput) { in.FunctionName = all.FunctionName },
	"enabled":                 func(in, all *mappingInput) { in.Enabled = all.Enabled },
	"batchSize":               func(in, all *mappingInput) { in.BatchSize = all.BatchSize },
	"batchWindow":             func(in, all *mappingInput) { in.MaximumBatchingWindowInSeconds = all.MaximumBatchingWindowInSeconds },
	"filters":                 func(in, all *mappingInput) { in.FilterCriteria = all.FilterCriteria },
	"reportBatchItemFailures": func(in, all *mappingInput) { in.FunctionResponseTypes = all.FunctionResponseTypes },
	"maxConcurrency":          func(in, all *mappingInput) { in.ScalingConfig = all.ScalingConfig },
	"onFailure":               func(in, all *mappingInput) { in.DestinationConfig = all.DestinationConfig },
	"bisectOnError":           func(in, all *mappingInput) { in.BisectBatchOnFunctionError = all.BisectBatchOnFunctionError },
	"maxRecordAge":            func(in, all *mappingInput) { in.MaximumRecordAgeInSeconds = all.MaximumRecordAgeInSeconds },
	"maxRetries":              func(in, all *mappingInput) { in.MaximumRetryAttempts = all.MaximumRetryAttempts },
	"parallelization":         func(in, all *mappingInput) { in.ParallelizationFactor = all.ParallelizationFactor },
	"tumblingWindow":          func(in, all *mappingInput) { in.TumblingWindowInSeconds = all.TumblingWindowInSeconds },
	"access":                  func(in, all *mappingInput) { in.SourceAccessConfigurations = all.SourceAccessConfigurations },
	"documentDb":              func(in, all *mappingInput) { in.DocumentDBEventSourceConfig = all.DocumentDBEventSourceConfig },
	"pollers":                 func(in, all *mappingInput) { in.ProvisionedPollerConfig = all.ProvisionedPollerConfig },
	"kmsKey":                  func(in, all *mappingInput) { in.KMSKeyArn = all.KMSKeyArn },
	"eventCount":              func(in, all *mappingInput) { in.MetricsConfig = all.MetricsConfig },
}

// input is all that can be changed, as a call sets it: what there is none of is empty, which clears it. service is that of
// the source, which says what the defaults are.
func (p EventSourceMappingProps) input(service string) (*mappingInput, error) {
	aws.OrDefault(&p.BatchSize, defaultBatch(service))
	aws.OrDefault(&p.BatchWindow, 0)
	in := &mappingInput{
		FunctionName: new(string(p.Function)), Enabled: p.Enabled, BatchSize: number(p.BatchSize), MaximumBatchingWindowInSeconds: inSeconds(*p.BatchWindow),
		FilterCriteria: &types.FilterCriteria{Filters: make([]types.Filter, 0, len(p.Filters))}, FunctionResponseTypes: []types.FunctionResponseType{},
		ScalingConfig: &types.ScalingConfig{MaximumConcurrency: number(p.MaxConcurrency)}, BisectBatchOnFunctionError: &p.BisectOnError,
		DestinationConfig:         &types.DestinationConfig{OnFailure: &types.OnFailure{Destination: aws.OrNil(string(p.OnFailure))}},
		MaximumRecordAgeInSeconds: new(int32(-1)), MaximumRetryAttempts: new(int32(-1)), ParallelizationFactor: number(p.Parallelization),
		TumblingWindowInSeconds: inSeconds(p.TumblingWindow), SourceAccessConfigurations: make([]types.SourceAccessConfiguration, 0, len(p.Access)),
		ProvisionedPollerConfig: &types.ProvisionedPollerConfig{}, KMSKeyArn: new(string(p.KMSKey)),
		MetricsConfig: &types.EventSourceMappingMetricsConfig{Metrics: []types.EventSourceMappingMetric{}},
	}
	for i, f := range p.Filters {
		text, err := aws.DocumentText(f)
		if err != nil {
			return nil, fmt.Errorf("filters[%d]: %w", i, err)
		}
		in.FilterCriteria.Filters = append(in.FilterCriteria.Filters, types.Filter{Pattern: &text})
	}
	if p.ReportBatchItemFailures {
		in.FunctionResponseTypes = append(in.FunctionResponseTypes, types.FunctionResponseTypeReportBatchItemFailures)
	}
	if p.MaxRecordAge != nil {
		in.MaximumRecordAgeInSeconds = inSeconds(*p.MaxRecordAge)
	}
	if p.MaxRetries != nil {
		in.MaximumRetryAttempts = number(p.MaxRetries)
	}
	for _, a := range p.Access {
		in.SourceAccessConfigurations = append(in.SourceAccessConfigurations, types.SourceAccessConfiguration{Type: types.SourceAccessType(a.Type), URI: &a.URI})
	}
	if d := p.DocumentDB; d != nil {
		in.DocumentDBEventSourceConfig = &types.DocumentDBEventSourceConfig{
			DatabaseName: &d.Database, CollectionName: aws.OrNil(d.Collection), FullDocument: types.FullDocument(orZero(d.FullDocument)),
		}
	}
	if m := p.Pollers; m != nil {
		in.ProvisionedPollerConfig = &types.ProvisionedPollerConfig{MinimumPollers: number(m.Minimum), MaximumPollers: number(m.Maximum)}
	}
	if p.EventCount {
		in.MetricsConfig.Metrics = append(in.MetricsConfig.Metrics, types.EventSourceMappingMetricEventCount)
	}
	return in, nil
}

func number(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n))
}

func updateMapping(want EventSourceMappingProps) *reconcile.Operation[liveMapping] {
	return &reconcile.Operation[liveMapping]{Name: "UpdateEventSourceMapping", Do: func(ctx context.Context, on reconcile.On[liveMapping]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		whole, err := merged(want, on.Live.have, on.Changed)
		if err != nil {
			return err
		}
		all, err := whole.input(serviceOf(on.Live.have.Source))
		if err != nil {
			return err
		}
		in := &mappingInput{UUID: &on.Live.attrs.ID}
		for _, path := range on.Changed {
			mappingMembers[first(path)](in, all)
		}
		_, err = client.UpdateEventSourceMapping(ctx, in)
		return grantedLate(ctx, client, on.Cloud, whole.Function, on.Since, aws.NotYet(err))
	}}
}

// grantedLate: what a mapping needs is granted to the function's role, often a moment before.
func grantedLate(ctx context.Context, client *sdk.Client, cloud reconcile.Cloud, function aws.ARN, since time.Time, err error) error {
	if !isInvalid(err) {
		return err
	}
	out, look := client.GetFunctionConfiguration(ctx, &sdk.GetFunctionConfigurationInput{FunctionName: new(string(function))})
	if look != nil {
		return err
	}
	return lag{cloud, aws.ARN(sdkaws.ToString(out.Role)), since, true}.of(ctx, err)
}

// createMapping carries everything and all tags in one call; what is at its default is left out, since some sources do not
// take it.
func createMapping(ctx context.Context, site mappingSite) (EventSourceMapping, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return EventSourceMapping{}, err
	}
	want := site.Want
	in, err := want.creation()
	if err != nil {
		return EventSourceMapping{}, err
	}
	in.Tags = aws.Tags(want.Tags, site.Mark)
	out, err := client.CreateEventSourceMapping(ctx, in)
	if err != nil {
		return EventSourceMapping{}, grantedLate(ctx, client, site.Cloud, want.Function, site.Since, err)
	}
	return EventSourceMapping{
		ARN: aws.ARN(sdkaws.ToString(out.EventSourceMappingArn)), ID: sdkaws.ToString(out.UUID), Function: arnOf(site.Place, want.Function), Source: want.Source,
	}, nil
}

func (p EventSourceMappingProps) creation() (*sdk.CreateEventSourceMappingInput, error) {
	all, err := p.input(serviceOf(p.Source))
	if err != nil {
		return nil, err
	}
	in := &sdk.CreateEventSourceMappingInput{
		FunctionName: all.FunctionName, EventSourceArn: aws.OrNil(string(p.Source)), Enabled: all.Enabled, BatchSize: number(p.BatchSize),
		BisectBatchOnFunctionError: aws.OrNil(p.BisectOnError), KMSKeyArn: aws.OrNil(string(p.KMSKey)), MaximumRetryAttempts: number(p.MaxRetries),
		StartingPosition: types.EventSourcePosition(orZero(p.StartingPosition)), Topics: p.Topics, Queues: p.Queues,
		DocumentDBEventSourceConfig: all.DocumentDBEventSourceConfig,
	}
	if p.BatchWindow != nil {
		in.MaximumBatchingWindowInSeconds = inSeconds(*p.BatchWindow)
	}
	if p.MaxRecordAge != nil {
		in.MaximumRecordAgeInSeconds = inSeconds(*p.MaxRecordAge)
	}
	if streams(serviceOf(p.Source)) {
		in.ParallelizationFactor, in.TumblingWindowInSeconds = all.ParallelizationFactor, all.TumblingWindowInSeconds
	}
	if len(p.Filters) > 0 {
		in.FilterCriteria = all.FilterCriteria
	}
	if p.ReportBatchItemFailures {
		in.FunctionResponseTypes = all.FunctionResponseTypes
	}
	if p.MaxConcurrency != nil {
		in.ScalingConfig = all.ScalingConfig
	}
	if p.OnFailure != "" {
		in.DestinationConfig = all.DestinationConfig
	}
	if len(p.Access) > 0 {
		in.SourceAccessConfigurations = all.SourceAccessConfigurations
	}
	if p.Pollers != nil {
		in.ProvisionedPollerConfig = all.ProvisionedPollerConfig
	}
	if p.EventCount {
		in.MetricsConfig = all.MetricsConfig
	}
	return in, p.position(in)
}

// position is where a source is begun, and which cluster of Kafka it is.
func (p EventSourceMappingProps) position(in *sdk.CreateEventSourceMappingInput) error {
	if p.StartingTimestamp != "" {
		at, err := time.Parse(time.RFC3339, p.StartingTimestamp)
		if err != nil {
			return fmt.Errorf("startingTimestamp: %w", err)
		}
		in.StartingPositionTimestamp = &at
	}
	if len(p.Servers) > 0 {
		in.SelfManagedEventSource = &types.SelfManagedEventSource{
			Endpoints: map[string][]string{string(types.EndPointTypeKafkaBootstrapServers): p.Servers},
		}
	}
	switch {
	case p.ConsumerGroupID == "":
	case len(p.Servers) > 0:
		in.SelfManagedKafkaEventSourceConfig = &types.SelfManagedKafkaEventSourceConfig{ConsumerGroupId: &p.ConsumerGroupID}
	default:
		in.AmazonManagedKafkaEventSourceConfig = &types.AmazonManagedKafkaEventSourceConfig{ConsumerGroupId: &p.ConsumerGroupID}
	}
	return nil
}
