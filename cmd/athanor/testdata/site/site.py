"""Makes a static site with the client of AWS for Python, prints what it made, and edits it as a person would."""
import json
import sys

import botocore.session

region = "us-east-1"
client = botocore.session.get_session().create_client
s3, acm, dns, cdn = (client(name, region_name=region) for name in ("s3", "acm", "route53", "cloudfront"))


def make(name):
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": [{"Key": "team", "Value": "a"}]})
    s3.put_bucket_ownership_controls(Bucket=name, OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]})
    s3.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration={
        "BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True, "RestrictPublicBuckets": True})
    s3.put_object(Bucket=name, Key="index.html", Body=b"<h1>shop</h1>\n", ContentType="text/html", CacheControl="max-age=60")
    zone = dns.create_hosted_zone(Name="shop.example", CallerReference=name, HostedZoneConfig={"Comment": "the shop"})["HostedZone"]["Id"].split("/")[-1]
    certificate = acm.request_certificate(
        DomainName="shop.example", SubjectAlternativeNames=["shop.example", "www.shop.example"], ValidationMethod="DNS", Tags=[{"Key": "team", "Value": "a"}])["CertificateArn"]
    control = cdn.create_origin_access_control(OriginAccessControlConfig={
        "Name": name, "Description": "reads the site", "SigningProtocol": "sigv4", "SigningBehavior": "always",
        "OriginAccessControlOriginType": "s3"})["OriginAccessControl"]["Id"]
    methods = {"Quantity": 2, "Items": ["HEAD", "GET"], "CachedMethods": {"Quantity": 2, "Items": ["HEAD", "GET"]}}
    distribution = cdn.create_distribution_with_tags(DistributionConfigWithTags={
        "Tags": {"Items": [{"Key": "team", "Value": "a"}]},
        "DistributionConfig": {
            "CallerReference": name, "Comment": "the site", "Enabled": True, "DefaultRootObject": "index.html", "PriceClass": "PriceClass_100", "HttpVersion": "http2and3",
            "IsIPV6Enabled": True, "Aliases": {"Quantity": 2, "Items": ["shop.example", "www.shop.example"]},
            "Origins": {"Quantity": 1, "Items": [{
                "Id": "site", "DomainName": name + ".s3." + region + ".amazonaws.com", "OriginPath": "", "OriginAccessControlId": control, "ConnectionAttempts": 3,
                "ConnectionTimeout": 10, "CustomHeaders": {"Quantity": 0}, "S3OriginConfig": {"OriginAccessIdentity": ""}, "OriginShield": {"Enabled": False}}]},
            "DefaultCacheBehavior": {
                "TargetOriginId": "site", "ViewerProtocolPolicy": "redirect-to-https", "AllowedMethods": methods, "Compress": True, "SmoothStreaming": False,
                "FieldLevelEncryptionId": "", "LambdaFunctionAssociations": {"Quantity": 0}, "FunctionAssociations": {"Quantity": 0},
                "TrustedSigners": {"Enabled": False, "Quantity": 0}, "TrustedKeyGroups": {"Enabled": False, "Quantity": 0},
                "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"},
            "CacheBehaviors": {"Quantity": 0}, "OriginGroups": {"Quantity": 0}, "WebACLId": "",
            "Logging": {"Enabled": False, "IncludeCookies": False, "Bucket": "", "Prefix": ""},
            "CustomErrorResponses": {"Quantity": 1, "Items": [{"ErrorCode": 404, "ResponseCode": "200", "ResponsePagePath": "/index.html", "ErrorCachingMinTTL": 30}]},
            "Restrictions": {"GeoRestriction": {"RestrictionType": "none", "Quantity": 0}},
            "ViewerCertificate": {"ACMCertificateArn": certificate, "SSLSupportMethod": "sni-only", "MinimumProtocolVersion": "TLSv1.2_2021"}}})["Distribution"]
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{
        "Sid": "cdn", "Effect": "Allow", "Principal": {"Service": "cloudfront.amazonaws.com"}, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::" + name + "/*",
        "Condition": {"StringEquals": {"AWS:SourceArn": distribution["ARN"]}}}]})
    s3.put_bucket_policy(Bucket=name, Policy=policy)
    record(zone, Name="shop.example", Type="A", AliasTarget={
        "HostedZoneId": "Z2FDTNDATAQYW2", "DNSName": distribution["DomainName"], "EvaluateTargetHealth": False})
    record(zone, Name="_proof.shop.example", Type="CNAME", TTL=60, ResourceRecords=[{"Value": "_x.acm-validations.aws."}])
    json.dump({"zone": zone, "certificate": certificate, "control": control, "distribution": distribution["Id"], "arn": distribution["ARN"],
               "domain": distribution["DomainName"], "policy": policy, "bucket": name}, sys.stdout)


def record(zone, **record):
    dns.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": [{"Action": "UPSERT", "ResourceRecordSet": record}]})


def distribution(made, change):
    """Changes the configuration of the distribution."""
    got = cdn.get_distribution_config(Id=made["distribution"])
    change(got["DistributionConfig"])
    cdn.update_distribution(Id=made["distribution"], IfMatch=got["ETag"], DistributionConfig=got["DistributionConfig"])


def control(made, **changes):
    got = cdn.get_origin_access_control(Id=made["control"])
    config = got["OriginAccessControl"]["OriginAccessControlConfig"] | changes
    cdn.update_origin_access_control(Id=made["control"], IfMatch=got["ETag"], OriginAccessControlConfig=config)


def aliases(config):
    config["Aliases"] = {"Quantity": 1, "Items": ["shop.example"]}


def errors(config):
    config["CustomErrorResponses"]["Items"][0]["ErrorCachingMinTTL"] = 60


def front(**changes):
    return lambda made: distribution(made, lambda config: config.update(changes))


# edits are what a person changes, by the address and the props that show it.
edits = {
    "site tags": lambda m: s3.put_bucket_tagging(Bucket=m["bucket"], Tagging={"TagSet": tags(s3.get_bucket_tagging(Bucket=m["bucket"])["TagSet"])}),
    "site versioning": lambda m: s3.put_bucket_versioning(Bucket=m["bucket"], VersioningConfiguration={"Status": "Suspended"}),
    "site publicAccessBlock": lambda m: s3.put_public_access_block(Bucket=m["bucket"], PublicAccessBlockConfiguration={
        "BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": False, "RestrictPublicBuckets": False}),
    "site policy": lambda m: s3.put_bucket_policy(Bucket=m["bucket"], Policy=m["policy"].replace("s3:GetObject", "s3:GetObjectVersion")),
    "index source,contentType,cacheControl": lambda m: s3.put_object(Bucket=m["bucket"], Key="index.html", Body=b"other", ContentType="text/plain", CacheControl="no-store"),
    "zone comment": lambda m: dns.update_hosted_zone_comment(Id=m["zone"], Comment="other"),
    "control name": lambda m: control(m, Name=m["bucket"] + "-other"),
    "control description": lambda m: control(m, Description="other"),
    "cdn comment": front(Comment="other"),
    "cdn defaultRootObject": front(DefaultRootObject="other.html"),
    "cdn priceClass": front(PriceClass="PriceClass_All"),
    "cdn httpVersion": front(HttpVersion="http2"),
    "cdn aliases": lambda m: distribution(m, aliases),
    "cdn certificate,minimumTls": lambda m: distribution(m, lambda config: config["ViewerCertificate"].update(
        ACMCertificateArn=m["certificate"] + "0", Certificate=m["certificate"] + "0", MinimumProtocolVersion="TLSv1.2_2018")),
    "cdn errors": lambda m: distribution(m, errors),
    "cdn default": lambda m: distribution(m, lambda config: config["DefaultCacheBehavior"].update(ViewerProtocolPolicy="allow-all")),
    "cdn origins": lambda m: distribution(m, lambda config: config["Origins"]["Items"][0].update(OriginPath="/other")),
    "cdn tags": lambda m: cdn.tag_resource(Resource=m["arn"], Tags={"Items": [{"Key": "team", "Value": "b"}]}),
    "cert tags": lambda m: acm.add_tags_to_certificate(CertificateArn=m["certificate"], Tags=[{"Key": "team", "Value": "b"}]),
    "www alias": lambda m: record(m["zone"], Name="shop.example", Type="A", AliasTarget={
        "HostedZoneId": "Z2FDTNDATAQYW2", "DNSName": "other.cloudfront.net", "EvaluateTargetHealth": False}),
    "proof values": lambda m: record(m["zone"], Name="_proof.shop.example", Type="CNAME", TTL=60, ResourceRecords=[{"Value": "_y.acm-validations.aws."}]),
}


def tags(all):
    return [t | ({"Value": "b"} if t["Key"] == "team" else {}) for t in all]


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    for edit in edits.values():
        edit(json.loads(sys.argv[2]))
    json.dump(list(edits), sys.stdout)
