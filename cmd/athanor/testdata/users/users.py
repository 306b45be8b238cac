"""Makes an application with users by the client of AWS for Python, and prints what it made."""
import json
import sys
import time

import botocore.session

region = "us-east-1"
client = botocore.session.get_session().create_client
iam, functions, users, kms, sfn, scheduler = (
    client(name, region_name=region) for name in ("iam", "lambda", "cognito-idp", "kms", "stepfunctions", "scheduler"))
trust = json.dumps({"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Action": "sts:AssumeRole",
    "Principal": {"Service": ["lambda.amazonaws.com", "cognito-idp.amazonaws.com", "states.amazonaws.com", "scheduler.amazonaws.com"]}}]})
flow = json.dumps({"StartAt": "end", "States": {"end": {"Type": "Succeed"}}})


def ready(name):
    """Waits until the function can be used."""
    for _ in range(400):
        shown = functions.get_function(FunctionName=name)["Configuration"]
        if shown["State"] == "Active" and shown["LastUpdateStatus"] == "Successful":
            return
        time.sleep(0.05)
    raise SystemExit("the function is still being made")


def make(worker, layer):
    role = iam.create_role(RoleName="worker", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    shared = functions.publish_layer_version(
        LayerName="shared", Content={"ZipFile": open(layer, "rb").read()}, CompatibleRuntimes=["python3.13"], Description="what many need")
    functions.create_function(
        FunctionName="worker", Role=role, Runtime="python3.13", Handler="main.handler", Code={"ZipFile": open(worker, "rb").read()},
        Layers=[shared["LayerVersionArn"]])
    ready("worker")
    version = functions.publish_version(FunctionName="worker")["Version"]
    alias = functions.create_alias(FunctionName="worker", Name="live", FunctionVersion=version, Description="what customers call")["AliasArn"]
    functions.put_provisioned_concurrency_config(FunctionName="worker", Qualifier="live", ProvisionedConcurrentExecutions=2)
    function = functions.get_function(FunctionName="worker")["Configuration"]["FunctionArn"]
    pool = users.create_user_pool(
        PoolName="customers", UsernameAttributes=["email"], UsernameConfiguration={"CaseSensitive": False}, AutoVerifiedAttributes=["email"],
        Policies={"PasswordPolicy": {
            "MinimumLength": 12, "RequireLowercase": True, "RequireUppercase": True, "RequireNumbers": True, "RequireSymbols": False,
            "TemporaryPasswordValidityDays": 3}},
        AccountRecoverySetting={"RecoveryMechanisms": [{"Name": "verified_email", "Priority": 1}]},
        AdminCreateUserConfig={"AllowAdminCreateUserOnly": True}, LambdaConfig={"PreSignUp": function},
        Schema=[
            {"Name": "email", "AttributeDataType": "String", "Required": True, "Mutable": True},
            {"Name": "plan", "AttributeDataType": "String", "Mutable": True, "StringAttributeConstraints": {"MinLength": "1", "MaxLength": "20"}}],
        VerificationMessageTemplate={"DefaultEmailOption": "CONFIRM_WITH_CODE", "EmailSubject": "Your code", "EmailMessage": "It is {####}"},
        EmailConfiguration={"EmailSendingAccount": "COGNITO_DEFAULT", "ReplyToEmailAddress": "help@shop.example"}, DeletionProtection="ACTIVE",
        UserPoolTags={"team": "a"})["UserPool"]
    users.set_user_pool_mfa_config(UserPoolId=pool["Id"], MfaConfiguration="OPTIONAL", SoftwareTokenMfaConfiguration={"Enabled": True})
    web = users.create_user_pool_client(
        UserPoolId=pool["Id"], ClientName="web", GenerateSecret=True, ExplicitAuthFlows=["ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_SRP_AUTH"],
        AccessTokenValidity=15, IdTokenValidity=15, RefreshTokenValidity=7,
        TokenValidityUnits={"AccessToken": "minutes", "IdToken": "minutes", "RefreshToken": "days"}, AllowedOAuthFlowsUserPoolClient=True,
        AllowedOAuthFlows=["code"], AllowedOAuthScopes=["openid"], CallbackURLs=["https://shop.example/in"], SupportedIdentityProviders=["COGNITO"],
        PreventUserExistenceErrors="ENABLED", EnableTokenRevocation=True)["UserPoolClient"]
    key = kms.create_key(Description="of the shop", Tags=[{"TagKey": "team", "TagValue": "a"}])["KeyMetadata"]
    kms.create_alias(AliasName="alias/shop", TargetKeyId=key["KeyId"])
    machine = sfn.create_state_machine(name="checkout", definition=flow, roleArn=role)["stateMachineArn"]
    scheduler.create_schedule(
        Name="nightly", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"}, Target={"Arn": machine, "RoleArn": role})
    json.dump({"role": role, "layer": shared["LayerArn"], "layerVersion": shared["LayerVersionArn"], "function": function, "version": version, "alias": alias,
               "pool": pool["Id"], "poolARN": pool["Arn"], "client": web["ClientId"], "secret": web["ClientSecret"], "key": key["KeyId"], "keyARN": key["Arn"],
               "machine": machine, "trust": trust, "flow": flow}, sys.stdout)


make(*sys.argv[1:])
