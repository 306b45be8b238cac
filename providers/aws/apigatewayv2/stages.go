package apigatewayv2

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

func (w *work) createStages() *apiCall {
	return call("CreateStage", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.stages, on.Changed, func(name string) error {
			s, err := settled[Stage](w.stages.path(name), w.stages.want[name], nil, on.Changed)
			if err != nil {
				return err
			}
			_, err = client.CreateStage(ctx, &sdk.CreateStageInput{
				ApiId: &w.live.id, StageName: &name, Description: aws.OrNil(s.Description), AutoDeploy: s.AutoDeploy,
				StageVariables: s.Variables, AccessLogSettings: s.AccessLog.settings(),
				DefaultRouteSettings: settings(s.DetailedMetrics, s.Throttle), RouteSettings: s.routeSettings(),
			})
			return err
		})
	})
}

// updateStages says everything of a stage. What a stage merges with what it has is taken away first: an access log and the
// settings of routes by a call of their own, variables by an empty value.
func (w *work) updateStages() *apiCall {
	return call("UpdateStage", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.stages, on.Changed, func(name string) error {
			s, err := settled[Stage](w.stages.path(name), w.stages.want[name], w.stages.have[name], on.Changed)
			if err != nil {
				return err
			}
			had, _ := w.stages.have[name].(object)
			if err := w.takeAway(ctx, client, name, had, s); err != nil {
				return err
			}
			_, err = client.UpdateStage(ctx, &sdk.UpdateStageInput{
				ApiId: &w.live.id, StageName: &name, Description: &s.Description, AutoDeploy: s.AutoDeploy,
				StageVariables: withoutOthers(s.Variables, had), AccessLogSettings: s.AccessLog.settings(),
				DefaultRouteSettings: settings(s.DetailedMetrics, s.Throttle), RouteSettings: s.routeSettings(),
			})
			return err
		})
	})
}

// withoutOthers are variables, with an empty value for each that is not to be there any more.
func withoutOthers(variables map[string]string, had object) map[string]string {
	all := maps.Clone(variables)
	old, _ := had["variables"].(object)
	for key := range old {
		if _, kept := variables[key]; kept {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = ""
	}
	return all
}

// takeAway removes what is not to be there any more. Settings of a route that are to lose a throttle go first too.
func (w *work) takeAway(ctx context.Context, client *sdk.Client, name string, had object, s Stage) error {
	if had["accessLog"] != nil && s.AccessLog == nil {
		_, err := client.DeleteAccessLogSettings(ctx, &sdk.DeleteAccessLogSettingsInput{ApiId: &w.live.id, StageName: &name})
		if err != nil && !aws.IsAbsent(err) {
			return err
		}
	}
	routes, _ := had["routes"].(object)
	for _, key := range slices.Sorted(maps.Keys(routes)) {
		before, _ := routes[key].(object)
		if kept, ok := s.Routes[key]; ok && (kept.Throttle != nil || before["throttle"] == nil) {
			continue
		}
		_, err := client.DeleteRouteSettings(ctx, &sdk.DeleteRouteSettingsInput{ApiId: &w.live.id, StageName: &name, RouteKey: &key})
		if err != nil && !aws.IsAbsent(err) {
			return err
		}
	}
	return nil
}

func (w *work) deleteStages() *apiCall {
	return call("DeleteStage", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.stages, on.Changed, func(name string) error {
			_, err := client.DeleteStage(ctx, &sdk.DeleteStageInput{ApiId: &w.live.id, StageName: &name})
			if aws.IsAbsent(err) {
				return nil
			}
			return err
		})
	})
}

// settings of all routes, or of one. A limit that is not said is that of the account; zero would let nothing through.
func settings(metrics bool, throttle *Throttle) *types.RouteSettings {
	out := &types.RouteSettings{DetailedMetricsEnabled: &metrics}
	if throttle != nil {
		out.ThrottlingRateLimit, out.ThrottlingBurstLimit = new(float64(throttle.Rate)), new(int32(throttle.Burst))
	}
	return out
}

func (s Stage) routeSettings() map[string]types.RouteSettings {
	if len(s.Routes) == 0 {
		return nil
	}
	out := map[string]types.RouteSettings{}
	for key, r := range s.Routes {
		out[key] = *settings(r.DetailedMetrics, r.Throttle)
	}
	return out
}

func (l *AccessLog) settings() *types.AccessLogSettings {
	if l == nil || l.Destination == "" {
		return nil
	}
	return &types.AccessLogSettings{DestinationArn: new(string(l.Destination)), Format: &l.Format}
}
