package lambda

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// NewAlias declares a name that leads to a version of a function.
func NewAlias(s *athanor.Stack, name string, p AliasProps, opts ...athanor.Option) Alias {
	return athanor.Declare(s, aliasKind, name, p, opts...)
}

// AliasProps declare an alias. Limits are those of https://docs.aws.amazon.com/lambda/latest/api/API_CreateAlias.html
type AliasProps struct {
	// Function is the ARN of the function, without a version.
	Function aws.ARN `prop:"required,immutable" wire:"-"`
	// Name of the alias, one in its function: up to 128 letters, digits, - and _, and no number.
	Name string `prop:"required,immutable,maxlen=128" wire:"Name"`
	// Version that it leads to: a number, such as that of a published version, or $LATEST, the function as it is now.
	Version string `prop:"required,maxlen=1024" wire:"FunctionVersion"`
	// Description of the alias. Default: none.
	Description string `prop:"maxlen=256" wire:"Description"`
	// Weights send a share of the calls to another version, by its number: 0.1 is a tenth. Default: none.
	Weights map[string]float64 `prop:"maxitems=1,whole" wire:"RoutingConfig.AdditionalVersionWeights"`
	// ProvisionedConcurrency is how many environments are kept initialized for calls by the alias. Default: none.
	ProvisionedConcurrency *int `prop:"min=1"`
}

// Alias is what others may refer to of an alias. What calls a function by the ARN of its alias calls the version.
type Alias struct {
	// ARN of the alias: that of the function with the name of the alias.
	ARN aws.ARN `attr:"early"`
	// Name of the alias.
	Name string `attr:"early"`
	// Function is the ARN of the function.
	Function aws.ARN `attr:"early"`
	// Version that it leads to.
	Version string `attr:"early,mutable=version"`
}

// liveAlias is an observed alias.
type liveAlias struct {
	attrs Alias
	have  AliasProps
	// provision is how far its provisioned concurrency has come, with the reason of a failure.
	provision types.ProvisionedConcurrencyStatusEnum
	why       string
}

type (
	aliasSite = kind.Site[AliasProps, Alias]
	aliasOn   = kind.Update[liveAlias]
)

var aliasTable = kind.TableOf[AliasProps]().For(kind.In(sdk.CreateAliasInput{}), kind.Out(sdk.GetAliasOutput{}))

var aliasKind = &kind.Kind[AliasProps, liveAlias, Alias]{
	Type: aliasType,
	Doc: "A name that leads to a version of a function of AWS Lambda, with its provisioned concurrency. One call leads it to another version, and " +
		"calls go there from then on. An alias has no owner tag: one of its name belongs to the one " +
		"resource of a stack that declares it.",

	Observe:    observeAlias,
	Create:     createAlias,
	Compare:    compareAlias,
	Attributes: func(live liveAlias) Alias { return live.attrs },
	Delete:     deleteAlias,
	Identity:   func(a Alias) string { return string(a.ARN) },

	Props: aliasTable,
	Check: checkAlias,
	Unique: func(want AliasProps) []string {
		return aws.Declares("AWS::Lambda::Alias", string(want.Function), want.Name)
	},
	Owner: kind.OwnedByParent[AliasProps, liveAlias]{},
	Status: func(live liveAlias) kind.Status {
		if live.provision == types.ProvisionedConcurrencyStatusEnumInProgress {
			return kind.Busy("its provisioned concurrency is being allocated")
		}
		return kind.Ready()
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Lambda", "lambda", source, kind.Permissions{
		Observe: []string{"GetAlias", "GetProvisionedConcurrencyConfig"},
		Create:  []string{"CreateAlias", "PutProvisionedConcurrencyConfig"},
		Update:  []string{"UpdateAlias", "PutProvisionedConcurrencyConfig", "DeleteProvisionedConcurrencyConfig"},
		Only:    map[string][]tree.Path{"PutProvisionedConcurrencyConfig": {"provisionedConcurrency"}},
		Delete:  []string{"DeleteProvisionedConcurrencyConfig", "DeleteAlias"},
		Of:      "function",
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html
		Resource: qualified,
	}),
}

const latestVersion = "$LATEST"

var (
	aliasForm   = props.Pattern(`^[a-zA-Z0-9_-]+$`)
	versionForm = props.Pattern(`^([0-9]+|\$LATEST)$`)
	numberForm  = props.Pattern(`^[0-9]+$`)
	errNoAlias  = errors.New("an alias is found by its ARN, or by its function and its name")
)

// checkAlias finds what Lambda would refuse, beyond what the table says.
func checkAlias(want AliasProps) error {
	problems := checkUnqualified(want.Function)
	if n := want.Name; !token.Has(n) && (!aliasForm().MatchString(n) || numberForm().MatchString(n)) {
		problems.Wrong("name", "want letters, digits, - and _, and no number")
	}
	known := !token.Has(want.Version)
	if known && !versionForm().MatchString(want.Version) {
		problems.Wrong("version", "want the number of a version, or $LATEST")
	}
	if known && want.Version == latestVersion {
		if want.ProvisionedConcurrency != nil {
			problems.Wrong("provisionedConcurrency", "it is for published versions alone")
		}
		if len(want.Weights) > 0 {
			problems.Wrong("weights", "they are for published versions alone")
		}
	}
	for version, weight := range want.Weights {
		if at := tree.Path("weights").Key(version); !token.Has(version) && (!numberForm().MatchString(version) || version == want.Version) {
			problems.Wrong(at, "want the number of another version")
		} else if weight < 0 || weight > 1 {
			problems.Wrong(at, "want a share from 0 to 1")
		}
	}
	return problems.OrNil()
}

// aliasOf is which alias is meant: its function's name, and its own.
func aliasOf(s aliasSite) (alias Alias, err error) {
	switch {
	case s.Last != nil:
		return *s.Last, nil
	case s.ID != "":
		i := strings.LastIndexByte(s.ID, ':')
		if i < 0 {
			return alias, fmt.Errorf("%w: %q", errNoAlias, s.ID)
		}
		return Alias{ARN: aws.ARN(s.ID), Function: aws.ARN(s.ID[:i]), Name: s.ID[i+1:]}, nil
	case s.Want.Function == "" || s.Want.Name == "":
		return alias, errNoAlias
	}
	return Alias{ARN: s.Want.Function + aws.ARN(":"+s.Want.Name), Function: s.Want.Function, Name: s.Want.Name}, nil
}

// observeAlias reads the alias and its provisioned concurrency.
func observeAlias(ctx context.Context, s aliasSite) (live liveAlias, err error) {
	if live.attrs, err = aliasOf(s); err != nil {
		return live, err
	}
	if token.Has(string(live.attrs.ARN)) {
		return live, reconcile.ErrAbsent // what is not known yet has none
	}
	name, err := nameIn(live.attrs.Function, s.Location)
	if err != nil {
		return live, err
	}
	client, provisioned := clientOf(s.Cloud), (*int)(nil)
	err = aws.AtOnce(ctx, func(ctx context.Context) error {
		out, err := client.GetAlias(ctx, &sdk.GetAliasInput{FunctionName: &name, Name: &live.attrs.Name})
		if err != nil {
			return err
		}
		live.have, err = aliasTable.Read(kind.Struct(out))
		return err
	}, func(ctx context.Context) error {
		out, err := client.GetProvisionedConcurrencyConfig(ctx, &sdk.GetProvisionedConcurrencyConfigInput{FunctionName: &name, Qualifier: &live.attrs.Name})
		if err == nil {
			provisioned, live.provision, live.why = new(int(sdkaws.ToInt32(out.RequestedProvisionedConcurrentExecutions))), out.Status, sdkaws.ToString(out.StatusReason)
		}
		return aws.OrNone(err) // there is none, or no alias
	})
	if err != nil {
		return live, err
	}
	live.have.Function, live.have.ProvisionedConcurrency = live.attrs.Function, provisioned
	live.attrs.Version = live.have.Version
	return live, nil
}

func createAlias(ctx context.Context, s aliasSite) (Alias, error) {
	name, err := nameIn(s.Want.Function, s.Location)
	if err != nil {
		return Alias{}, err
	}
	in := &sdk.CreateAliasInput{FunctionName: &name}
	if err := aliasTable.Created(s.Want, kind.Struct(in)); err != nil {
		return Alias{}, err
	}
	_, err = clientOf(s.Cloud).CreateAlias(ctx, in)
	made, _ := aliasOf(s)
	made.Version = s.Want.Version
	return made, err
}

// compareAlias states every aspect. Only a published version has provisioned concurrency: it comes after the version and goes
// before it.
func compareAlias(d *kind.Diff[liveAlias], want AliasProps, live liveAlias) {
	concurrency := func() {
		const path = "provisionedConcurrency"
		set := provision(want.ProvisionedConcurrency)
		if live.provision != types.ProvisionedConcurrencyStatusEnumFailed {
			reconcile.Value(d, path, want.ProvisionedConcurrency, live.have.ProvisionedConcurrency, set)
			return
		}
		if d.Made(path) { // it was tried in this run
			set = onAlias("PutProvisionedConcurrencyConfig", func(context.Context, *sdk.Client, *string, aliasOn) error {
				return fmt.Errorf("%w: %s", errFailed, live.why)
			})
		}
		reconcile.Value(d, path, any(want.ProvisionedConcurrency), any("failed: "+live.why), set)
	}
	if want.ProvisionedConcurrency == nil {
		concurrency()
	}
	kind.Compare(d, aliasTable, want, live.have, leadTo(want))
	if want.ProvisionedConcurrency != nil {
		concurrency()
	}
}

// onAlias is a call on an alias, by the name of its function.
func onAlias(name string, do func(ctx context.Context, client *sdk.Client, function *string, u aliasOn) error) *kind.Operation[liveAlias] {
	return kind.Set(name, func(ctx context.Context, u aliasOn) error {
		function, err := nameIn(u.Live.attrs.Function, u.Location)
		if err != nil {
			return err
		}
		return aws.NotYet(do(ctx, clientOf(u.Cloud), &function, u))
	})
}

// leadTo sets the alias as a whole, so that no call goes to a version and a share that do not belong together.
func leadTo(want AliasProps) *kind.Operation[liveAlias] {
	return onAlias("UpdateAlias", func(ctx context.Context, client *sdk.Client, function *string, u aliasOn) error {
		p := aliasTable.Merged(want, u.Live.have, u.Changed)
		_, err := client.UpdateAlias(ctx, &sdk.UpdateAliasInput{
			FunctionName: function, Name: &u.Live.attrs.Name, FunctionVersion: &p.Version, Description: &p.Description,
			RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: weightsOf(p)},
		})
		return err
	})
}

// weightsOf are the weights as they are set: empty ones clear them.
func weightsOf(p AliasProps) map[string]float64 {
	if p.Weights == nil {
		return map[string]float64{}
	}
	return p.Weights
}

func provision(want *int) *kind.Operation[liveAlias] {
	if want == nil {
		return onAlias("DeleteProvisionedConcurrencyConfig", func(ctx context.Context, client *sdk.Client, function *string, u aliasOn) error {
			return unprovision(ctx, client, function, &u.Live.attrs.Name)
		})
	}
	return onAlias("PutProvisionedConcurrencyConfig", func(ctx context.Context, client *sdk.Client, function *string, u aliasOn) error {
		_, err := client.PutProvisionedConcurrencyConfig(ctx, &sdk.PutProvisionedConcurrencyConfigInput{
			FunctionName: function, Qualifier: &u.Live.attrs.Name, ProvisionedConcurrentExecutions: new(int32(*want)),
		})
		return err
	})
}

func unprovision(ctx context.Context, client *sdk.Client, function, alias *string) error {
	_, err := client.DeleteProvisionedConcurrencyConfig(ctx, &sdk.DeleteProvisionedConcurrencyConfigInput{FunctionName: function, Qualifier: alias})
	return aws.OrNone(err)
}

// deleteAlias takes its provisioned concurrency away first, which costs as long as it is there.
func deleteAlias(ctx context.Context, s aliasSite) error {
	name, err := nameIn(s.Last.Function, s.Location)
	if err != nil {
		return err
	}
	client := clientOf(s.Cloud)
	if err := unprovision(ctx, client, &name, &s.Last.Name); err != nil {
		return err
	}
	_, err = client.DeleteAlias(ctx, &sdk.DeleteAliasInput{FunctionName: &name, Name: &s.Last.Name})
	return err
}
