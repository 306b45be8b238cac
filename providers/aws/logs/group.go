// Package logs offers log groups of Amazon CloudWatch Logs, and reads what is in them.
//
// It knows a group's settings, its policies and its events. It does not know streams, metric filters, subscriptions and
// transformers, which are resources of their own; how calls are made and judged is the business of package aws.
package logs

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed group.go
var source embed.FS

const groupType = "aws.logs.LogGroup"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{groupKind.Erase()},
		Constructs: map[string]athanor.Construct{
			groupType: aws.Usable((func(LogGroup, LogGroupProps) LogGroup)(nil), LogGroup.Grant, map[string]Access{"write": Write, "read": Read}),
		},
		Filters:  []string{"logs"},
		Registry: map[string]string{"AWS::Logs::LogGroup": groupType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			name, ok = strings.CutPrefix(p.Resource, "log-group:")
			name = strings.TrimSuffix(name, ":*")
			ok = ok && p.Service == "logs" && !strings.Contains(name, ":")
			p.Resource = "log-group:" + name
			return groupType, string(p.ARN()), name, ok
		},
	}
}

// NewLogGroup declares a log group.
func NewLogGroup(s *athanor.Stack, name string, p LogGroupProps, opts ...athanor.Option) LogGroup {
	return athanor.Declare(s, groupKind, name, p, opts...)
}

// ReadLogGroup uses a log group that the stack does not own: by its name or ARN, or by LogGroupProps that name it.
func ReadLogGroup(s *athanor.Stack, name string, by any) LogGroup {
	return athanor.Read(s, groupKind, name, by)
}

// LogGroupProps declare a log group. Defaults and limits are those of
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
type LogGroupProps struct {
	// Name of the group: up to 512 letters, digits and . - _ / #. It does not begin with aws/. Default: none, a name is
	// generated. Services make groups by themselves, such as /aws/lambda/NAME on a function's first run: one that is
	// there without an owner tag is not ours until it is adopted. Changing it replaces the group.
	Name string
	// Retention is how long events are kept, in whole days: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096,
	// 1827, 2192, 2557, 2922, 3288 or 3653; 0s is for ever. A policy of the account that sets the retention of its
	// groups goes before it, and then it is not compared. The class DELIVERY has its own and takes none.
	Retention time.Duration `prop:"default=0s,unit=24h" wire:"RetentionInDays"`
	// KMSKeyID is the ARN of the key of KMS that encrypts events; its policy must let CloudWatch Logs use it. A change
	// counts for new events. Default: none, a key of the service.
	KMSKeyID aws.ARN `prop:"maxlen=256" wire:"KmsKeyId"`
	// Class says what can be done with events, and what they cost:
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CloudWatch_Logs_Log_Classes.html
	Class *string `prop:"enum=STANDARD|INFREQUENT_ACCESS|DELIVERY|ESSENTIALS,default=STANDARD,immutable" wire:"LogGroupClass"`
	// DeletionProtection refuses the deletion of the group, to anybody. Deleting or replacing it here needs leave, as for
	// a group with events in it, and takes the protection away first.
	DeletionProtection bool `prop:"default=false" wire:"DeletionProtectionEnabled"`
	// BearerTokenAuthentication lets events be sent with a bearer token.
	BearerTokenAuthentication bool `prop:"default=false" wire:"BearerTokenAuthenticationEnabled"`
	// DataProtectionPolicy finds and masks sensitive data: a document, or JSON text, up to 30,720 characters. Groups of
	// the class STANDARD alone have one. Default: none.
	DataProtectionPolicy any `prop:"deferrable" wire:"-,document"`
	// IndexPolicy says which fields of events are indexed: a document such as {"Fields": ["requestId"]}, or JSON text.
	// Groups of the class STANDARD alone have one. Default: none, the account's policy counts, or as somebody else left it: a
	// group whose policy is not declared, and was not, is not asked for it.
	IndexPolicy any `wire:"-,index"`
	// Policy says which services and accounts may use the group: a document (see aws.Policy), or JSON text. Default: none.
	Policy any `prop:"deferrable" wire:"-,policy"`
	// Tags of the group, beside the owner tags. Default: none.
	Tags map[string]string
}

// LogGroup is what others may refer to of a log group.
type LogGroup struct {
	// ARN of the group.
	ARN aws.ARN `attr:"early"`
	// StreamsARN stands for everything in the group, as policies need it that allow writing and reading: the ARN
	// with :* after it.
	StreamsARN aws.ARN `attr:"early"`
	// Name of the group.
	Name string `attr:"early"`
	// IndexPolicy is "on" for a group that was last seen to have an index policy of its own, else empty.
	IndexPolicy string `attr:"mutable=indexPolicy"`
}

// liveGroup is an observed log group.
type liveGroup struct {
	attrs LogGroup
	have  LogGroupProps
	tags  map[string]string
	// used: events are stored, or there is a stream, which is made with the first event. Bytes are counted hours later.
	used bool
	// ruled: the account or the class says how long events are kept.
	ruled                      bool
	policyName, policyRevision string
}

type site = kind.Site[LogGroupProps, LogGroup]

var groupTable = kind.TableOf[LogGroupProps](aws.PolicyCodec(),
	kind.Codec{Name: "document", Form: aws.Document}, kind.Codec{Name: "index", Form: indexed}).
	For(kind.In(sdk.CreateLogGroupInput{}), kind.In(sdk.PutRetentionPolicyInput{}), kind.In(sdk.PutBearerTokenAuthenticationInput{}),
		kind.Out(types.LogGroup{}))

var groupKind = &kind.Kind[LogGroupProps, liveGroup, LogGroup]{
	Type: groupType,
	Doc: "A log group of CloudWatch Logs with its retention, key, class, protection, policies and tags. Its events are " +
		"not managed: a group with streams in it, or with deletion protection, holds data, and deleting it needs permission. " +
		"Streams, metric filters, subscription filters and transformers are not managed either.",

	Observe:    aws.Together(groupType, observeGroup, observeGroups),
	Create:     createGroup,
	Compare:    compareGroup,
	Attributes: groupAttributes,
	Delete:     deleteGroup,
	Identity:   func(g LogGroup) string { return string(g.ARN) },

	Props: groupTable,
	Check: checkGroup,
	Named: &kind.Named[LogGroupProps, liveGroup]{
		Given: func(want LogGroupProps) string { return want.Name },
		Rule:  func(LogGroupProps) kind.NameRule { return kind.NameRule{Max: 512, Marks: "-_/.#"} },
		Live:  func(live liveGroup) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want LogGroupProps) map[string]string { return want.Tags },
		func(live liveGroup) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	HoldsData: &kind.HoldsData[LogGroupProps, liveGroup]{
		Now: func(live liveGroup) bool { return live.used || live.have.DeletionProtection },
		What: func(live liveGroup) string {
			if live.have.DeletionProtection {
				return "it has deletion protection"
			}
			return "events"
		},
	},
	List: listGroups,
	Bulk: aws.InBulk(observeGroup, observeGroups),
	Logs: func(ctx context.Context, s site, query kind.LogQuery) iter.Seq2[kind.LogLine, error] {
		return Tail(ctx, s.Cloud, s.Last.Name, query)
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: api(),
}

func api() kind.API {
	api := aws.API("Logs", "logs", source, kind.Permissions{
		Observe: []string{
			"DescribeLogGroups", "DescribeLogStreams", "ListTagsForResource", "GetDataProtectionPolicy", "DescribeIndexPolicies",
			"DescribeResourcePolicies",
		},
		Create: []string{
			"CreateLogGroup", "TagResource", "PutRetentionPolicy", "PutBearerTokenAuthentication", "PutDataProtectionPolicy", "PutIndexPolicy",
			"PutResourcePolicy",
		},
		Only: map[string][]tree.Path{
			"PutRetentionPolicy": {"retention"}, "PutLogGroupDeletionProtection": {"deletionProtection"},
			"PutBearerTokenAuthentication": {"bearerTokenAuthentication"}, "PutDataProtectionPolicy": {"dataProtectionPolicy"}, "GetDataProtectionPolicy": {"dataProtectionPolicy"},
			"PutIndexPolicy": {"indexPolicy"}, "PutResourcePolicy": {"policy"},
			"DescribeIndexPolicies": {"indexPolicy"},
		},
		Update: []string{
			"PutRetentionPolicy", "DeleteRetentionPolicy", "AssociateKmsKey", "DisassociateKmsKey", "PutLogGroupDeletionProtection",
			"PutBearerTokenAuthentication", "PutDataProtectionPolicy", "DeleteDataProtectionPolicy", "PutIndexPolicy",
			"DeleteIndexPolicy", "PutResourcePolicy", "DeleteResourcePolicy", "TagResource", "UntagResource",
		},
		Delete: []string{"DeleteLogGroup", "PutLogGroupDeletionProtection"},
		// Some actions want the group's ARN alone, others the one of all in it.
		Resource: func(location kind.Location, name string) []string {
			arn := string(arnOf(location, name))
			return []string{arn, arn + ":*"}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatchlogs.html
		Anywhere: []string{"DescribeLogGroups", "DescribeResourcePolicies", "PutResourcePolicy", "DeleteResourcePolicy"},
	})
	api.Calls = append(api.Calls, "Logs.FilterLogEvents")
	return api
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

// arnOf is how CloudWatch Logs names a group.
func arnOf(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "logs", "log-group:"+name)
}

func groupOf(location kind.Location, name string) LogGroup {
	arn := arnOf(location, name)
	return LogGroup{ARN: arn, StreamsARN: arn + ":*", Name: name}
}

// days are the times that events can be kept for.
var days = []time.Duration{
	0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

const day = 24 * time.Hour

// checkGroup finds what CloudWatch Logs would refuse, beyond what the table says.
func checkGroup(want LogGroupProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if strings.HasPrefix(want.Name, "aws/") {
		wrong("name", "names do not begin with aws/")
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

// indexed is an index policy in one form: the order of fields does not count.
func indexed(document any) any {
	m, ok := aws.Document(document).(map[string]any)
	if !ok {
		return aws.Document(document)
	}
	m = maps.Clone(m)
	for k, v := range m {
		if list, ok := v.([]any); ok {
			m[k] = slices.SortedFunc(slices.Values(list), func(a, b any) int { return bytes.Compare(tree.Canonical(a), tree.Canonical(b)) })
		}
	}
	return m
}

func described(ctx context.Context, cloud kind.Cloud, in *sdk.DescribeLogGroupsInput) iter.Seq2[*sdk.DescribeLogGroupsOutput, error] {
	return aws.Pages(ctx, clientOf(cloud).DescribeLogGroups, in, func(in *sdk.DescribeLogGroupsInput, out *sdk.DescribeLogGroupsOutput) bool {
		in.NextToken = out.NextToken
		return sdkaws.ToString(in.NextToken) != ""
	})
}

// groupNamed finds the one group of that name among all that begin like it, of which it is the first.
func groupNamed(ctx context.Context, cloud kind.Cloud, name string) (types.LogGroup, error) {
	for page, err := range described(ctx, cloud, &sdk.DescribeLogGroupsInput{LogGroupNamePrefix: &name}) {
		if err != nil {
			return types.LogGroup{}, err
		}
		for _, g := range page.LogGroups {
			if sdkaws.ToString(g.LogGroupName) == name {
				return g, nil
			}
		}
	}
	return types.LogGroup{}, reconcile.ErrAbsent
}

func observeGroup(ctx context.Context, s site) (live liveGroup, err error) {
	s.ID = strings.TrimSuffix(s.ID, ":*") // which stands for its streams in an ARN
	name, err := aws.NameOf(s, aws.Names[LogGroup]{
		Of:  func(g LogGroup) string { return g.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "log-group:") },
		ARN: arnOf,
	})
	if err != nil {
		return live, err
	}
	shown, err := groupNamed(ctx, s.Cloud, name)
	if err != nil {
		return live, err
	}
	if live, err = read(groupOf(s.Location, name), shown); err != nil {
		return live, err
	}
	group, ctx := errgroup.WithContext(ctx)
	part := func(read func(context.Context, kind.Cloud) error) {
		group.Go(func() error { return read(ctx, s.Cloud) })
	}
	part(live.readTags)
	part(live.readPolicy)
	if !live.used {
		part(live.readUse)
	}
	if asksIndex(s) && *live.have.Class == string(types.LogGroupClassStandard) {
		part(live.readIndex)
	}
	// Groups that never had such a policy have no status, which may be shown late.
	if shown.DataProtectionStatus != "" || s.Want.DataProtectionPolicy != nil {
		part(live.readDataProtection)
	}
	return live, group.Wait()
}

// isPlain reports whether a group is declared, which has a class then, and none of the policies that are read singly.
func isPlain(s site) bool {
	return s.Want.Class != nil && s.Want.DataProtectionPolicy == nil && s.Want.Policy == nil && !asksIndex(s)
}

// mostGroups is how many groups one call describes by their names:
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeLogGroups.html
const mostGroups = 50

// observeGroups reads the descriptions of many groups together, their tags, and which have a policy. A group that is no longer
// declared, or has a policy, is left out, and so is one that would be replaced. Whether a group is in use is not asked for each: it
// counts as used.
func observeGroups(ctx context.Context, all []site) ([]*aws.Answer[liveGroup], error) {
	answers := make([]*aws.Answer[liveGroup], len(all))
	if !slices.ContainsFunc(all, isPlain) {
		return answers, nil
	}
	tags, err := aws.TagsTogether(ctx, all,
		func(g LogGroup) aws.ARN { return g.ARN }, func(want LogGroupProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	ruled, err := withPolicy(ctx, all[0].Cloud)
	if err != nil {
		return nil, err
	}
	shown := map[string]types.LogGroup{}
	for some := range slices.Chunk(all, mostGroups) {
		in := &sdk.DescribeLogGroupsInput{}
		for _, s := range some {
			in.LogGroupIdentifiers = append(in.LogGroupIdentifiers, s.Last.Name)
		}
		for page, err := range described(ctx, some[0].Cloud, in) {
			if err != nil {
				return nil, err
			}
			for _, g := range page.LogGroups {
				shown[sdkaws.ToString(g.LogGroupName)] = g
			}
		}
	}
	for i, s := range all {
		g, isShown := shown[s.Last.Name]
		if tags[i] == nil || !isShown || !isPlain(s) || g.DataProtectionStatus != "" || ruled[s.Last.ARN] {
			continue
		}
		live, err := read(groupOf(s.Location, s.Last.Name), g)
		if err != nil || *live.have.Class != *s.Want.Class || s.Name != live.attrs.Name {
			continue
		}
		live.tags, live.used = tags[i], true
		answers[i] = &aws.Answer[liveGroup]{Value: live}
	}
	return answers, nil
}

// asksIndex reports whether an index policy is declared or was. Others are not asked for theirs, since not all that speaks the
// protocol of CloudWatch Logs knows it.
func asksIndex(s site) bool {
	return s.Want.IndexPolicy != nil || s.Last != nil && s.Last.IndexPolicy != ""
}

// groupAttributes are those of an observed group.
func groupAttributes(live liveGroup) LogGroup {
	attrs := live.attrs
	if live.have.IndexPolicy != nil {
		attrs.IndexPolicy = "on"
	}
	return attrs
}

// read is a group as its description shows it. One that is older than classes has none.
func read(attrs LogGroup, shown types.LogGroup) (live liveGroup, err error) {
	live = liveGroup{attrs: attrs, used: sdkaws.ToInt64(shown.StoredBytes) > 0}
	live.have, err = groupTable.Read(kind.Struct(&shown))
	live.ruled = shown.RetentionPolicyName != nil || shown.LogGroupClass == types.LogGroupClassDelivery
	return live, err
}

func (l *liveGroup) readTags(ctx context.Context, cloud kind.Cloud) error {
	out, err := clientOf(cloud).ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: new(string(l.attrs.ARN))})
	if err != nil {
		return aws.Absent(err)
	}
	l.tags = out.Tags
	return nil
}

func (l *liveGroup) readUse(ctx context.Context, cloud kind.Cloud) error {
	out, err := clientOf(cloud).DescribeLogStreams(ctx, &sdk.DescribeLogStreamsInput{LogGroupName: &l.attrs.Name, Limit: new(int32(1))})
	if err != nil {
		return aws.Absent(err)
	}
	l.used = len(out.LogStreams) > 0
	return nil
}

// readDataProtection takes "there is none" for what it says: the group itself has just been seen.
func (l *liveGroup) readDataProtection(ctx context.Context, cloud kind.Cloud) error {
	out, err := clientOf(cloud).GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{LogGroupIdentifier: &l.attrs.Name})
	if err != nil {
		return aws.OrNone(err)
	}
	l.have.DataProtectionPolicy = sdkaws.ToString(out.PolicyDocument)
	return nil
}

// readIndex leaves out the account's policy, which is shown where the group has none.
func (l *liveGroup) readIndex(ctx context.Context, cloud kind.Cloud) error {
	out, err := clientOf(cloud).DescribeIndexPolicies(ctx, &sdk.DescribeIndexPoliciesInput{LogGroupIdentifiers: []string{l.attrs.Name}})
	if err != nil {
		return aws.OrNone(err)
	}
	for _, p := range out.IndexPolicies {
		if p.Source != types.IndexSourceAccount {
			l.have.IndexPolicy = sdkaws.ToString(p.PolicyDocument)
		}
	}
	return nil
}

// readPolicy goes by what each policy says it belongs to. A group has at most one:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-logs-loggroup.html
func (l *liveGroup) readPolicy(ctx context.Context, cloud kind.Cloud) error {
	for p, err := range policies(ctx, clientOf(cloud), &sdk.DescribeResourcePoliciesInput{ResourceArn: new(string(l.attrs.ARN))}) {
		if err != nil {
			return aws.OrNone(err)
		}
		if belongsTo(p) == l.attrs.ARN {
			l.have.Policy = sdkaws.ToString(p.PolicyDocument)
			l.policyName, l.policyRevision = sdkaws.ToString(p.PolicyName), sdkaws.ToString(p.RevisionId)
		}
	}
	return nil
}

// withPolicy are the groups that have a policy: who may use a group is always asked, since anybody who may can open it to others.
func withPolicy(ctx context.Context, cloud kind.Cloud) (map[aws.ARN]bool, error) {
	groups := map[aws.ARN]bool{}
	for p, err := range policies(ctx, clientOf(cloud), &sdk.DescribeResourcePoliciesInput{Limit: new(int32(mostPolicies))}) {
		if err != nil {
			return nil, err
		}
		groups[belongsTo(p)] = true
	}
	return groups, nil
}

// mostPolicies is how many policies one call shows:
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeResourcePolicies.html
const mostPolicies = 50

// policies are those of log groups, not of the account. What does not know the operation, as an emulator does not, keeps none.
func policies(ctx context.Context, client *sdk.Client, in *sdk.DescribeResourcePoliciesInput) iter.Seq2[types.ResourcePolicy, error] {
	in.PolicyScope = types.PolicyScopeResource
	pages := aws.Pages(ctx, client.DescribeResourcePolicies, in, func(in *sdk.DescribeResourcePoliciesInput, out *sdk.DescribeResourcePoliciesOutput) bool {
		in.NextToken = out.NextToken
		return sdkaws.ToString(in.NextToken) != ""
	})
	return func(yield func(types.ResourcePolicy, error) bool) {
		for page, err := range pages {
			if err != nil {
				if !aws.IsUnknownOperation(err) {
					yield(types.ResourcePolicy{}, err)
				}
				return
			}
			for _, p := range page.ResourcePolicies {
				if p.ResourceArn != nil && !yield(p, nil) {
					return
				}
			}
		}
	}
}

// belongsTo is the ARN of a policy's group.
func belongsTo(p types.ResourcePolicy) aws.ARN {
	return aws.ARN(strings.TrimSuffix(sdkaws.ToString(p.ResourceArn), ":*"))
}

// createGroup carries what CreateLogGroup takes; retention and policies have calls of their own, which follow.
func createGroup(ctx context.Context, s site) (LogGroup, error) {
	in := &sdk.CreateLogGroupInput{LogGroupName: &s.Name, Tags: aws.Tags(s.Cloud, s.Want.Tags, s.Owner)}
	if err := groupTable.Created(s.Want, kind.Struct(in)); err != nil {
		return LogGroup{}, err
	}
	if !s.Want.DeletionProtection {
		in.DeletionProtectionEnabled = nil
	}
	if _, err := clientOf(s.Cloud).CreateLogGroup(ctx, in); err != nil {
		return LogGroup{}, err
	}
	return groupOf(s.Location, s.Name), nil
}

// compareGroup states every aspect; each has calls of its own.
func compareGroup(d *kind.Diff[liveGroup], want LogGroupProps, live liveGroup) {
	if live.ruled || *want.Class == string(types.LogGroupClassDelivery) {
		want.Retention = live.have.Retention
	}
	name, arn, revision := &live.attrs.Name, new(string(live.attrs.ARN)), aws.OrNil(live.policyRevision)
	retention := set("PutRetentionPolicy", aws.CallOf(clientOf, (*sdk.Client).PutRetentionPolicy),
		&sdk.PutRetentionPolicyInput{LogGroupName: name, RetentionInDays: new(int32(want.Retention / day))})
	if want.Retention == 0 {
		retention = set("DeleteRetentionPolicy", aws.CallOf(clientOf, (*sdk.Client).DeleteRetentionPolicy), &sdk.DeleteRetentionPolicyInput{LogGroupName: name})
	}
	key := set("AssociateKmsKey", aws.CallOf(clientOf, (*sdk.Client).AssociateKmsKey),
		&sdk.AssociateKmsKeyInput{LogGroupName: name, KmsKeyId: new(string(want.KMSKeyID))})
	if want.KMSKeyID == "" {
		key = set("DisassociateKmsKey", aws.CallOf(clientOf, (*sdk.Client).DisassociateKmsKey), &sdk.DisassociateKmsKeyInput{LogGroupName: name})
	}
	protection := set("PutDataProtectionPolicy", aws.CallOf(clientOf, (*sdk.Client).PutDataProtectionPolicy),
		&sdk.PutDataProtectionPolicyInput{LogGroupIdentifier: name, PolicyDocument: aws.Text(want.DataProtectionPolicy)})
	if want.DataProtectionPolicy == nil {
		protection = set("DeleteDataProtectionPolicy", aws.CallOf(clientOf, (*sdk.Client).DeleteDataProtectionPolicy),
			&sdk.DeleteDataProtectionPolicyInput{LogGroupIdentifier: name})
	}
	index := set("PutIndexPolicy", aws.CallOf(clientOf, (*sdk.Client).PutIndexPolicy),
		&sdk.PutIndexPolicyInput{LogGroupIdentifier: name, PolicyDocument: aws.Text(want.IndexPolicy)})
	if want.IndexPolicy == nil {
		index = set("DeleteIndexPolicy", aws.CallOf(clientOf, (*sdk.Client).DeleteIndexPolicy), &sdk.DeleteIndexPolicyInput{LogGroupIdentifier: name})
	}
	// Both name the revision that they replace, so that what somebody else writes at the same time is read first.
	policy := set("PutResourcePolicy", aws.CallOf(clientOf, (*sdk.Client).PutResourcePolicy), &sdk.PutResourcePolicyInput{
		PolicyName: new(cmp.Or(live.policyName, policyName)), ResourceArn: arn, PolicyDocument: aws.Text(want.Policy), ExpectedRevisionId: revision,
	})
	if want.Policy == nil {
		policy = set("DeleteResourcePolicy", aws.CallOf(clientOf, (*sdk.Client).DeleteResourcePolicy),
			&sdk.DeleteResourcePolicyInput{PolicyName: &live.policyName, ResourceArn: arn, ExpectedRevisionId: revision})
	}
	kind.CompareEach(d, groupTable, want, live.have, map[tree.Path]*kind.Operation[liveGroup]{
		"retention": retention, "kmsKeyId": key, "dataProtectionPolicy": protection, "indexPolicy": index, "policy": policy,
		"deletionProtection": set("PutLogGroupDeletionProtection", aws.CallOf(clientOf, (*sdk.Client).PutLogGroupDeletionProtection),
			&sdk.PutLogGroupDeletionProtectionInput{LogGroupIdentifier: name, DeletionProtectionEnabled: &want.DeletionProtection}),
		"bearerTokenAuthentication": set("PutBearerTokenAuthentication", aws.CallOf(clientOf, (*sdk.Client).PutBearerTokenAuthentication),
			&sdk.PutBearerTokenAuthenticationInput{LogGroupIdentifier: name, BearerTokenAuthenticationEnabled: &want.BearerTokenAuthentication}),
	})
}

// policyName is that of a group's own policy, which nobody else is asked for.
const policyName = "athanor"

// set is an operation that is one call.
func set(name string, call aws.Call, in any) *kind.Operation[liveGroup] {
	return kind.Set(name, func(ctx context.Context, u kind.Update[liveGroup]) error {
		return aws.NotYet(call.Send(ctx, u.Cloud, in))
	})
}

// deleteGroup takes the protection away first.
func deleteGroup(ctx context.Context, s site) error {
	client, name := clientOf(s.Cloud), &s.Last.Name
	shown, err := groupNamed(ctx, s.Cloud, *name)
	if err != nil {
		return err
	}
	if sdkaws.ToBool(shown.DeletionProtectionEnabled) {
		if _, err := client.PutLogGroupDeletionProtection(ctx, &sdk.PutLogGroupDeletionProtectionInput{
			LogGroupIdentifier: name, DeletionProtectionEnabled: new(false),
		}); err != nil {
			return err
		}
	}
	_, err = client.DeleteLogGroup(ctx, &sdk.DeleteLogGroupInput{LogGroupName: name})
	return err
}

func listGroups(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	in := &sdk.DescribeLogGroupsInput{LogGroupNamePrefix: aws.OrNil(scope.Prefix), Limit: new(int32(50))}
	for page, err := range described(ctx, scope.Cloud, in) {
		if err != nil {
			return nil, err
		}
		for _, g := range page.LogGroups {
			name := sdkaws.ToString(g.LogGroupName)
			all = append(all, kind.Found{Kind: groupType, Place: scope.Place, Identity: string(arnOf(scope.Place, name)), Name: name})
		}
	}
	return all, nil
}

func putTags(ctx context.Context, u kind.Update[liveGroup], tags map[string]string) error {
	_, err := clientOf(u.Cloud).TagResource(ctx, &sdk.TagResourceInput{ResourceArn: new(string(u.Live.attrs.ARN)), Tags: tags})
	return err
}

func dropTags(ctx context.Context, u kind.Update[liveGroup], keys []string) error {
	_, err := clientOf(u.Cloud).UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: new(string(u.Live.attrs.ARN)), TagKeys: keys})
	return err
}
