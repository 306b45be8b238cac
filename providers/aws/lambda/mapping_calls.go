package lambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

var (
	errNoMapping   = errors.New("a mapping is found by its ARN, or by its function and source")
	errMappingGoes = errors.New("the mapping is still there")
)

// idOf is the id at the end of a mapping's ARN.
func idOf(identity string) string { return identity[strings.LastIndexByte(identity, ':')+1:] }

func observeMapping(ctx context.Context, site mappingSite) (liveMapping, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveMapping{}, err
	}
	id := ""
	switch {
	case site.Last != nil:
		id = site.Last.ID
	case site.ID != "":
		id = idOf(site.ID)
	default:
		return findMapping(ctx, client, site)
	}
	out, err := client.GetEventSourceMapping(ctx, &sdk.GetEventSourceMappingInput{UUID: &id})
	if err != nil {
		return liveMapping{}, aws.Absent(err)
	}
	return wholeMapping(ctx, client, (*mappingAnswer)(out).configuration())
}

// findMapping looks through the list of the function and the source for the mapping that agrees in all that cannot change.
// Where several do, the mark decides.
func findMapping(ctx context.Context, client *sdk.Client, site mappingSite) (liveMapping, error) {
	want := site.Want
	if want.Function == "" {
		return liveMapping{}, errNoMapping
	}
	if token.Has(string(want.Function)) || token.Has(string(want.Source)) {
		return liveMapping{}, reconcile.ErrAbsent // what is not known yet is not mapped
	}
	in := &sdk.ListEventSourceMappingsInput{FunctionName: new(string(want.Function)), EventSourceArn: aws.OrNil(string(want.Source))}
	var found []liveMapping
	for pages := sdk.NewListEventSourceMappingsPaginator(listEventSourceMappingsCall(client.ListEventSourceMappings), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return liveMapping{}, aws.Absent(err)
		}
		for _, c := range page.EventSourceMappings {
			live, err := mappingOf(c)
			if err != nil {
				return live, err
			}
			if live.state != "Deleting" && live.have.same(want) {
				found = append(found, live)
			}
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
		found = slices.DeleteFunc(found, func(l liveMapping) bool {
			m := adopt.MarkOf(l.tags)
			return m.Stack != site.Mark.Stack || m.Stage != site.Mark.Stage || m.Address != site.Mark.Address
		})
	}
	if len(found) != 1 {
		return liveMapping{}, fmt.Errorf("%w: several mappings of %s to %s", reconcile.ErrAmbiguous, want.Source, want.Function)
	}
	return found[0], nil
}

// same reports whether a mapping reads what is declared.
func (p EventSourceMappingProps) same(want EventSourceMappingProps) bool {
	return p.Source == want.Source && slices.Equal(p.Topics, want.Topics) && slices.Equal(p.Queues, want.Queues) &&
		slices.Equal(sorted(p.Servers), sorted(want.Servers)) && p.ConsumerGroupID == want.ConsumerGroupID
}

func wholeMapping(ctx context.Context, client *sdk.Client, c types.EventSourceMappingConfiguration) (liveMapping, error) {
	live, err := mappingOf(c)
	if err != nil {
		return live, err
	}
	return live, live.readTags(ctx, client)
}

func (l *liveMapping) readTags(ctx context.Context, client *sdk.Client) error {
	out, err := client.ListTags(ctx, &sdk.ListTagsInput{Resource: new(string(l.attrs.ARN))})
	if err != nil {
		return aws.Absent(err)
	}
	l.tags = out.Tags
	return nil
}

// mappingAnswer is the answer to a look at one mapping, which has the members of those in lists.
type mappingAnswer sdk.GetEventSourceMappingOutput

func (a *mappingAnswer) configuration() types.EventSourceMappingConfiguration {
	return types.EventSourceMappingConfiguration{
		AmazonManagedKafkaEventSourceConfig: a.AmazonManagedKafkaEventSourceConfig, BatchSize: a.BatchSize,
		BisectBatchOnFunctionError: a.BisectBatchOnFunctionError, DestinationConfig: a.DestinationConfig,
		DocumentDBEventSourceConfig: a.DocumentDBEventSourceConfig, EventSourceArn: a.EventSourceArn, EventSourceMappingArn: a.EventSourceMappingArn,
		FilterCriteria: a.FilterCriteria, FilterCriteriaError: a.FilterCriteriaError, FunctionArn: a.FunctionArn,
		FunctionResponseTypes: a.FunctionResponseTypes, KMSKeyArn: a.KMSKeyArn, MaximumBatchingWindowInSeconds: a.MaximumBatchingWindowInSeconds,
		MaximumRecordAgeInSeconds: a.MaximumRecordAgeInSeconds, MaximumRetryAttempts: a.MaximumRetryAttempts, MetricsConfig: a.MetricsConfig,
		ParallelizationFactor: a.ParallelizationFactor, ProvisionedPollerConfig: a.ProvisionedPollerConfig, Queues: a.Queues,
		ScalingConfig: a.ScalingConfig, SelfManagedEventSource: a.SelfManagedEventSource,
		SelfManagedKafkaEventSourceConfig: a.SelfManagedKafkaEventSourceConfig, SourceAccessConfigurations: a.SourceAccessConfigurations,
		StartingPosition: a.StartingPosition, StartingPositionTimestamp: a.StartingPositionTimestamp, State: a.State, Topics: a.Topics,
		TumblingWindowInSeconds: a.TumblingWindowInSeconds, UUID: a.UUID,
	}
}

// mappingOf is a mapping in the shape of props.
func mappingOf(c types.EventSourceMappingConfiguration) (liveMapping, error) {
	live := liveMapping{state: sdkaws.ToString(c.State), attrs: EventSourceMapping{
		ARN: aws.ARN(sdkaws.ToString(c.EventSourceMappingArn)), ID: sdkaws.ToString(c.UUID),
		Function: aws.ARN(sdkaws.ToString(c.FunctionArn)), Source: aws.ARN(sdkaws.ToString(c.EventSourceArn)),
	}}
	if e := c.FilterCriteriaError; e != nil {
		return live, fmt.Errorf("filters: %w", hidden(e.ErrorCode, e.Message))
	}
	p := EventSourceMappingProps{
		Function: live.attrs.Function, Source: live.attrs.Source, Enabled: new(live.state != "Disabled" && live.state != "Disabling"),
		BatchSize: count(c.BatchSize), BatchWindow: new(seconds(c.MaximumBatchingWindowInSeconds)),
		ReportBatchItemFailures: slices.Contains(c.FunctionResponseTypes, types.FunctionResponseTypeReportBatchItemFailures),
		BisectOnError:           sdkaws.ToBool(c.BisectBatchOnFunctionError), Parallelization: new(1), TumblingWindow: seconds(c.TumblingWindowInSeconds),
		StartingPosition: aws.OrNil(string(c.StartingPosition)), Topics: c.Topics, Queues: c.Queues, KMSKey: aws.ARN(sdkaws.ToString(c.KMSKeyArn)),
	}
	if n := c.ParallelizationFactor; n != nil {
		p.Parallelization = count(n)
	}
	if n := c.MaximumRecordAgeInSeconds; n != nil && *n >= 0 {
		p.MaxRecordAge = new(seconds(n))
	}
	if n := c.MaximumRetryAttempts; n != nil && *n >= 0 {
		p.MaxRetries = count(n)
	}
	if t := c.StartingPositionTimestamp; t != nil {
		p.StartingTimestamp = t.UTC().Format(time.RFC3339)
	}
	_, p.OnFailure = destinationsOf(c.DestinationConfig)
	mappingParts(&p, c)
	live.have = p
	return live, nil
}

// mappingParts reads what has members of its own.
func mappingParts(p *EventSourceMappingProps, c types.EventSourceMappingConfiguration) {
	if f := c.FilterCriteria; f != nil {
		for _, filter := range f.Filters {
			p.Filters = append(p.Filters, sdkaws.ToString(filter.Pattern))
		}
	}
	if s := c.ScalingConfig; s != nil {
		p.MaxConcurrency = count(s.MaximumConcurrency)
	}
	if s := c.SelfManagedEventSource; s != nil {
		p.Servers = s.Endpoints[string(types.EndPointTypeKafkaBootstrapServers)]
	}
	if k := c.AmazonManagedKafkaEventSourceConfig; k != nil {
		p.ConsumerGroupID = sdkaws.ToString(k.ConsumerGroupId)
	}
	if k := c.SelfManagedKafkaEventSourceConfig; k != nil {
		p.ConsumerGroupID = sdkaws.ToString(k.ConsumerGroupId)
	}
	for _, a := range c.SourceAccessConfigurations {
		p.Access = append(p.Access, Access{Type: string(a.Type), URI: sdkaws.ToString(a.URI)})
	}
	if d := c.DocumentDBEventSourceConfig; d != nil {
		p.DocumentDB = &DocumentDB{Database: sdkaws.ToString(d.DatabaseName), Collection: sdkaws.ToString(d.CollectionName), FullDocument: new("Default")}
		if d.FullDocument != "" {
			p.DocumentDB.FullDocument = new(string(d.FullDocument))
		}
	}
	if m := c.ProvisionedPollerConfig; m != nil && (m.MinimumPollers != nil || m.MaximumPollers != nil) {
		p.Pollers = &Pollers{Minimum: count(m.MinimumPollers), Maximum: count(m.MaximumPollers)}
	}
	p.EventCount = c.MetricsConfig != nil && slices.Contains(c.MetricsConfig.Metrics, types.EventSourceMappingMetricEventCount)
}

func count(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

// deleteMapping returns when Lambda no longer shows the mapping: it stops reading first.
func deleteMapping(ctx context.Context, site mappingSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	id := site.Last.ID
	live, err := client.GetEventSourceMapping(ctx, &sdk.GetEventSourceMappingInput{UUID: &id})
	if err != nil {
		return err // absent is what is wanted
	}
	if sdkaws.ToString(live.State) == "Deleting" {
		return aws.Busy(errMappingGoes)
	}
	if _, err := client.DeleteEventSourceMapping(ctx, &sdk.DeleteEventSourceMappingInput{UUID: &id}); err != nil {
		return err
	}
	if _, err := client.GetEventSourceMapping(ctx, &sdk.GetEventSourceMappingInput{UUID: &id}); err != nil {
		return err
	}
	return aws.Busy(errMappingGoes)
}

func listMappings(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	return listMappingsBy(ctx, scope, &sdk.ListEventSourceMappingsInput{})
}

// listMappingsOf lists the mappings of one function.
func listMappingsOf(ctx context.Context, scope reconcile.Scope, function reconcile.Found) ([]reconcile.Found, error) {
	return listMappingsBy(ctx, scope, &sdk.ListEventSourceMappingsInput{FunctionName: &function.Identity})
}

func listMappingsBy(ctx context.Context, scope reconcile.Scope, by *sdk.ListEventSourceMappingsInput) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for pages := sdk.NewListEventSourceMappingsPaginator(listEventSourceMappingsCall(client.ListEventSourceMappings), by); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range page.EventSourceMappings {
			if sdkaws.ToString(m.State) != "Deleting" {
				all = append(all, reconcile.Found{Kind: mappingType, Place: scope.Place, Identity: sdkaws.ToString(m.EventSourceMappingArn)})
			}
		}
	}
	return all, nil
}

func putMappingTags(ctx context.Context, on reconcile.On[liveMapping], tags map[string]string) error {
	return putTags(ctx, on.Cloud, on.Live.attrs.ARN, tags)
}

func dropMappingTags(ctx context.Context, on reconcile.On[liveMapping], keys []string) error {
	return dropTags(ctx, on.Cloud, on.Live.attrs.ARN, keys)
}
