package dynamodb

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// beside answers the calls that moto does not have. They pass the proxy, which counts and breaks them, and come back as
// moto's own failure.
func (s *likeAWS) beside(w http.ResponseWriter, r *http.Request, body []byte, operation string, x *extras, in obj) {
	s.pass(w, r, body, nil, func(res *http.Response, body []byte) (int, []byte) {
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			return res.StatusCode, body
		}
		if x == nil {
			return refuse("ResourceNotFoundException", "Requested resource not found")
		}
		arn, _ := in["StreamArn"].(string)
		switch operation {
		case "ListContributorInsights":
			return http.StatusOK, text(obj{"ContributorInsightsSummaries": x.summaries(in["TableName"])})
		case "UpdateContributorInsights":
			index, _ := in["IndexName"].(string)
			delete(x.insights, index)
			if in["ContributorInsightsAction"] == "ENABLE" {
				x.insights[index] = in["ContributorInsightsMode"].(string)
			}
			return http.StatusOK, text(obj{"ContributorInsightsStatus": "ENABLED"})
		case "DescribeKinesisStreamingDestination":
			return http.StatusOK, text(obj{"KinesisDataStreamDestinations": x.destinations()})
		case "DisableKinesisStreamingDestination":
			delete(x.kinesis, arn)
		case "EnableKinesisStreamingDestination":
			x.kinesis[arn] = precision(in["EnableKinesisStreamingConfiguration"])
		case "UpdateKinesisStreamingDestination":
			x.kinesis[arn] = precision(in["UpdateKinesisStreamingConfiguration"])
		}
		return http.StatusOK, text(obj{"StreamArn": arn})
	})
}

func precision(of any) string {
	if p, ok := of.(obj)["ApproximateCreationDateTimePrecision"].(string); ok {
		return p
	}
	return "MILLISECOND"
}

func (x *extras) summaries(table any) list {
	all := list{}
	for _, index := range slices.Sorted(maps.Keys(x.insights)) {
		one := obj{"TableName": table, "ContributorInsightsStatus": "ENABLED", "ContributorInsightsMode": x.insights[index]}
		if index != "" {
			one["IndexName"] = index
		}
		all = append(all, one)
	}
	return all
}

func (x *extras) destinations() list {
	all := list{}
	for _, arn := range slices.Sorted(maps.Keys(x.kinesis)) {
		all = append(all, obj{"StreamArn": arn, "DestinationStatus": "ACTIVE", "ApproximateCreationDateTimePrecision": x.kinesis[arn]})
	}
	return all
}

// refuse is an error of DynamoDB as it is on the wire.
func refuse(code, message string) (int, []byte) {
	return http.StatusBadRequest, text(obj{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message})
}

func text(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// listOf are the objects of a list.
func listOf(v any) []obj {
	all, _ := v.([]any)
	var out []obj
	for _, x := range all {
		out = append(out, x.(obj))
	}
	return out
}

func attributes(in obj) []string {
	var names []string
	for _, a := range listOf(in["AttributeDefinitions"]) {
		names = append(names, a["AttributeName"].(string))
	}
	slices.Sort(names)
	return names
}

// usedKeys are the keys of a table, of its indexes, and of one that is to be made.
func usedKeys(table, create obj) []string {
	var names []string
	for _, of := range slices.Concat([]obj{table, create}, listOf(table["GlobalSecondaryIndexes"]), listOf(table["LocalSecondaryIndexes"])) {
		for _, k := range listOf(of["KeySchema"]) {
			names = append(names, k["AttributeName"].(string))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// without is an object without some of its entries, at its top and in its lists.
func without(of obj, names ...string) obj {
	out := obj{}
	for k, v := range of {
		switch v := v.(type) {
		case list:
			inner := list{}
			for _, x := range v {
				if o, ok := x.(obj); ok {
					x = without(o, "OnDemandThroughput")
				}
				inner = append(inner, x)
			}
			out[k] = inner
		case obj:
			out[k] = without(v, "OnDemandThroughput")
		default:
			out[k] = v
		}
		if slices.Contains(names, k) {
			delete(out, k)
		}
	}
	return out
}
