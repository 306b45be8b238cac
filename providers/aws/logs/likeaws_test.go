package logs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS is what CloudWatch Logs is documented to do where moto does not:
//
//   - Groups have a class, deletion protection and bearer token authentication; their keys can be changed. A protected
//     group cannot be deleted.
//
//   - Groups have data protection policies, index policies and a policy of their own, which is written against a
//     revision. Moto keeps policies of the account alone.
//
//   - FilterLogEvents shows the events of all streams in the order of their times, asked or not.
type likeAWS struct {
	groups     map[string]*extra // by name
	noPolicies bool              // the operation is not known
}

// extra is what moto does not keep of a group.
type extra struct {
	shown                        awstest.Fields // by DescribeLogGroups
	protection, index            any
	policy, policyName, policyID any
	revision                     int
}

func (s *likeAWS) of(in awstest.Fields) *extra {
	for _, name := range []string{"logGroupName", "logGroupIdentifier", "resourceArn"} {
		if text, ok := in[name].(string); ok {
			return s.groups[text[strings.LastIndexByte(text, ':')+1:]]
		}
	}
	return nil
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) (*likeAWS, *awstest.Front) {
	t.Helper()
	s := &likeAWS{groups: map[string]*extra{}}
	return s, awstest.Amend(t, cloud, awstest.Amendments{
		Account: account,
		Refuse: map[string]func(awstest.Fields) string{
			"DeleteLogGroup": func(in awstest.Fields) string {
				if g := s.of(in); g != nil && g.shown["deletionProtectionEnabled"] == true {
					return "ValidationException"
				}
				return ""
			},
		},
		Edit: map[string]func(awstest.Fields){
			"FilterLogEvents": func(in awstest.Fields) { in["interleaved"] = true },
		},
		Show: map[string]func(in, out awstest.Fields){
			"CreateLogGroup":    func(in, _ awstest.Fields) { s.created(in) },
			"DeleteLogGroup":    func(in, _ awstest.Fields) { delete(s.groups, in["logGroupName"].(string)) },
			"DescribeLogGroups": s.described,
		},
		Answer: s.answers(),
	})
}

func (s *likeAWS) created(in awstest.Fields) {
	name := in["logGroupName"].(string)
	if s.groups[name] != nil {
		return
	}
	g := &extra{shown: awstest.Fields{}}
	for _, member := range []string{"logGroupClass", "deletionProtectionEnabled", "kmsKeyId"} {
		if v, ok := in[member]; ok {
			g.shown[member] = v
		}
	}
	s.groups[name] = g
}

func (s *likeAWS) described(_, out awstest.Fields) {
	list, _ := out["logGroups"].([]any)
	for _, item := range list {
		shown := item.(awstest.Fields)
		g := s.groups[shown["logGroupName"].(string)]
		if g == nil {
			continue
		}
		delete(shown, "kmsKeyId")
		maps.Copy(shown, g.shown)
		if g.protection != nil {
			shown["dataProtectionStatus"] = "ACTIVATED"
		}
	}
}

type answer = func(in awstest.Fields) (awstest.Fields, string)

// on is an answer about a group that must be there.
func (s *likeAWS) on(do func(g *extra, in awstest.Fields) awstest.Fields) answer {
	return func(in awstest.Fields) (awstest.Fields, string) {
		g := s.of(in)
		if g == nil {
			return nil, "ResourceNotFoundException"
		}
		return do(g, in), ""
	}
}

func (s *likeAWS) answers() map[string]answer {
	shows := func(member string) answer {
		return s.on(func(g *extra, in awstest.Fields) awstest.Fields {
			g.shown[member] = in[member]
			if in[member] == nil {
				delete(g.shown, member)
			}
			return awstest.Fields{}
		})
	}
	return map[string]answer{
		"AssociateKmsKey": shows("kmsKeyId"), "DisassociateKmsKey": shows("kmsKeyId"),
		"PutLogGroupDeletionProtection": shows("deletionProtectionEnabled"),
		"PutBearerTokenAuthentication":  shows("bearerTokenAuthenticationEnabled"),
		"PutDataProtectionPolicy": s.on(func(g *extra, in awstest.Fields) awstest.Fields {
			g.protection = in["policyDocument"]
			return awstest.Fields{}
		}),
		"DeleteDataProtectionPolicy": s.on(func(g *extra, _ awstest.Fields) awstest.Fields {
			g.protection = nil
			return awstest.Fields{}
		}),
		"GetDataProtectionPolicy": s.on(func(g *extra, _ awstest.Fields) awstest.Fields {
			return awstest.Fields{"policyDocument": g.protection}
		}),
		"PutIndexPolicy": s.on(func(g *extra, in awstest.Fields) awstest.Fields {
			g.index = in["policyDocument"]
			return awstest.Fields{}
		}),
		"DeleteIndexPolicy": s.on(func(g *extra, _ awstest.Fields) awstest.Fields {
			g.index = nil
			return awstest.Fields{}
		}),
		"DescribeIndexPolicies":    s.indexes,
		"PutResourcePolicy":        s.put,
		"DeleteResourcePolicy":     s.put,
		"DescribeResourcePolicies": s.policies,
	}
}

// indexes shows the account's policy where a group has none.
func (s *likeAWS) indexes(in awstest.Fields) (awstest.Fields, string) {
	name := in["logGroupIdentifiers"].([]any)[0].(string)
	g := s.groups[name]
	switch {
	case g == nil:
		return nil, "ResourceNotFoundException"
	case g.index == nil:
		return awstest.Fields{"indexPolicies": []any{awstest.Fields{"policyDocument": `{"Fields":["ofTheAccount"]}`, "source": "ACCOUNT"}}}, ""
	}
	return awstest.Fields{"indexPolicies": []any{awstest.Fields{"policyDocument": g.index, "source": "LOG_GROUP"}}}, ""
}

// put writes or deletes a group's own policy, if the request knows the newest revision.
func (s *likeAWS) put(in awstest.Fields) (awstest.Fields, string) {
	g := s.of(in)
	switch {
	case g == nil:
		return nil, "ResourceNotFoundException"
	case g.policy != nil && in["expectedRevisionId"] != g.policyID, g.policy == nil && in["expectedRevisionId"] != nil:
		return nil, "OperationAbortedException"
	}
	g.revision++
	g.policy, g.policyName, g.policyID = in["policyDocument"], in["policyName"], strconv.Itoa(g.revision)
	return awstest.Fields{}, ""
}

// policies shows those of the account too, as a partition does that does not know resource policies. Without a group it shows a page
// of those of all groups.
func (s *likeAWS) policies(in awstest.Fields) (awstest.Fields, string) {
	if s.noPolicies {
		return nil, "UnknownOperationException"
	}
	list := []any{awstest.Fields{"policyName": "all", "policyDocument": `{"Statement":[]}`, "policyScope": "ACCOUNT"}}
	of := func(g *extra, arn any) awstest.Fields {
		return awstest.Fields{
			"policyName": g.policyName, "policyDocument": g.policy, "revisionId": g.policyID, "policyScope": "RESOURCE", "resourceArn": arn,
		}
	}
	if in["resourceArn"] == nil {
		names := slices.Sorted(maps.Keys(s.groups))
		names = slices.DeleteFunc(names, func(name string) bool { return s.groups[name].policy == nil })
		next, _ := strconv.Atoi(fmt.Sprint(in["nextToken"]))
		if next < len(names) {
			list = append(list, of(s.groups[names[next]], "arn:aws:logs:us-east-1:"+account+":log-group:"+names[next]))
		}
		out := awstest.Fields{"resourcePolicies": list}
		if next+1 < len(names) {
			out["nextToken"] = strconv.Itoa(next + 1)
		}
		return out, ""
	}
	g := s.of(in)
	if g == nil {
		return nil, "ResourceNotFoundException"
	}
	if g.policy != nil {
		list = append(list, of(g, in["resourceArn"]))
	}
	return awstest.Fields{"resourcePolicies": list}, ""
}
