package terraform

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

func stackPolicy(_ *draft, o *object, i *instance) error {
	o.set("policy", plainOf(i.attrs["PolicyDocument"]))
	return nil
}

func stackInline(_ *draft, o *object, i *instance) error {
	o.entry("inline", i.text("PolicyName"), plainOf(i.attrs["PolicyDocument"]))
	for _, of := range []string{"Users", "Groups"} {
		if !empty(i.attrs[of]) {
			o.note(i, of, "a policy of users and groups stays theirs")
		}
	}
	return nil
}

func stackRole(_ *draft, o *object, i *instance) error {
	for _, p := range blocks(i.attrs["Policies"]) {
		if name := textOf(p["PolicyName"]); name != "" {
			o.entry("inline", name, plainOf(p["PolicyDocument"]))
		}
	}
	return nil
}

func stackQueue(_ *draft, o *object, i *instance) error {
	if o.props["kmsMasterKeyId"] == nil {
		delete(o.props, "kmsDataKeyReusePeriod")
	}
	return nil
}

// schemaKeys are the partition key and the sort key of a schema.
func schemaKeys(schema any) (partition, sort string) {
	for _, k := range blocks(schema) {
		if textOf(k["KeyType"]) == "HASH" {
			partition = textOf(k["AttributeName"])
		} else {
			sort = textOf(k["AttributeName"])
		}
	}
	return partition, sort
}

// stackTable reads the schema of a table. Its indexes are read from the cloud.
func stackTable(_ *draft, o *object, i *instance) error {
	partition, sort := schemaKeys(i.attrs["KeySchema"])
	o.set("partitionKey", partition)
	o.set("sortKey", sort)
	for _, a := range blocks(i.attrs["AttributeDefinitions"]) {
		o.entry("attributes", textOf(a["AttributeName"]), textOf(a["AttributeType"]))
	}
	if ttl, ok := one(i.attrs["TimeToLiveSpecification"]); ok && textOf(ttl["Enabled"]) == "true" {
		o.set("ttlAttribute", ttl["AttributeName"])
	}
	if !empty(i.attrs["GlobalSecondaryIndexes"]) || !empty(i.attrs["LocalSecondaryIndexes"]) {
		o.look = partsUnread + " of its indexes is not taken: leave out --no-observe"
	}
	return nil
}

// stackCode reads where the code of a function is.
func stackCode(_ *draft, o *object, i *instance) error {
	code, _ := one(i.attrs["Code"])
	declared := values{}
	switch {
	case textOf(code["ImageUri"]) != "":
		declared["image"] = code["ImageUri"]
	case textOf(code["S3Bucket"]) != "":
		declared["s3"] = kept(values{"bucket": code["S3Bucket"], "key": code["S3Key"], "version": code["S3ObjectVersion"]})
	default:
		declared["zip"] = from.Path(segment(i.name, "function") + ".zip")
		o.look = "its code stands in the template itself: write it into a file, and name that in code"
	}
	o.props["code"] = declared
	if l, ok := o.props["logging"].(values); ok && len(l) == 1 && l["format"] == "Text" {
		delete(o.props, "logging")
	}
	if o.props["tracing"] == "PassThrough" {
		delete(o.props, "tracing")
	}
	return nil
}

// stackPermission takes the function by its name, as the statement is known.
func stackPermission(_ *draft, o *object, i *instance) error {
	o.set("function", i.text("FunctionName"))
	return nil
}

func stackMapping(_ *draft, o *object, i *instance) error {
	for _, f := range blocks(valueAt(i.attrs, "FilterCriteria.Filters")) {
		o.append("filters", plainOf(f["Pattern"]))
	}
	if list, ok := i.attrs["FunctionResponseTypes"].([]any); ok && slices.Contains(list, any("ReportBatchItemFailures")) {
		o.props["reportBatchItemFailures"] = true
	}
	if o.props["enabled"] == true {
		delete(o.props, "enabled")
	}
	return nil
}

// stackBucket says what the table does not map.
func stackBucket(_ *draft, o *object, i *instance) error {
	if e, ok := one(valueAt(i.attrs, "BucketEncryption.ServerSideEncryptionConfiguration")); ok {
		encryption(o, values{
			"apply_server_side_encryption_by_default": values{
				"sse_algorithm":     valueAt(e, "ServerSideEncryptionByDefault.SSEAlgorithm"),
				"kms_master_key_id": valueAt(e, "ServerSideEncryptionByDefault.KMSMasterKeyID"),
			},
			"bucket_key_enabled": textOf(e["BucketKeyEnabled"]) == "true",
		})
	}
	if block, ok := o.props["publicAccessBlock"].(values); ok && !slices.ContainsFunc(
		[]string{"blockPublicAcls", "ignorePublicAcls", "blockPublicPolicy", "restrictPublicBuckets"}, func(n string) bool { return block[n] != true }) {
		delete(o.props, "publicAccessBlock") // what athanor does by itself
	} else if o.props["publicAccessBlock"] == nil {
		o.look = partsUnread + " does not say whether it blocks public access: leave out --no-observe"
	}
	for _, part := range []string{"LifecycleConfiguration", "NotificationConfiguration", "ReplicationConfiguration", "ObjectLockConfiguration", "WebsiteConfiguration", "LoggingConfiguration", "CorsConfiguration"} {
		if !empty(i.attrs[part]) {
			o.look = partsUnread + "'s " + part + " is not taken: leave out --no-observe"
		}
	}
	return nil
}

// stackRule makes targets by their ids of the list that the template has.
func stackRule(_ *draft, o *object, i *instance) error {
	for _, t := range blocks(i.attrs["Targets"]) {
		target := values{}
		for name, v := range t {
			switch name {
			case "Id":
			case "DeadLetterConfig":
				target["deadLetter"] = valueAt(t, "DeadLetterConfig.Arn")
			case "Arn", "RoleArn", "Input", "InputPath":
				target[strings.ToLower(name[:1])+name[1:]] = plainOf(v)
			default:
				o.look = partsUnread + "'s " + name + " of a target is not taken: leave out --no-observe"
			}
		}
		o.entry("targets", textOf(t["Id"]), target)
	}
	if at := strings.LastIndexByte(i.text("ref"), '|'); at > 0 {
		o.set("eventBusName", i.text("ref")[:at])
	}
	return nil
}

// stackSecret says that somebody else writes the value, where CloudFormation made it.
func stackSecret(_ *draft, o *object, _ *instance) error {
	closeSecret(nil, o)
	return nil
}

// stackPart is what the kind of the whole reads from the cloud.
func stackPart(_ *draft, o *object, i *instance) error {
	o.look = partsUnread + "'s " + i.typ + " is a part of it: leave out --no-observe"
	return nil
}

func stackAPI(_ *draft, _ *object, i *instance) error {
	if protocol := i.text("ProtocolType"); protocol != "" && protocol != "HTTP" {
		return errorText("athanor's kind is of HTTP APIs, and this one is of " + protocol)
	}
	return nil
}

type errorText string

func (e errorText) Error() string { return string(e) }
