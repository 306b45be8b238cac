package apigatewayv2

import (
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// leadsTo is a route without what is said of it alone: two that are equal so share an integration.
func (r Route) leadsTo() Route {
	r.Authorizer, r.IAM, r.Scopes, r.OperationName = "", false, nil, ""
	return r
}

// targeted reports whether a route leads anywhere. One that is declared always does, unless what it leads to is left out for
// now.
func (r Route) targeted() bool {
	return r.Lambda != "" || r.URL != "" || r.Service != "" || r.Listener != ""
}

// integrationOf is an integration as a route that leads there.
func integrationOf(in types.Integration) Route {
	r := Route{
		Credentials: aws.ARN(sdkaws.ToString(in.CredentialsArn)), Description: sdkaws.ToString(in.Description),
		Parameters: in.RequestParameters, ResponseParameters: in.ResponseParameters,
	}
	if in.TimeoutInMillis != nil {
		r.Timeout = new(time.Duration(*in.TimeoutInMillis) * time.Millisecond)
	}
	uri := sdkaws.ToString(in.IntegrationUri)
	switch {
	case sdkaws.ToString(in.IntegrationSubtype) != "":
		r.Service = *in.IntegrationSubtype
	case in.IntegrationType == types.IntegrationTypeAwsProxy:
		r.Lambda, r.PayloadFormat = functionOf(uri), in.PayloadFormatVersion
	case in.ConnectionType == types.ConnectionTypeVpcLink:
		r.Listener, r.VPCLink, r.Method = aws.ARN(uri), sdkaws.ToString(in.ConnectionId), in.IntegrationMethod
		if in.TlsConfig != nil {
			r.TLSServerName = sdkaws.ToString(in.TlsConfig.ServerNameToVerify)
		}
	default:
		r.URL, r.Method = uri, in.IntegrationMethod
	}
	return r.normal()
}

// route is a live route with what it leads to; nothing when its integration is gone.
func (l liveAPI) route(in types.Route) Route {
	r := Route{}
	for _, i := range l.integrations {
		if target(in) == sdkaws.ToString(i.IntegrationId) {
			r = integrationOf(i)
		}
	}
	r.Scopes, r.OperationName = sorted(in.AuthorizationScopes), sdkaws.ToString(in.OperationName)
	r.IAM = in.AuthorizationType == types.AuthorizationTypeAwsIam
	for _, a := range l.authorizers {
		if sdkaws.ToString(a.AuthorizerId) == sdkaws.ToString(in.AuthorizerId) && in.AuthorizationType == authorizationBy(a.AuthorizerType) {
			r.Authorizer = sdkaws.ToString(a.Name)
		}
	}
	return r
}

// authorizationBy is how a route says what kind of authorizer it has.
func authorizationBy(kind types.AuthorizerType) types.AuthorizationType {
	if kind == types.AuthorizerTypeJwt {
		return types.AuthorizationTypeJwt
	}
	return types.AuthorizationTypeCustom
}

// target is the identity of the integration that a route leads to.
func target(r types.Route) string {
	return strings.TrimPrefix(sdkaws.ToString(r.Target), "integrations/")
}

func authorizerOf(in types.Authorizer) Authorizer {
	a := Authorizer{IdentitySources: in.IdentitySource}
	if a.IdentitySources == nil {
		a.IdentitySources = []string{}
	}
	if in.AuthorizerType == types.AuthorizerTypeJwt {
		if in.JwtConfiguration != nil {
			a.Issuer, a.Audience = sdkaws.ToString(in.JwtConfiguration.Issuer), in.JwtConfiguration.Audience
		}
		return a.normal()
	}
	a.Lambda, a.PayloadFormat = functionOf(sdkaws.ToString(in.AuthorizerUri)), in.AuthorizerPayloadFormatVersion
	a.SimpleResponses = sdkaws.ToBool(in.EnableSimpleResponses)
	a.CacheTTL = time.Duration(sdkaws.ToInt32(in.AuthorizerResultTtlInSeconds)) * time.Second
	a.Credentials = aws.ARN(sdkaws.ToString(in.AuthorizerCredentialsArn))
	return a.normal()
}

// stageOf is a live stage as the tree of its declaration, since a rate need not be a whole number.
func stageOf(in types.Stage) (map[string]any, error) {
	s := Stage{
		Description: sdkaws.ToString(in.Description), AutoDeploy: new(sdkaws.ToBool(in.AutoDeploy)), Variables: in.StageVariables,
		Routes: map[string]RouteSettings{},
	}
	if log := in.AccessLogSettings; log != nil && sdkaws.ToString(log.DestinationArn) != "" {
		s.AccessLog = &AccessLog{Destination: aws.ARN(*log.DestinationArn), Format: sdkaws.ToString(log.Format)}
	}
	rates := map[tree.Path]float64{}
	if all := in.DefaultRouteSettings; all != nil {
		s.DetailedMetrics, s.Throttle = sdkaws.ToBool(all.DetailedMetricsEnabled), throttleOf(*all)
		rates["throttle.rate"] = sdkaws.ToFloat64(all.ThrottlingRateLimit)
	}
	for key, one := range in.RouteSettings {
		s.Routes[key] = RouteSettings{DetailedMetrics: sdkaws.ToBool(one.DetailedMetricsEnabled), Throttle: throttleOf(one)}
		rates[tree.Path("routes").Key(key).Key("throttle").Key("rate")] = sdkaws.ToFloat64(one.ThrottlingRateLimit)
	}
	all, err := encoded(s.normal())
	for path, rate := range rates {
		if rate != float64(int(rate)) {
			all, _ = tree.With(all, path, rate).(map[string]any)
		}
	}
	return all, err
}

func throttleOf(in types.RouteSettings) *Throttle {
	if in.ThrottlingRateLimit == nil && in.ThrottlingBurstLimit == nil {
		return nil
	}
	return &Throttle{Rate: int(sdkaws.ToFloat64(in.ThrottlingRateLimit)), Burst: int(sdkaws.ToInt32(in.ThrottlingBurstLimit))}
}

const invocation = ":lambda:path/2015-03-31/functions/"

// functionOf is the function in an address by which API Gateway invokes it; other text stays as it is.
func functionOf(uri string) aws.ARN {
	if _, rest, ok := strings.Cut(uri, invocation); ok {
		if arn, ok := strings.CutSuffix(rest, "/invocations"); ok {
			return aws.ARN(arn)
		}
	}
	return aws.ARN(uri)
}

// invoking is the address by which API Gateway invokes a function.
func invoking(region string, function aws.ARN) string {
	return "arn:" + aws.Partition(region) + ":apigateway:" + region + invocation + string(function) + "/invocations"
}

// inCase is texts in one case, but for references.
func inCase(in []string, to func(string) string) []string {
	out := make([]string, len(in))
	for i, text := range in {
		if out[i] = text; !token.Has(text) {
			out[i] = to(text)
		}
	}
	return out
}
