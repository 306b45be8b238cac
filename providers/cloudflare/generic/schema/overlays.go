package schema

import (
	"net/http"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

const docs = "https://developers.cloudflare.com/"

// overlays are what is known of single types, from Cloudflare's documentation.
var overlays = map[string]Overlay{
	"cloudflare.accounts.Member": {
		Immutable: paths("email"), Page: docs + "fundamentals/manage-members/",
		Refused: map[tree.Path]string{
			"roles": "the API takes ids of roles at creation, objects later, and shows objects: declare policies",
		},
	},
	"cloudflare.aigateway.Gateway": {
		Note: "The id is its name, which calls through the gateway have in their URL.", Data: "a gateway keeps the logs of its calls",
		Page: docs + "ai-gateway/",
	},
	"cloudflare.addressing.RegionalHostname": {NameGiven: true, Page: docs + "data-localization/regional-services/"},
	"cloudflare.cache.OriginCloudRegion":     {NameGiven: true},
	"cloudflare.customcertificates.Certificate": {
		Hidden: paths("private_key"), Secret: paths("private_key"), Page: docs + "ssl/edge-certificates/custom-certificates/",
	},
	"cloudflare.customhostnames.Hostname": {
		Immutable: paths("hostname"),
		Ready: &Ready{
			Property: "status", Done: []string{"active", "active_redeploying", "provisioned"},
			Until: "the owner of the hostname must add the records of ownership_verification and ssl.validation_records",
		},
		Page: docs + "cloudflare-for-platforms/cloudflare-for-saas/",
	},
	"cloudflare.customhostnames.FallbackOrigin": {
		Ready: &Ready{Property: "status", Pending: []string{"initializing", "pending_deployment"}},
		Page:  docs + "cloudflare-for-platforms/cloudflare-for-saas/start/getting-started/",
	},
	"cloudflare.emailrouting.Address": {
		Ready: &Ready{Property: "verified", Until: "the owner of the address must open the link in the mail that Cloudflare has sent there"},
		Page:  docs + "email-routing/setup/email-routing-addresses/",
	},
	"cloudflare.emailrouting.Rule":               {Page: docs + "email-routing/setup/email-routing-addresses/"},
	"cloudflare.emailrouting.RuleCatchAll":       {Page: docs + "email-routing/setup/email-routing-addresses/"},
	"cloudflare.iam.Sso":                         {NameProp: "email_domain", NameGiven: true, Note: "Its name is the domain of the addresses."},
	"cloudflare.iam.UserGroupMember":             {NameGiven: true, Note: "Its id is that of a member of the account."},
	"cloudflare.images.Variant":                  {Page: docs + "images/manage-images/create-variants/"},
	"cloudflare.keylesscertificates.Certificate": {Unordered: nil, Page: docs + "ssl/keyless-ssl/"},
	"cloudflare.loadbalancers.LoadBalancer": {
		NameGiven: true, Note: "Its name is the hostname that it answers for.", Page: docs + "load-balancing/load-balancers/",
	},
	"cloudflare.loadbalancers.Monitor": {Page: docs + "load-balancing/monitors/"},
	"cloudflare.loadbalancers.Pool":    {Page: docs + "load-balancing/pools/"},
	"cloudflare.logpush.Job": {
		Immutable: paths("dataset"), Secret: paths("destination_conf"),
		Note: "The ownership challenge of its destination must be solved first, where the destination needs one.",
		Page: docs + "logs/logpush/",
	},
	"cloudflare.mtlscertificates.Certificate": {
		Hidden: paths("private_key"), Secret: paths("private_key"), Page: docs + "ssl/client-certificates/byo-ca/",
	},
	"cloudflare.origincacertificates.Certificate": {
		Note: "It is made of a certificate request; the private key stays with its owner.", Page: docs + "ssl/origin-configuration/origin-ca/",
	},
	"cloudflare.origintlsclientauth.Certificate":         {Hidden: paths("private_key"), Secret: paths("private_key")},
	"cloudflare.origintlsclientauth.HostnameCertificate": {Hidden: paths("private_key"), Secret: paths("private_key")},
	"cloudflare.pages.Project": {
		Data: "a project has the deployments of its site", Page: docs + "pages/",
		Note: "Its environment variables of type secret_text are never shown.",
	},
	"cloudflare.pages.ProjectDomain": {
		NameGiven: true, Ready: &Ready{
			Property: "status", Done: []string{"active"}, Until: "the domain must lead to the project by a CNAME record",
		},
		Page: docs + "pages/configuration/custom-domains/",
	},
	"cloudflare.pipelines.Pipeline": {Page: docs + "pipelines/"},
	"cloudflare.pipelines.Sink":     {Secret: paths("config.credentials.access_key_id", "config.token"), Page: docs + "pipelines/sinks/"},
	"cloudflare.pipelines.Stream":   {Page: docs + "pipelines/streams/"},
	"cloudflare.r2.BucketLock":      {Page: docs + "r2/buckets/bucket-locks/"},
	"cloudflare.r2.BucketSippy":     {Page: docs + "r2/data-migration/sippy/"},
	"cloudflare.rules.List": {
		Immutable: paths("kind"), Data: "a list has items", Page: docs + "waf/tools/lists/",
		Note: "Its items are not managed. Its name may have letters, digits and _ alone.", NameGiven: true,
	},
	"cloudflare.secretsstore.Store": {
		Data: "a store holds secrets", Page: docs + "secrets-store/", Note: "An account has one store.",
	},
	"cloudflare.secretsstore.Secret": {
		Immutable: paths("name"), Hidden: paths("value"), Secret: paths("value"), Unordered: paths("scopes"),
		Page: docs + "secrets-store/manage-secrets/",
	},
	"cloudflare.spectrum.App":                      {Page: docs + "spectrum/"},
	"cloudflare.schemavalidation.SettingOperation": {NameGiven: true, Note: "Its name is the id of the operation."},
	"cloudflare.stream.Caption":                    {NameGiven: true, Note: "Its name is the language, such as en.", Page: docs + "stream/edit-videos/adding-captions/"},
	"cloudflare.stream.LiveInput":                  {Page: docs + "stream/stream-live/", Data: "a live input has recordings"},
	"cloudflare.stream.Watermark":                  {Page: docs + "stream/edit-videos/applying-watermarks/"},
	"cloudflare.stream.Webhook":                    {Page: docs + "stream/manage-video-library/using-webhooks/"},
	"cloudflare.turnstile.Widget":                  {Unordered: paths("domains"), Immutable: paths("region"), Secret: paths("secret"), Page: docs + "turnstile/"},
	"cloudflare.vectorize.Index":                   {Data: "an index holds vectors", Page: docs + "vectorize/"},
	"cloudflare.waitingrooms.WaitingRoom":          {Page: docs + "waiting-room/"},
	"cloudflare.waitingrooms.Event":                {Page: docs + "waiting-room/additional-options/create-events/"},
	"cloudflare.workersforplatforms.DispatchNamespace": {
		NameProp: "name", NameShown: "namespace_name",
		Data: "a namespace holds the Workers of customers", Page: docs + "cloudflare-for-platforms/workers-for-platforms/",
	},
	"cloudflare.zerotrust.AccessApplication": {Unordered: paths("allowed_idps", "tags"), Page: docs + "cloudflare-one/applications/"},
	"cloudflare.zerotrust.AccessPolicy": {
		Unordered: paths("include", "exclude", "require"), Page: docs + "cloudflare-one/policies/access/",
	},
	"cloudflare.zerotrust.AccessGroup": {Unordered: paths("include", "exclude", "require"), Page: docs + "cloudflare-one/identity/users/groups/"},
	"cloudflare.zerotrust.AccessServiceToken": {
		Secret: paths("client_secret"), Known: []string{"client_secret"}, Page: docs + "cloudflare-one/identity/service-tokens/",
		Note: "Its client_secret is shown at creation alone: without state it is replaced, since nobody can use it.",
	},
	"cloudflare.zerotrust.GatewayList": {Unordered: paths("items"), Immutable: paths("type")},
	"cloudflare.zerotrust.Tunnel": {
		Immutable: paths("config_src"), Hidden: paths("tunnel_secret"), Secret: paths("tunnel_secret"),
		Token: tokenBy("ZeroTrust.GetTunnelCloudflaredToken"),
		Page:  docs + "cloudflare-one/connections/connect-networks/",
	},
	"cloudflare.zerotrust.TunnelConfiguration": {
		Note: "It is for tunnels whose config_src is cloudflare.", Page: docs + "cloudflare-one/connections/connect-networks/",
	},
	"cloudflare.zerotrust.TunnelRoute":   {TagMost: 100, Page: docs + "cloudflare-one/connections/connect-networks/private-net/"},
	"cloudflare.zerotrust.HostnameRoute": {TagMost: 100},
	"cloudflare.zerotrust.WarpConnector": {Token: tokenBy("ZeroTrust.GetTunnelWarpConnectorToken")},
	"cloudflare.zones.Hold": {
		Off: map[string]any{"hold": false, "hold_after": nil}, Page: docs + "fundamentals/account/account-security/zone-holds/",
	},
	"cloudflare.zerotrust.VirtualNetwork": {TagMost: 256, Page: docs + "cloudflare-one/connections/connect-networks/private-net/"},
}

// tokenBy reads the token of a tunnel. It has one by itself.
func tokenBy(operation string) *Operation {
	return &Operation{Name: operation, Method: http.MethodGet, Inside: "result"}
}

func paths(all ...string) []tree.Path {
	out := make([]tree.Path, len(all))
	for i, p := range all {
		out[i] = tree.Path(p)
	}
	return out
}
