package lambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// NewVersion declares that a function is published. What calls the version by an [Alias] changes over to a new one at once.
//
//	v := lambda.NewVersion(s, "version", lambda.VersionProps{Function: fn.ARN, Follows: fn.CodeDigest})
//	lambda.NewAlias(s, "live", lambda.AliasProps{Function: fn.ARN, Name: "live", Version: v.Version})
func NewVersion(s *athanor.Stack, name string, p VersionProps, opts ...athanor.Option) Version {
	return athanor.Declare(s, versionKind, name, p, opts...)
}

// VersionProps declare that a function is published. Limits are those of
// https://docs.aws.amazon.com/lambda/latest/api/API_PublishVersion.html
type VersionProps struct {
	// Function is the ARN of the function, without a version.
	Function aws.ARN `prop:"required,immutable,needsready" wire:"-"`
	// Follows is the codeDigest of the function: by it a plan that changes the function says that a version will be published.
	Follows string `prop:"required"`
	// Keep is how many older versions stay, to lead an alias back to. When a version is published, the others are deleted
	// that no alias leads to, the oldest first. Default: none, all stay.
	Keep *int `prop:"min=0"`
}

// Version is what others may refer to of the newest published version of a function.
type Version struct {
	// ARN of the version: that of the function with the number of the version.
	ARN aws.ARN `attr:"mutable"`
	// Version is its number.
	Version string `attr:"mutable"`
	// Function is the ARN of the function.
	Function aws.ARN `attr:"early"`
}

// liveVersion is an observed version: the newest of its function, and the function as it is now.
type liveVersion struct {
	attrs          Version
	newest, latest liveFunction
	have           VersionProps
}

type versionSite = kind.Site[VersionProps, Version]

var versionTable = kind.TableOf[VersionProps]()

var versionKind = &kind.Kind[VersionProps, liveVersion, Version]{
	Type: versionType,
	Doc: "The published versions of a function of AWS Lambda, of which the newest is what the function is now: its code and its configuration. " +
		"A version never changes. When the function has changed, another one is published, and the older ones stay for as long as keep says. " +
		"Versions have no owner tag: those of a function belong to the one resource that publishes it, and deleting that deletes them all.",

	Observe:    observeVersion,
	Create:     createVersion,
	Compare:    compareVersion,
	Attributes: func(live liveVersion) Version { return live.attrs },
	Delete:     deleteVersions,
	Identity:   func(v Version) string { return string(v.Function) },

	Props: versionTable,
	Check: func(want VersionProps) error { return checkUnqualified(want.Function).OrNil() },
	Unique: func(want VersionProps) []string {
		return []string{"the versions of " + string(want.Function)}
	},
	Owner: kind.OwnedByParent[VersionProps, liveVersion]{},
	Status: func(live liveVersion) kind.Status {
		if live.newest.status.failed() != "" {
			return kind.Ready()
		}
		return live.newest.readiness()
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Lambda", "lambda", source, kind.Permissions{
		Observe:  []string{"ListVersionsByFunction", "GetFunction", "lambda:ListTags"},
		Create:   []string{"PublishVersion"},
		Update:   []string{"PublishVersion"},
		Calls:    map[string][]string{"PublishVersion": {"PublishVersion", "ListAliases", "DeleteFunction"}},
		Delete:   []string{"ListVersionsByFunction", "DeleteFunction"},
		Of:       "function",
		Resource: qualified,
	}),
}

// qualified are a function, and its versions and aliases.
func qualified(location kind.Location, function string) []string {
	all := aws.On("lambda", "function:")(location, function)
	return append(all, all[0]+":*")
}

// checkUnqualified finds what is no function's ARN, or that of a version or an alias of one.
func checkUnqualified(function aws.ARN) props.Errors {
	var problems props.Errors
	if token.Has(string(function)) {
		return nil
	}
	if p, ok := function.Parse(); !ok || p.Service != "lambda" || !isFunction(p.Resource) {
		problems.Wrong("function", "want the ARN of a function, without a version or an alias")
	}
	return problems
}

func isFunction(resource string) bool {
	name, ok := strings.CutPrefix(resource, "function:")
	return ok && name != "" && !strings.Contains(name, ":")
}

// nameIn is the name of the function that an ARN of a location names.
func nameIn(function aws.ARN, location kind.Location) (string, error) {
	p, ok := function.Parse()
	if !ok || p.Account != location.Account || p.Region != location.Region || !isFunction(p.Resource) {
		return "", aws.Foreign(string(function), location)
	}
	return strings.TrimPrefix(p.Resource, "function:"), nil
}

// observeVersion reads the newest version, and the function as it is now, to which it is compared.
func observeVersion(ctx context.Context, s versionSite) (live liveVersion, err error) {
	function := s.Want.Function
	switch {
	case s.Last != nil:
		function = s.Last.Function
	case s.ID != "":
		function = aws.ARN(s.ID)
	case token.Has(string(function)):
		return live, reconcile.ErrAbsent // what is not known yet is not published
	}
	name, err := nameIn(function, s.Location)
	if err != nil {
		return live, err
	}
	client := clientOf(s.Cloud)
	versions, err := versionsOf(ctx, client, name)
	if err != nil {
		return live, aws.Absent(err)
	}
	if len(versions) == 0 {
		return live, reconcile.ErrAbsent
	}
	number := strconv.Itoa(versions[0])
	live.attrs = Version{ARN: function + aws.ARN(":"+number), Version: number, Function: function}
	live.have = VersionProps{Function: function, Follows: s.Want.Follows, Keep: s.Want.Keep}
	if live.newest, err = snapshot(ctx, client, name, &number); err != nil {
		return live, aws.Absent(err)
	}
	live.latest, err = snapshot(ctx, client, name, nil)
	return live, aws.Absent(err)
}

// versionsOf are the numbers of the published versions of a function, the newest first.
func versionsOf(ctx context.Context, client *sdk.Client, name string) (all []int, err error) {
	next := func(out *sdk.ListVersionsByFunctionOutput) *string { return out.NextMarker }
	in := &sdk.ListVersionsByFunctionInput{FunctionName: &name}
	for page, err := range aws.PagesByToken(ctx, client.ListVersionsByFunction, in, &in.Marker, next) {
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			if n, err := strconv.Atoi(sdkaws.ToString(v.Version)); err == nil { // the other is $LATEST
				all = append(all, n)
			}
		}
	}
	slices.SortFunc(all, func(a, b int) int { return b - a })
	return all, nil
}

// snapshot is what a version holds of a function: its code and its configuration. The version nil is the function as it is now.
func snapshot(ctx context.Context, client *sdk.Client, name string, version *string) (live liveFunction, err error) {
	out, err := client.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: &name, Qualifier: version})
	if err != nil {
		return live, err
	}
	shown, err := answerOf(out)
	if err != nil {
		return live, err
	}
	shown.Concurrency.ReservedConcurrentExecutions = nil // which is the function's alone
	err = live.read(out, shown)
	return live, err
}

// publishes reports whether the next publication would make another version: the code or the configuration has changed.
func (l liveVersion) publishes() bool {
	return l.newest.attrs.CodeDigest != l.latest.attrs.CodeDigest || l.newest.isImage != l.latest.isImage ||
		!functionTable.Equal(l.newest.have, l.latest.have)
}

// compareVersion compares the newest version with the function, and not what follows says, which is known late.
func compareVersion(d *kind.Diff[liveVersion], want VersionProps, live liveVersion) {
	kind.Compare(d, versionTable, want, live.have, publish(want))
	switch {
	case d.Unknown("follows", want.Follows):
		reconcile.Value(d, "follows", want.Follows, "version "+live.attrs.Version, publish(want))
	case want.Follows == "": // nothing is declared, as when somebody asks what is there
		reconcile.Value(d, "follows", "", live.latest.attrs.CodeDigest, publish(want))
	case live.publishes():
		reconcile.Value(d, "follows", "what the function is now", "version "+live.attrs.Version, publish(want))
	}
	if why := live.newest.status.failed(); why != "" {
		reconcile.Value(d, statusPath, "Active", "Failed: "+why, kind.Set("PublishVersion", func(context.Context, kind.Update[liveVersion]) error {
			return fmt.Errorf("%w: %s", errFailed, why)
		}))
	}
}

func publish(want VersionProps) *kind.Operation[liveVersion] {
	return kind.Set("PublishVersion", func(ctx context.Context, u kind.Update[liveVersion]) error {
		name, err := nameIn(u.Live.attrs.Function, u.Location)
		if err != nil {
			return err
		}
		client := clientOf(u.Cloud)
		if _, err := client.PublishVersion(ctx, &sdk.PublishVersionInput{FunctionName: &name}); err != nil {
			return aws.NotYet(err)
		}
		return prune(ctx, client, name, want.Keep)
	})
}

// createVersion publishes. Lambda answers with the newest version where nothing has changed since, so that it is safe to ask twice.
func createVersion(ctx context.Context, s versionSite) (Version, error) {
	name, err := nameIn(s.Want.Function, s.Location)
	if err != nil {
		return Version{}, err
	}
	out, err := clientOf(s.Cloud).PublishVersion(ctx, &sdk.PublishVersionInput{FunctionName: &name})
	if err != nil {
		return Version{}, err
	}
	number := sdkaws.ToString(out.Version)
	return Version{ARN: s.Want.Function + aws.ARN(":"+number), Version: number, Function: s.Want.Function}, nil
}

// prune deletes the oldest versions beyond so many older ones, but those that an alias leads to.
func prune(ctx context.Context, client *sdk.Client, name string, keep *int) error {
	if keep == nil {
		return nil
	}
	versions, err := versionsOf(ctx, client, name)
	if err != nil || len(versions) <= *keep+1 {
		return err
	}
	used, err := aliased(ctx, client, name)
	if err != nil {
		return err
	}
	for _, version := range slices.Backward(versions[*keep+1:]) {
		if number := strconv.Itoa(version); !used[number] {
			if err := deleteVersion(ctx, client, name, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// aliased are the versions that aliases of a function lead to.
func aliased(ctx context.Context, client *sdk.Client, name string) (map[string]bool, error) {
	used := map[string]bool{}
	next := func(out *sdk.ListAliasesOutput) *string { return out.NextMarker }
	in := &sdk.ListAliasesInput{FunctionName: &name}
	for page, err := range aws.PagesByToken(ctx, client.ListAliases, in, &in.Marker, next) {
		if err != nil {
			return nil, err
		}
		for _, a := range page.Aliases {
			used[sdkaws.ToString(a.FunctionVersion)] = true
			for version := range aws.OrZero(a.RoutingConfig).AdditionalVersionWeights {
				used[version] = true
			}
		}
	}
	return used, nil
}

var errNoNumber = errors.New("the number of the version is not known")

// deleteVersion never deletes a function as a whole, which the call does without a version.
func deleteVersion(ctx context.Context, client *sdk.Client, name, number string) error {
	if number == "" {
		return errNoNumber
	}
	_, err := client.DeleteFunction(ctx, &sdk.DeleteFunctionInput{FunctionName: &name, Qualifier: &number})
	return aws.OrNone(err)
}

// deleteVersions deletes all published versions. Lambda refuses one that an alias leads to.
func deleteVersions(ctx context.Context, s versionSite) error {
	name, err := nameIn(s.Last.Function, s.Location)
	if err != nil {
		return err
	}
	client := clientOf(s.Cloud)
	versions, err := versionsOf(ctx, client, name)
	if err != nil {
		return err // without a function there are none
	}
	for _, version := range slices.Backward(versions) {
		if err := deleteVersion(ctx, client, name, strconv.Itoa(version)); err != nil {
			return err
		}
	}
	return nil
}
