package main

import (
	"encoding/json"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
)

func canonical(v any) []byte { text, _ := json.Marshal(v); return text }

// title is the name of a service as operations have it: "LoadBalancers".
func title(service string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(service, "-") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// nameOf is the name of the kind of what an operation creates, or reads.
func nameOf(o *described) string {
	noun := o.Name
	for _, verb := range []string{"BulkCreate", "BulkPut", "GetWebhooks", "Create", "Add", "Upload", "Update", "Put", "Patch", "Get", "List"} {
		if rest, ok := strings.CutPrefix(noun, verb); ok {
			noun = rest
			break
		}
	}
	noun = strings.TrimSuffix(strings.TrimSuffix(noun, "ForAccount"), "ForZone")
	name := schema.Prefix + strings.ReplaceAll(o.Service, "-", "") + "." + noun
	if better := renamed[name]; better != "" {
		return better
	}
	return name
}

// renamed are the names that the description's own names of operations do not give well.
var renamed = map[string]string{
	"cloudflare.accounts.Members":                                        "cloudflare.accounts.Member",
	"cloudflare.apigateway.LabelUsers":                                   "cloudflare.apigateway.UserLabel",
	"cloudflare.apigateway.Operations":                                   "cloudflare.apigateway.Operation",
	"cloudflare.calls.Sfu":                                               "cloudflare.calls.App",
	"cloudflare.calls.Turn":                                              "cloudflare.calls.TurnKey",
	"cloudflare.containers.ContainerApplication":                         "cloudflare.containers.Application",
	"cloudflare.dns.SettingAccount":                                      "cloudflare.dns.AccountSettings",
	"cloudflare.dns.SettingZone":                                         "cloudflare.dns.ZoneSettings",
	"cloudflare.dns.SettingAccountView":                                  "cloudflare.dns.View",
	"cloudflare.magiccloudnetworking.OnRampAddressSpaces":                "cloudflare.magiccloudnetworking.AddressSpace",
	"cloudflare.managedtransforms.ManagedTransforms":                     "cloudflare.managedtransforms.Settings",
	"cloudflare.realtimekit.WebhookWebhook":                              "cloudflare.realtimekit.Webhook",
	"cloudflare.rum.SiteInfo":                                            "cloudflare.rum.Site",
	"cloudflare.secretsstore.StoreSecret":                                "cloudflare.secretsstore.Secret",
	"cloudflare.stream.CaptionLanguage":                                  "cloudflare.stream.Caption",
	"cloudflare.zerotrust.NetworkRoute":                                  "cloudflare.zerotrust.TunnelRoute",
	"cloudflare.zerotrust.NetworkHostnameRoute":                          "cloudflare.zerotrust.HostnameRoute",
	"cloudflare.zerotrust.NetworkVirtualNetwork":                         "cloudflare.zerotrust.VirtualNetwork",
	"cloudflare.zerotrust.NetworkSubnetWarp":                             "cloudflare.zerotrust.WarpSubnet",
	"cloudflare.zerotrust.TunnelWarpConnector":                           "cloudflare.zerotrust.WarpConnector",
	"cloudflare.zerotrust.TunnelWarpConnectorConfiguration":              "cloudflare.zerotrust.WarpConnectorConfiguration",
	"cloudflare.aigateway.AiGateway":                                     "cloudflare.aigateway.Gateway",
	"cloudflare.aigateway.DynamicRouting":                                "cloudflare.aigateway.Route",
	"cloudflare.aisecurity.AiSecurity":                                   "cloudflare.aisecurity.Settings",
	"cloudflare.botmanagement.BotManagement":                             "cloudflare.botmanagement.Settings",
	"cloudflare.contentscanning.ContentScanning":                         "cloudflare.contentscanning.Settings",
	"cloudflare.csamscanner.CsamScanner":                                 "cloudflare.csamscanner.Settings",
	"cloudflare.customcsrs.CustomCsr":                                    "cloudflare.customcsrs.CSR",
	"cloudflare.customhostnames.CustomHostname":                          "cloudflare.customhostnames.Hostname",
	"cloudflare.dnsfirewall.DnsFirewall":                                 "cloudflare.dnsfirewall.Cluster",
	"cloudflare.dnsfirewall.ReverseDn":                                   "cloudflare.dnsfirewall.ReverseDNS",
	"cloudflare.fraud.Fraud":                                             "cloudflare.fraud.Settings",
	"cloudflare.images.V1":                                               "cloudflare.images.Image",
	"cloudflare.images.V1Variant":                                        "cloudflare.images.Variant",
	"cloudflare.mtlscertificates.MtlsCertificate":                        "cloudflare.mtlscertificates.Certificate",
	"cloudflare.origincacertificates.OriginCaCertificate":                "cloudflare.origincacertificates.Certificate",
	"cloudflare.origintlsclientauth.OriginTlsClientAuth":                 "cloudflare.origintlsclientauth.Certificate",
	"cloudflare.keylesscertificates.KeylessCertificate":                  "cloudflare.keylesscertificates.Certificate",
	"cloudflare.clientcertificates.ClientCertificate":                    "cloudflare.clientcertificates.Certificate",
	"cloudflare.customcertificates.CustomCertificate":                    "cloudflare.customcertificates.Certificate",
	"cloudflare.pageshield.PageShield":                                   "cloudflare.pageshield.Settings",
	"cloudflare.pagerules.PageRule":                                      "cloudflare.pagerules.Rule",
	"cloudflare.pipelines.Pipeline":                                      "cloudflare.pipelines.LegacyPipeline",
	"cloudflare.pipelines.V1Pipeline":                                    "cloudflare.pipelines.Pipeline",
	"cloudflare.resourcesharing.ResourceSharing":                         "cloudflare.resourcesharing.Share",
	"cloudflare.rulesets.Phas":                                           "cloudflare.rulesets.Entrypoint",
	"cloudflare.stream.Stream":                                           "cloudflare.stream.Video",
	"cloudflare.urlnormalization.UrlNormalization":                       "cloudflare.urlnormalization.Settings",
	"cloudflare.zerotrust.TunnelCloudflared":                             "cloudflare.zerotrust.Tunnel",
	"cloudflare.zerotrust.TunnelCloudflaredConfiguration":                "cloudflare.zerotrust.TunnelConfiguration",
	"cloudflare.zerotrust.AccessApplicationCa":                           "cloudflare.zerotrust.AccessApplicationCA",
	"cloudflare.logs.ControlCmbConfig":                                   "cloudflare.logs.CustomerMetadataBoundary",
	"cloudflare.zerotrust.IdentityProvider":                              "cloudflare.zerotrust.AccessIdentityProvider",
	"cloudflare.originpostquantumencryption.OriginPostQuantumEncryption": "cloudflare.originpostquantumencryption.Settings",
}

// ids are the properties that are the last part of an object's path where their names do not tell, by the operation that
// reads one.
var ids = map[string]string{
	"workers-for-platforms.GetDispatchNamespace": "namespace_name",
	"rum.GetSiteInfo":                       "site_tag",
	"email-sending.GetSubdomain":            "tag",
	"network-interconnects.GetInterconnect": "name",
	"resource-sharing.GetResource":          "id",
}

// reasons say why a type is not served by the generic kind.
var reasons = map[string]string{
	"cloudflare.accounts.Token":                                   own("APIToken"),
	"cloudflare.containers.Application":                           own("Container"),
	"cloudflare.d1.Database":                                      own("D1Database"),
	"cloudflare.dns.Record":                                       own("DNSRecord"),
	"cloudflare.emailrouting.Dns":                                 "what is read are the records that a zone needs, whether it has them or not",
	"cloudflare.hyperdrive.Config":                                own("Hyperdrive"),
	"cloudflare.kv.Namespace":                                     own("KVNamespace"),
	"cloudflare.queues.Queue":                                     own("Queue"),
	"cloudflare.queues.Consumer":                                  own("QueueConsumer"),
	"cloudflare.r2.Bucket":                                        own("R2Bucket"),
	"cloudflare.r2.BucketCors":                                    own("R2Bucket"),
	"cloudflare.r2.BucketLifecycle":                               own("R2Bucket"),
	"cloudflare.r2.BucketDomainCustom":                            own("R2Bucket"),
	"cloudflare.r2.BucketDomainManageds":                          own("R2Bucket"),
	"cloudflare.r2.BucketEventNotification":                       own("R2Bucket"),
	"cloudflare.rulesets.Ruleset":                                 own("Ruleset"),
	"cloudflare.rulesets.Entrypoint":                              own("Ruleset"),
	"cloudflare.workers.Script":                                   own("Worker"),
	"cloudflare.workers.ScriptDeployment":                         own("Worker"),
	"cloudflare.workers.ScriptSchedule":                           own("Worker"),
	"cloudflare.workers.ScriptSetting":                            own("Worker"),
	"cloudflare.workers.ScriptScriptAndVersionSetting":            own("Worker"),
	"cloudflare.workers.ScriptSecrets":                            own("Worker"),
	"cloudflare.workers.Domains":                                  own("WorkerDomain"),
	"cloudflare.workers.Route":                                    own("WorkerRoute"),
	"cloudflare.workflows.Workflow":                               own("Workflow"),
	"cloudflare.zones.Zone":                                       own("Zone"),
	"cloudflare.ssl.AutoOriginTlsKex":                             own("ZoneSetting"),
	"cloudflare.origintlscompliancemodes.OriginTlsComplianceMode": own("ZoneSetting"),
	"cloudflare.zerotrust.AccessBookmark":                         "the description does not say what it holds",
	"cloudflare.workers.ScriptSubdomain":                          own("Worker"),
	"cloudflare.stream.Download":                                  "a file for download is data, and no infrastructure",
	"cloudflare.workers.Subdomain":                                "an account has one, which is chosen once",
	"cloudflare.csamscanner.Settings":                             own("ZoneSetting"),

	"cloudflare.kv.NamespaceValue":                                  "a value is data, and no infrastructure",
	"cloudflare.r2.Object":                                          "an object is data, and no infrastructure",
	"cloudflare.stream.Video":                                       "a video is data, and no infrastructure",
	"cloudflare.browserrendering.Crawl":                             "a crawl is a job",
	"cloudflare.browserrendering.DevtoolBrowser":                    "a browser session is a job",
	"cloudflare.cloudforceone.Requests":                             "a request to people is no infrastructure",
	"cloudflare.cloudforceone.RequestAsset":                         "a request to people is no infrastructure",
	"cloudflare.cloudforceone.RequestPriority":                      "a request to people is no infrastructure",
	"cloudflare.emailsecurity.InvestigateBulk":                      "an investigation is a job",
	"cloudflare.healthchecks.Preview":                               "a preview is a job",
	"cloudflare.realtimekit.ParticipantMeeting":                     "a participant is data, and no infrastructure",
	"cloudflare.aigateway.Evaluation":                               "an evaluation is a job",
	"cloudflare.pages.ProjectDeployment":                            "a deployment is a job; a project that is connected to Git makes its own",
	"cloudflare.workersforplatforms.DispatchNamespaceScriptContent": "it is a part of the script",
	"cloudflare.workersforplatforms.DispatchNamespaceScriptSecrets": "it is a part of the script",
	"cloudflare.workersforplatforms.DispatchNamespaceScriptTags":    "it is a part of the script",
	"cloudflare.workersforplatforms.DispatchNamespaceScriptSetting": "it is a part of the script",
	"cloudflare.workersforplatforms.DispatchNamespaceScript":        "its body is a form with files",
	"cloudflare.snippets.Snippet":                                   "its body is a form with files",
	"cloudflare.zaraz.Histories":                                    "a restored version is a job",
	"cloudflare.resourcetagging.AccountTag":                         "it is set on an object that the query names",
	"cloudflare.resourcetagging.ZoneTag":                            "it is set on an object that the query names",
	"cloudflare.apigateway.DiscoveryOperations":                     "it changes many objects at once",
	"cloudflare.schemavalidation.SettingOperations":                 "it changes many objects at once",
	"cloudflare.magictransit.CfInterconnects":                       "it changes many objects at once",
	"cloudflare.memberships.Membership":                             "it is an invitation to a user",
	"cloudflare.addressing.PrefixAdvertisementStatus":               "it is a command to routers",
}

func own(kind string) string {
	return "use cloudflare." + kind + "; `athanor kinds cloudflare." + kind + "` documents it"
}
