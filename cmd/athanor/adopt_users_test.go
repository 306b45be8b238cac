//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// madeUsers is an application with users that botocore has made.
type madeUsers struct {
	Role, Layer, LayerVersion, Function, Version, Alias, Pool, PoolARN, Client, Secret, Key, KeyARN, Machine, Trust, Flow string
}

func makeUsers(t *testing.T, server *awstest.Server, dir string) (made madeUsers) {
	t.Helper()
	root, ok := proctest.ModuleRoot()
	if !ok {
		t.Fatal("the root of the module is not found")
	}
	cmd := limited(t, filepath.Join(root, ".cache", "s3", "python", "bin", "python"), "testdata/users/users.py",
		filepath.Join(dir, "worker.zip"), filepath.Join(dir, "layer.zip"))
	cmd.Env = slices.DeleteFunc(server.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "AWS_") && strings.HasSuffix(entry, "=") })
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if failed, ok := err.(*exec.ExitError); ok {
			said = string(failed.Stderr)
		}
		t.Fatalf("%v\n%s", err, said)
	}
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// zipped is an archive of one file.
func zipped(t *testing.T, name, text string) string {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	file, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

// state is what the provider has of the application. No provider wrote it: the attributes are those in the documentation of hashicorp/aws 6.
func (m madeUsers) state(t *testing.T) string {
	t.Helper()
	team := attributes{"team": "a"}
	const region = "us-east-1"
	return stateFile(t,
		stateResource("", "aws_iam_role.runner", attributes{"id": "worker", "name": "worker", "arn": m.Role, "path": "/", "max_session_duration": 3600, "assume_role_policy": m.Trust, "description": "", "managed_policy_arns": []any{}, "inline_policy": []any{}}),
		stateResource("", "aws_lambda_layer_version.shared", attributes{
			"id": m.LayerVersion, "arn": m.LayerVersion, "layer_arn": m.Layer, "layer_name": "shared", "filename": "layer.zip", "version": "1", "description": "what many need",
			"compatible_runtimes": []any{"python3.13"}, "compatible_architectures": []any{}, "license_info": "", "skip_destroy": true, "source_code_hash": "x", "source_code_size": 1, "created_date": "x",
		}),
		stateResource("", "aws_lambda_function.worker", attributes{
			"id": "worker", "function_name": "worker", "arn": m.Function, "role": m.Role, "runtime": "python3.13", "handler": "main.handler", "filename": "worker.zip", "memory_size": 128, "timeout": 3,
			"package_type": "Zip", "publish": true, "version": m.Version, "qualified_arn": m.Function + ":" + m.Version, "reserved_concurrent_executions": -1, "layers": []any{m.LayerVersion},
			"architectures": []any{"x86_64"}, "environment": []any{}, "tracing_config": []any{attributes{"mode": "PassThrough"}}, "ephemeral_storage": []any{attributes{"size": 512}},
			"logging_config": []any{attributes{"log_format": "Text", "log_group": "/aws/lambda/worker", "application_log_level": "", "system_log_level": ""}},
		}, "aws_iam_role.runner", "aws_lambda_layer_version.shared"),
		stateResource("", "aws_lambda_alias.live", attributes{
			"id": m.Alias, "arn": m.Alias, "name": "live", "function_name": m.Function, "function_version": m.Version, "description": "what customers call", "routing_config": []any{}, "invoke_arn": "x",
		}, "aws_lambda_function.worker"),
		stateResource("", "aws_lambda_provisioned_concurrency_config.live", attributes{
			"id": "worker,live", "function_name": "worker", "qualifier": "live", "provisioned_concurrent_executions": 2, "skip_destroy": false,
		}, "aws_lambda_alias.live"),
		stateResource("", "aws_cognito_user_pool.customers", attributes{
			"id": m.Pool, "arn": m.PoolARN, "name": "customers", "endpoint": "cognito-idp." + region + ".amazonaws.com/" + m.Pool, "username_attributes": []any{"email"}, "alias_attributes": nil,
			"username_configuration": []any{attributes{"case_sensitive": false}}, "auto_verified_attributes": []any{"email"}, "mfa_configuration": "OPTIONAL",
			"software_token_mfa_configuration": []any{attributes{"enabled": true}}, "sms_configuration": []any{}, "user_pool_tier": "ESSENTIALS", "user_pool_add_ons": []any{},
			"password_policy": []any{attributes{
				"minimum_length": 12, "password_history_size": 0, "require_lowercase": true, "require_uppercase": true, "require_numbers": true, "require_symbols": false, "temporary_password_validity_days": 3,
			}},
			"account_recovery_setting": []any{attributes{"recovery_mechanism": []any{attributes{"name": "verified_email", "priority": 1}}}},
			"admin_create_user_config": []any{attributes{"allow_admin_create_user_only": true, "invite_message_template": []any{}}},
			"lambda_config":            []any{attributes{"pre_sign_up": m.Function, "post_confirmation": "", "pre_token_generation_config": []any{}, "custom_email_sender": []any{}, "kms_key_id": ""}},
			"schema": []any{
				attributes{"name": "email", "attribute_data_type": "String", "required": true, "mutable": true, "developer_only_attribute": false, "string_attribute_constraints": []any{attributes{"min_length": "0", "max_length": "2048"}}, "number_attribute_constraints": []any{}},
				attributes{"name": "plan", "attribute_data_type": "String", "required": false, "mutable": true, "developer_only_attribute": false, "string_attribute_constraints": []any{attributes{"min_length": "1", "max_length": "20"}}, "number_attribute_constraints": []any{}},
			},
			"verification_message_template": []any{attributes{"default_email_option": "CONFIRM_WITH_CODE", "email_subject": "Your code", "email_message": "It is {####}", "email_subject_by_link": "", "email_message_by_link": "", "sms_message": ""}},
			"email_configuration":           []any{attributes{"email_sending_account": "COGNITO_DEFAULT", "reply_to_email_address": "help@shop.example", "source_arn": "", "from_email_address": "", "configuration_set": ""}},
			"deletion_protection":           "ACTIVE", "estimated_number_of_users": 0, "device_configuration": []any{}, "domain": "", "custom_domain": "", "creation_date": "x", "last_modified_date": "x",
			"email_verification_subject": "Your code", "email_verification_message": "It is {####}", "sms_verification_message": "", "sms_authentication_message": "", "user_attribute_update_settings": []any{},
			"tags": team, "tags_all": team,
		}, "aws_lambda_function.worker"),
		stateResource("", "aws_cognito_user_pool_client.web", attributes{
			"id": m.Client, "name": "web", "user_pool_id": m.Pool, "client_secret": m.Secret, "generate_secret": true, "explicit_auth_flows": []any{"ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_SRP_AUTH"},
			"access_token_validity": 15, "id_token_validity": 15, "refresh_token_validity": 7, "token_validity_units": []any{attributes{"access_token": "minutes", "id_token": "minutes", "refresh_token": "days"}},
			"allowed_oauth_flows_user_pool_client": true, "allowed_oauth_flows": []any{"code"}, "allowed_oauth_scopes": []any{"openid"}, "callback_urls": []any{"https://shop.example/in"},
			"logout_urls": []any{}, "default_redirect_uri": "", "supported_identity_providers": []any{"COGNITO"}, "prevent_user_existence_errors": "ENABLED", "enable_token_revocation": true,
			"enable_propagate_additional_user_context_data": false, "auth_session_validity": 3, "read_attributes": []any{}, "write_attributes": []any{}, "analytics_configuration": []any{},
			"refresh_token_rotation": []any{},
		}, "aws_cognito_user_pool.customers"),
		stateResource("", "aws_kms_key.shop", attributes{
			"id": m.Key, "key_id": m.Key, "arn": m.KeyARN, "description": "of the shop", "key_usage": "ENCRYPT_DECRYPT", "customer_master_key_spec": "SYMMETRIC_DEFAULT", "is_enabled": true,
			"enable_key_rotation": false, "rotation_period_in_days": 0, "deletion_window_in_days": nil, "multi_region": false, "policy": "", "custom_key_store_id": "", "xks_key_id": "", "tags": team, "tags_all": team,
		}),
		stateResource("", "aws_kms_alias.shop", attributes{"id": "alias/shop", "name": "alias/shop", "arn": "x", "target_key_id": m.Key, "target_key_arn": m.KeyARN}, "aws_kms_key.shop"),
		stateResource("", "aws_sfn_state_machine.checkout", attributes{
			"id": m.Machine, "arn": m.Machine, "name": "checkout", "type": "STANDARD", "role_arn": m.Role, "definition": m.Flow, "publish": false, "status": "ACTIVE",
			"logging_configuration": []any{attributes{"level": "OFF", "include_execution_data": false, "log_destination": ""}}, "tracing_configuration": []any{attributes{"enabled": false}},
			"encryption_configuration": []any{attributes{"type": "AWS_OWNED_KEY", "kms_key_id": "", "kms_data_key_reuse_period_seconds": nil}},
		}, "aws_iam_role.runner"),
		stateResource("", "aws_scheduler_schedule.nightly", attributes{
			"id": "default/nightly", "arn": "arn:aws:scheduler:" + region + ":" + strings.Split(m.Role, ":")[4] + ":schedule/default/nightly", "name": "nightly", "group_name": "default",
			"schedule_expression": "rate(1 day)", "schedule_expression_timezone": "UTC", "state": "ENABLED", "flexible_time_window": []any{attributes{"mode": "OFF", "maximum_window_in_minutes": nil}},
			"start_date": "", "end_date": "", "kms_key_arn": "",
			"target": []any{attributes{
				"arn": m.Machine, "role_arn": m.Role, "input": "", "dead_letter_config": []any{}, "ecs_parameters": []any{}, "sqs_parameters": []any{},
				"retry_policy": []any{attributes{"maximum_event_age_in_seconds": 86400, "maximum_retry_attempts": 185}},
			}},
		}, "aws_iam_role.runner", "aws_sfn_state_machine.checkout"),
	)
}

// TestAdoptUsers takes over an application with users that botocore has made: a function with its layer, alias and provisioned concurrency, a user
// pool with its client, a key with its alias, a state machine and a schedule.
func TestAdoptUsers(t *testing.T) {
	t.Parallel()
	server := awstest.StartMinistack(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.write("worker.zip", zipped(t, "main.py", "def handler(event, context):\n    return event\n"))
	w.write("layer.zip", zipped(t, "python/shared.py", "answer = 42\n"))
	made := makeUsers(t, server, w.dir)
	w.write("shop.tfstate", made.state(t))
	// Which version of the layer is the newest is known once it is adopted: until then the plan says that the layers of the function may change.
	p := &adoptedProject{world: w, mapped: 9, folded: 2, mutations: func() int { return len(server.Mutations()) }, tagged: []string{`tags["athanor:`, "layers"}}
	p.take()
	for _, want := range []string{
		"kind: aws.lambda.Layer", "keepOlder: true", "zip: layer.zip", "kind: aws.lambda.Alias", "function: ${worker.arn}", "provisionedConcurrency: 2", "kind: aws.cognito.UserPool\n",
		"requireSymbols: false", "minimumLength: 12", "factors:", "preSignUp: ${worker.arn}", "requiredAttributes:", "plan:", "deletionProtection: true",
		"kind: aws.cognito.UserPoolClient", "userPool: ${customers.id}", "accessTokenValidity: 15m", "refreshTokenValidity: 7d", "generateSecret: true",
		"- alias/shop", "target: ${checkout.arn}", "role: ${runner.arn}",
	} {
		if !strings.Contains(p.yaml, want) {
			t.Errorf("there is no %s in\n%s", want, p.yaml)
		}
	}
	if strings.Contains(p.yaml, made.Secret) {
		t.Error("the secret of the client stands in the stack")
	}
	w.run(0, "destroy", "--yes", "--allow-delete", "*")
	if left := server.Calls(); len(left) == 0 {
		t.Error("nothing was destroyed")
	}
}
