package awstest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// TestModelFinds has bodies with one mistake each, and what the description of the service says of it.
func TestModelFinds(t *testing.T) {
	m := LoadModel(t, "dynamodb")
	schema := []any{map[string]any{"AttributeName": "id", "KeyType": "HASH"}}
	attributes := []any{map[string]any{"AttributeName": "id", "AttributeType": "S"}}
	body := func(more map[string]any) map[string]any {
		all := map[string]any{"TableName": "orders", "KeySchema": schema, "AttributeDefinitions": attributes}
		for k, v := range more {
			if all[k] = v; v == nil {
				delete(all, k)
			}
		}
		return all
	}
	for _, c := range []struct {
		name string
		body map[string]any
		want string
	}{
		{"right", body(nil), ""},
		{"wrong name", body(map[string]any{"TableKlass": "STANDARD"}), "TableKlass is no member"},
		{"wrong word", body(map[string]any{"TableClass": "CHEAP"}), "none of"},
		{"wrong type", body(map[string]any{"KeySchema": "id"}), "want a list"},
		{"a number as text", body(map[string]any{"DeletionProtectionEnabled": "on"}), "want true or false"},
		{"missing", body(map[string]any{"TableName": nil}), "TableName is required and missing"},
		{"missing within", body(map[string]any{"KeySchema": []any{map[string]any{"AttributeName": "id"}}}), "KeyType is required and missing"},
		{"too small", body(map[string]any{"ProvisionedThroughput": map[string]any{"ReadCapacityUnits": int64(0), "WriteCapacityUnits": int64(1)}}), "out of bounds"},
		{"too long", body(map[string]any{"TableName": strings.Repeat("a", 2000)}), "out of bounds"},
	} {
		problems := m.problems(m.Operations["CreateTable"].Input, c.body, "", false)
		found := slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) })
		if c.want == "" && len(problems) > 0 || c.want != "" && !found {
			t.Errorf("%s: %q, want %q", c.name, problems, c.want)
		}
	}
	put := &ssm.PutParameterInput{Tier: types.ParameterTier("Cheap")}
	if p := LoadModel(t, "ssm").problems(reference{Shape: "PutParameterRequest"}, treeOf(reflect.ValueOf(put)), "", true); len(p) != 1 {
		t.Errorf("a wrong word in a struct: %q", p)
	}
	role := &iam.CreateRoleInput{MaxSessionDuration: new(int32(60))}
	if p := LoadModel(t, "iam").problems(reference{Shape: "CreateRoleRequest"}, treeOf(reflect.ValueOf(role)), "", true); len(p) != 1 {
		t.Errorf("a session of a minute: %q", p)
	}
}

// TestModelReadsXML has a list in each of both forms, and an element that no member has.
func TestModelReadsXML(t *testing.T) {
	m := LoadModel(t, "s3")
	at := reference{Shape: "CORSConfiguration"}
	for text, want := range map[string]string{
		`<C><CORSRule><AllowedMethod>PUT</AllowedMethod><AllowedOrigin>*</AllowedOrigin><MaxAgeSeconds>300</MaxAgeSeconds></CORSRule></C>`: "",
		`<C><CORSRule><AllowedMethod>PUT</AllowedMethod></CORSRule></C>`:                                                                   "AllowedOrigins is required",
		`<C><CORSRule><AllowedMethods>PUT</AllowedMethods><AllowedOrigin>*</AllowedOrigin></CORSRule></C>`:                                 "AllowedMethods",
		`<C><CORSRule><AllowedMethod>PUT</AllowedMethod><AllowedOrigin>*</AllowedOrigin><MaxAgeSeconds>5m</MaxAgeSeconds></CORSRule></C>`:  "want a number",
	} {
		problems := m.problems(at, m.fromXML(at, parse(t, text)), "", false)
		if got := strings.Join(problems, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
