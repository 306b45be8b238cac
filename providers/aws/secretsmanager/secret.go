package secretsmanager

import (
	"slices"
	"strconv"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveSecret is a secret as it was seen.
type liveSecret struct {
	*sdk.DescribeSecretOutput
	tags   map[string]string
	policy string
	value  token.Secret // read when it is compared, and at no other time
}

type (
	secretSite = reconcile.Site[SecretProps, Secret]
	secretDiff = reconcile.Diff[liveSecret]
)

var secretKind = &reconcile.Kind[SecretProps, liveSecret, Secret]{
	Type: secretType,
	Doc: "A secret of AWS Secrets Manager. Its value is given, made up once, or somebody else's; the record keeps no value. " +
		"Deleting it schedules that: for its recovery window it can be restored, and is when it is declared again. With leave " +
		"to delete it is gone at once. Binary values and secrets that other services manage are not offered.",

	Observe:  observeSecret,
	Create:   createSecret,
	Compare:  compareSecret,
	Attrs:    secretAttrs,
	Delete:   deleteSecret,
	Identity: func(s Secret) string { return string(s.ARN) },

	Naming: func(SecretProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 512, Allowed: nameRune}
	},
	Given:    func(want SecretProps) string { return want.Name },
	Defaults: secretDefaults,
	Check:    checkSecret,
	Moves:    []string{"versionId"},
	Late:     []tree.Path{"policy", "rotation"},
	AtBirth:  []string{"arn", "name"},

	Owner:     func(live liveSecret) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Busy:      liveSecret.busy,
	MayDelete: func(want SecretProps) bool { return want.ForceDelete },
	List:      listSecrets,

	// The service publishes no bound; what it shows has been seen to lag by seconds.
	Visibility: 10 * time.Second,

	Source: source,
	Calls: []string{
		"SecretsManager.DescribeSecret", "SecretsManager.GetResourcePolicy", "SecretsManager.GetSecretValue", "SecretsManager.ListSecrets",
		"SecretsManager.GetRandomPassword", "SecretsManager.CreateSecret", "SecretsManager.UpdateSecret", "SecretsManager.DeleteSecret",
		"SecretsManager.RestoreSecret", "SecretsManager.PutSecretValue", "SecretsManager.RotateSecret", "SecretsManager.CancelRotateSecret",
		"SecretsManager.ReplicateSecretToRegions", "SecretsManager.RemoveRegionsFromReplication", "SecretsManager.PutResourcePolicy",
		"SecretsManager.DeleteResourcePolicy", "SecretsManager.TagResource", "SecretsManager.UntagResource",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"secretsmanager:DescribeSecret", "secretsmanager:GetResourcePolicy", "secretsmanager:GetSecretValue"},
		List:    []string{"secretsmanager:ListSecrets"},
		Create: []string{
			"secretsmanager:CreateSecret", "secretsmanager:TagResource", "secretsmanager:GetRandomPassword", "secretsmanager:RestoreSecret",
			"secretsmanager:ReplicateSecretToRegions",
		},
		Update: []string{
			"secretsmanager:UpdateSecret", "secretsmanager:PutSecretValue", "secretsmanager:GetRandomPassword", "secretsmanager:RotateSecret",
			"secretsmanager:CancelRotateSecret", "secretsmanager:ReplicateSecretToRegions", "secretsmanager:RemoveRegionsFromReplication",
			"secretsmanager:PutResourcePolicy", "secretsmanager:DeleteResourcePolicy", "secretsmanager:TagResource", "secretsmanager:UntagResource",
		},
		Delete: []string{"secretsmanager:DeleteSecret", "secretsmanager:RemoveRegionsFromReplication"},
		// Secrets Manager adds six characters to the name, which nobody knows before.
		Resource: func(place reconcile.Place, name string) []string {
			return []string{string(aws.ARNIn(place, "secretsmanager", "secret:"+name+"-??????"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html
		Anywhere: []string{"secretsmanager:GetRandomPassword", "secretsmanager:ListSecrets"},
	},
}

// nameOf is the name in an ARN, without what Secrets Manager adds to it.
func nameOf(arn aws.ARN) string {
	p, _ := arn.Parse()
	name := strings.TrimPrefix(p.Resource, "secret:")
	if at := len(name) - 7; at > 0 && name[at] == '-' {
		return name[:at]
	}
	return name
}

func secretAttrs(live liveSecret) Secret {
	return Secret{ARN: aws.ARN(sdkaws.ToString(live.ARN)), Name: sdkaws.ToString(live.Name), VersionID: live.current()}
}

// current is the version of the value that counts, "" while there is none.
func (l liveSecret) current() string {
	for id, stages := range l.VersionIdsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			return id
		}
	}
	return ""
}

// busy tells of copies that are under way: a secret is not settled before they are there.
func (l liveSecret) busy() string {
	for _, r := range l.ReplicationStatus {
		if r.Status == types.StatusTypeInProgress {
			return "it is being copied to " + sdkaws.ToString(r.Region)
		}
	}
	return ""
}

// tagWindow keeps how long a deleted secret can be restored: who deletes it may know nothing of its declaration.
const tagWindow = "athanor:recovery-days"

const (
	day           = 24 * time.Hour
	defaultWindow = 30 * day
)

func (l liveSecret) window() time.Duration {
	if days, err := strconv.Atoi(l.tags[tagWindow]); err == nil {
		return time.Duration(days) * day
	}
	return defaultWindow
}

func nameRune(r rune) bool {
	return strings.ContainsRune("/_+=.@-", r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func secretDefaults(want SecretProps) SecretProps {
	aws.OrDefault(&want.RecoveryWindow, defaultWindow)
	if want.Rotation != nil {
		rotation := *want.Rotation
		aws.OrDefault(&rotation.RotateImmediately, true)
		want.Rotation = &rotation
	}
	return want
}

// checkSecret finds what Secrets Manager would refuse.
func checkSecret(want SecretProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if name := want.Name; name != "" && !token.Has(name) {
		if len(name) > 512 || strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }) {
			wrong("name", "want up to 512 letters, digits and / _ + = . @ -")
		}
	}
	ways := 0
	for _, way := range []bool{want.Value != "", want.Generate != nil, want.External} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		wrong("value", "want one of value, generate and external")
	}
	if g := want.Generate; g != nil && (g.Template == nil) != (g.Key == "") {
		wrong("generate.template", "template and key go together")
	}
	if w := want.RecoveryWindow; w != nil && *w%day != 0 {
		wrong("recoveryWindow", "want whole days")
	}
	seen := map[string]bool{}
	for i, r := range want.Replicas {
		if seen[r.Region] && !token.Has(r.Region) {
			wrong(tree.Path("replicas").Index(i).Key("region"), "there is a copy in this region already")
		}
		seen[r.Region] = true
	}
	if !token.Has(want.Description) && len([]rune(want.Description)) > 2048 {
		wrong("description", "want up to 2048 characters")
	}
	return problems.OrNil()
}
