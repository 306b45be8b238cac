package secretsmanager

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS is what Secrets Manager is documented to do where moto does not:
//
//   - The name of a secret that is scheduled for deletion is taken, with an error of its own. Moto says that there is one.
//
//   - A description can be cleared. Moto keeps it.
//
//   - Copies have the keys that they were asked for. With failing set, they do not come about.
//
//   - A rotation is kept as it was set, and makes a new value. Moto would run the function, which is not there.
type likeAWS struct {
	secrets map[string]*extra // by name
	failing bool
	rotated int
}

// extra is what moto does not keep of a secret.
type extra struct {
	deleted     bool
	description any
	keys        map[any]any // of copies, by region
	rotation    awstest.Fields
}

func (s *likeAWS) of(in awstest.Fields) *extra {
	id, _ := in["SecretId"].(string)
	if _, ok := aws.ARN(id).Parse(); ok {
		id = nameOf(aws.ARN(id))
	}
	return s.secrets[id]
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) (*awstest.Front, *likeAWS) {
	t.Helper()
	s := &likeAWS{secrets: map[string]*extra{}}
	return awstest.Amend(t, cloud, awstest.Amendments{
		Account: account,
		Refuse: map[string]func(awstest.Fields) string{
			"CreateSecret": func(in awstest.Fields) string {
				if g := s.secrets[in["Name"].(string)]; g != nil && g.deleted {
					return "InvalidRequestException"
				}
				return ""
			},
		},
		Edit: map[string]func(awstest.Fields){
			"RotateSecret":       func(in awstest.Fields) { in["SecretId"] = "elsewhere:" + in["SecretId"].(string) },
			"CancelRotateSecret": func(in awstest.Fields) { in["SecretId"] = "elsewhere:" + in["SecretId"].(string) },
		},
		Show: map[string]func(in, out awstest.Fields){
			"CreateSecret":             s.created,
			"UpdateSecret":             s.updated,
			"DeleteSecret":             s.deleted,
			"RestoreSecret":            func(in, _ awstest.Fields) { s.of(in).deleted = false },
			"ReplicateSecretToRegions": func(in, _ awstest.Fields) { s.of(in).copy(in) },
			"DescribeSecret":           s.described,
		},
		Answer: map[string]func(awstest.Fields) (awstest.Fields, string){
			"RotateSecret":       func(in awstest.Fields) (awstest.Fields, string) { return s.rotate(in, in) },
			"CancelRotateSecret": func(in awstest.Fields) (awstest.Fields, string) { return s.rotate(in, nil) },
		},
	}), s
}

func (s *likeAWS) created(in, _ awstest.Fields) {
	name := in["Name"].(string)
	if s.secrets[name] == nil {
		s.secrets[name] = &extra{description: in["Description"], keys: map[any]any{}}
		s.secrets[name].copy(in)
	}
}

func (s *likeAWS) updated(in, _ awstest.Fields) {
	if text, ok := in["Description"]; ok {
		s.of(in).description = text
	}
}

func (s *likeAWS) deleted(in, _ awstest.Fields) {
	g := s.of(in)
	switch {
	case g == nil:
	case in["ForceDeleteWithoutRecovery"] == true:
		for name, of := range s.secrets {
			if of == g {
				delete(s.secrets, name)
			}
		}
	default:
		g.deleted = true
	}
}

func (g *extra) copy(in awstest.Fields) {
	list, _ := in["AddReplicaRegions"].([]any)
	for _, r := range list {
		region := r.(awstest.Fields)
		g.keys[region["Region"]] = region["KmsKeyId"]
	}
}

func (s *likeAWS) described(in, out awstest.Fields) {
	g := s.of(in)
	if g == nil {
		return
	}
	delete(out, "Description")
	if g.description != nil && g.description != "" {
		out["Description"] = g.description
	}
	copies, _ := out["ReplicationStatus"].([]any)
	for _, r := range copies {
		status := r.(awstest.Fields)
		if key := g.keys[status["Region"]]; key != nil {
			status["KmsKeyId"] = key
		}
		if s.failing {
			status["Status"], status["StatusMessage"] = "Failed", "there is one of this name"
		}
	}
	if g.rotation != nil {
		out["RotationEnabled"] = g.rotation["RotationLambdaARN"] != nil
		out["RotationLambdaARN"], out["RotationRules"] = g.rotation["RotationLambdaARN"], g.rotation["RotationRules"]
	}
}

// rotate keeps a rotation, or takes it off.
func (s *likeAWS) rotate(in, rotation awstest.Fields) (awstest.Fields, string) {
	id := in["SecretId"].(string)[len("elsewhere:"):]
	g := s.of(awstest.Fields{"SecretId": id})
	if g == nil || g.deleted {
		return nil, "ResourceNotFoundException"
	}
	if rotation == nil {
		rotation = awstest.Fields{"RotationRules": g.rotation["RotationRules"]}
	} else if rotation["RotateImmediately"] != false {
		s.rotated++
	}
	g.rotation = rotation
	return awstest.Fields{}, ""
}
