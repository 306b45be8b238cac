package terraform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// userPool maps the blocks of a user pool, of which Terraform writes each as a list of one.
func userPool(_ *draft, o *object, i *instance) error {
	block := func(path string) values {
		b, _ := one(valueAt(i.attrs, path))
		return b
	}
	if block("username_configuration")["case_sensitive"] == false {
		o.props["caseSensitive"] = false
	}
	password := block("password_policy")
	policy := kept(values{
		"minimumLength": numberOf(password["minimum_length"]), "historySize": numberOf(password["password_history_size"]),
		"temporaryValidity": daysOf(password["temporary_password_validity_days"]),
	})
	for _, name := range []string{"lowercase", "uppercase", "numbers", "symbols"} {
		if password["require_"+name] == false {
			policy["require"+strings.ToUpper(name[:1])+name[1:]] = false
		}
	}
	o.set("passwordPolicy", policy)
	texts := block("sms_configuration")
	o.set("sms", kept(values{"role": texts["sns_caller_arn"], "externalId": texts["external_id"]}))
	secondFactors(o, i, textOf(texts["sns_caller_arn"]) != "")
	o.set("verifyBeforeUpdate", block("user_attribute_update_settings")["attributes_require_verification_before_update"])
	ways := blocks(valueAt(i.attrs, "account_recovery_setting.recovery_mechanism"))
	slices.SortFunc(ways, func(a, b values) int { return strings.Compare(textOf(a["priority"]), textOf(b["priority"])) })
	for _, way := range ways {
		o.append("recovery", textOf(way["name"]))
	}
	admin := block("admin_create_user_config")
	if admin["allow_admin_create_user_only"] == true {
		o.props["adminCreateOnly"] = true
	}
	invitation, _ := one(admin["invite_message_template"])
	o.set("invitation", kept(values{"emailSubject": invitation["email_subject"], "emailMessage": invitation["email_message"], "smsMessage": invitation["sms_message"]}))
	if devices := block("device_configuration"); devices != nil {
		o.props["devices"] = "ALWAYS"
		if devices["device_only_remembered_on_user_prompt"] == true {
			o.props["devices"] = "PROMPT"
		}
		if devices["challenge_required_on_new_device"] == true {
			o.props["deviceChallenge"] = true
		}
	}
	if mode := textOf(block("user_pool_add_ons")["advanced_security_mode"]); mode != "" && mode != "OFF" {
		o.props["threatProtection"] = mode
	}
	mail := block("email_configuration")
	sender := kept(values{
		"account": mail["email_sending_account"], "source": mail["source_arn"], "from": mail["from_email_address"], "replyTo": mail["reply_to_email_address"],
		"configurationSet": mail["configuration_set"],
	})
	if sender["account"] == "COGNITO_DEFAULT" {
		delete(sender, "account")
	}
	o.set("email", sender)
	verification(o, i, block("verification_message_template"))
	triggers(o, block("lambda_config"))
	if i.text("deletion_protection") == "ACTIVE" {
		o.props["deletionProtection"] = true
	}
	return userAttributes(o, i)
}

// daysOf is a duration of days, nil where there is none.
func daysOf(v any) any {
	if n, ok := numberOf(v).(int64); ok && n > 0 {
		return fmt.Sprintf("%dd", n)
	}
	return nil
}

// secondFactors are what users prove who they are by. Terraform sets text messages up as one wherever there is a role for them.
func secondFactors(o *object, i *instance, texts bool) {
	mfa := i.text("mfa_configuration")
	if mfa == "" || mfa == "OFF" {
		return
	}
	if valueAt(i.attrs, "software_token_mfa_configuration.enabled") == true {
		o.append("factors", "totp")
	}
	if texts {
		o.append("factors", "sms")
	}
	if o.props["factors"] == nil {
		o.look = "its second factor has no prop: declare it as AWS::Cognito::UserPool to keep it"
		return
	}
	o.props["mfa"] = mfa
}

// verification are the texts of messages, which older states have by names of their own.
func verification(o *object, i *instance, template values) {
	text := func(name, older string) string {
		if v := textOf(template[name]); v != "" {
			return v
		}
		return i.text(older)
	}
	texts := kept(values{
		"by": template["default_email_option"], "emailSubject": text("email_subject", "email_verification_subject"),
		"emailMessage": text("email_message", "email_verification_message"), "smsMessage": text("sms_message", "sms_verification_message"),
		"linkSubject": template["email_subject_by_link"], "linkMessage": template["email_message_by_link"],
	})
	if texts["by"] == "CONFIRM_WITH_CODE" {
		delete(texts, "by")
	}
	o.set("verification", texts)
}

func triggers(o *object, config values) {
	all := kept(values{
		"preSignUp": config["pre_sign_up"], "postConfirmation": config["post_confirmation"], "preAuthentication": config["pre_authentication"],
		"postAuthentication": config["post_authentication"], "customMessage": config["custom_message"], "defineAuthChallenge": config["define_auth_challenge"],
		"createAuthChallenge": config["create_auth_challenge"], "verifyAuthChallenge": config["verify_auth_challenge_response"],
		"userMigration": config["user_migration"], "preToken": config["pre_token_generation"],
	})
	if newer, ok := one(config["pre_token_generation_config"]); ok {
		all["preToken"] = newer["lambda_arn"]
		if version := textOf(newer["lambda_version"]); version != "" && version != "V1_0" {
			all["preTokenVersion"] = version
		}
	}
	o.set("triggers", kept(all))
}

// userAttributes takes custom attributes and required ones apart.
func userAttributes(o *object, i *instance) error {
	for _, a := range blocks(i.attrs["schema"]) {
		name := textOf(a["name"])
		standard := slices.Contains(strings.Fields(`address birthdate email family_name gender given_name locale middle_name name nickname phone_number picture
			preferred_username profile updated_at website zoneinfo`), name)
		switch {
		case a["developer_only_attribute"] == true:
			o.note(i, "schema."+name, "the attribute stays, and is not declared")
		case standard && a["required"] == true:
			o.append("requiredAttributes", name)
		case !standard:
			declared := values{}
			kind := textOf(a["attribute_data_type"])
			if kind != "String" {
				declared["type"] = kind
			}
			if a["mutable"] != true {
				declared["immutable"] = true
			}
			limits := map[string][3]string{
				"String": {"string_attribute_constraints", "min_length", "max_length"}, "Number": {"number_attribute_constraints", "min_value", "max_value"},
			}[kind]
			bounds, _ := one(a[limits[0]])
			for n, prop := range []string{"min", "max"} {
				if v, ok := number(bounds[limits[n+1]]); ok && textOf(bounds[limits[n+1]]) != "" {
					declared[prop] = v
				}
			}
			o.entry("attributes", name, declared)
		}
	}
	return nil
}

// userPoolClient says how long tokens count, by the units that the client has.
func userPoolClient(_ *draft, o *object, i *instance) error {
	units, _ := one(i.attrs["token_validity_units"])
	for attr, x := range map[string][3]string{
		"access": {"accessTokenValidity", "hours", "1h"}, "id": {"idTokenValidity", "hours", "1h"}, "refresh": {"refreshTokenValidity", "days", "30d"},
	} {
		n, ok := numberOf(i.attrs[attr+"_token_validity"]).(int64)
		if !ok {
			continue
		}
		unit := x[1]
		if named := textOf(units[attr+"_token"]); named != "" {
			unit = named
		}
		for name, size := range map[string]int64{"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400} {
			if text := seconds(n * size); name == unit && text != x[2] {
				o.props[x[0]] = text
			}
		}
	}
	if i.text("client_secret") != "" {
		o.props["generateSecret"] = true
	}
	if i.attrs["enable_token_revocation"] == false {
		o.props["tokenRevocation"] = false
	}
	return nil
}

// lambdaAlias takes the function by its ARN, which that of the alias begins with.
func lambdaAlias(_ *draft, o *object, i *instance) error {
	function, ok := strings.CutSuffix(i.text("arn"), ":"+i.text("name"))
	if !ok {
		return errors.New("the state does not have its ARN")
	}
	o.props["function"] = function
	return nil
}

// provisioned is the provisioned concurrency of an alias. That of a version no kind manages.
func provisioned(_ *draft, o *object, i *instance) error {
	name := i.text("function_name")
	if function := textOf(o.props["function"]); name != function && !strings.HasSuffix(function, ":function:"+name) {
		return errors.New("it is that of an alias of another function")
	}
	o.set("provisionedConcurrency", numberOf(i.attrs["provisioned_concurrent_executions"]))
	return nil
}

// lambdaLayer names the content of a layer. Versions that Terraform keeps stay.
func lambdaLayer(d *draft, o *object, i *instance) error {
	code := values{}
	switch {
	case i.text("filename") != "":
		code["zip"] = localPath(i.text("filename"))
		if !d.exists(i.text("filename")) {
			o.look = "its archive " + i.text("filename") + " is not beside the state: put it there, or name another code"
		}
	case i.text("s3_bucket") != "":
		code["s3"] = kept(values{"bucket": i.text("s3_bucket"), "key": i.text("s3_key"), "version": i.text("s3_object_version")})
	default:
		code["zip"] = from.Path(segment(i.name, "layer") + ".zip")
		o.look = "the state does not say where its content is: name it in code"
	}
	o.props["code"] = code
	if i.attrs["skip_destroy"] == true {
		o.props["keepOlder"] = true
	}
	return nil
}
