package aws

import (
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// codes are the error codes of the services by what to do about them. The old names of SQS's query protocol,
// which the SDK still prefers, stand beside the new ones.
var codes = map[reconcile.Class][]string{
	reconcile.Absent: {
		"NotFound", "NotFoundException", "ResourceNotFound", "ResourceNotFoundException",
		"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
		"NoSuchBucket", "NoSuchKey", "NoSuchVersion", "NoSuchUpload", "NoSuchEntity",
		"ParameterNotFound", "InvalidResourceId",
		"PolicyNotFoundException", "TableNotFoundException", "ProvisionedConcurrencyConfigNotFoundException",
		"NoSuchHostedZone",
		"RepositoryNotFoundException", "RepositoryPolicyNotFoundException", "LifecyclePolicyNotFoundException", "ImageNotFoundException",
		"StateMachineDoesNotExist",
		"NoSuchDistribution", "NoSuchOriginAccessControl", "NoSuchInvalidation", "NoSuchResource",
		"ClusterNotFoundException", "ServiceNotFoundException", "ServiceNotActiveException",
	},
	// A bucket's name that somebody else took is BucketAlreadyExists, and no look will ever show it as ours.
	reconcile.Exists: {
		"QueueNameExists", "QueueAlreadyExists", "AWS.SimpleQueueService.QueueNameExists",
		"AlreadyExists", "BucketAlreadyOwnedByYou", "PreconditionFailed", "EntityAlreadyExists", "ResourceAlreadyExistsException", "AlreadyExistsException",
		"ParameterAlreadyExists", "ResourceExistsException", "HostedZoneAlreadyExists",
		"RepositoryAlreadyExistsException", "ImageAlreadyExistsException", "ImageTagAlreadyExistsException", "StateMachineAlreadyExists",
		"DistributionAlreadyExists", "OriginAccessControlAlreadyExists",
	},
	reconcile.Conflict: {
		"OperationAborted", "OperationAbortedException", "ConditionalRequestConflict", "ConcurrentAccess", "StaleTag",
		"ConcurrentModification", "ConcurrentModificationException", "ResourceConflictException", "ConflictException",
		"ResourceConflict",
		"PreconditionFailedException",
		"DeleteConflict", // of IAM: something was put onto what is being deleted
		"TooManyUpdates",
	},
	// SQS frees the name of a deleted queue after 60 seconds.
	reconcile.Busy: {
		"QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", "BucketNotEmpty",
		"PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress",
		"ConcurrentOperationException", "ResourceInUseException", "ResourceNotReadyException",
		"ContinuousBackupsUnavailableException", // of a table that is not ACTIVE yet
		"EntityTemporarilyUnmodifiable",
		"HostedZoneNotEmpty",
		"RepositoryNotEmptyException", "StateMachineDeleting",
		"DistributionNotDisabled", "OriginAccessControlInUse", "TooManyInvalidationsInProgress",
		"UserImportInProgressException",
		"ClusterContainsContainerInstancesException", "ClusterContainsServicesException", "ClusterContainsTasksException", "UpdateInProgressException",
	},
	reconcile.Throttled: {
		"Throttling", "ThrottlingException", "ThrottledException", "Throttled", "RequestThrottled",
		"RequestThrottledException", "TooManyRequestsException", "TooManyRequests", "RequestLimitExceeded",
		"BandwidthLimitExceeded", "ProvisionedThroughputExceededException", "PriorRequestNotComplete",
		"TransactionInProgressException", "EC2ThrottledException", "SlowDown", "KMSThrottling", "KmsThrottled", "KMS.ThrottlingException",
	},
	reconcile.Transient: {
		"InternalError", "InternalFailure", "InternalServerError", "InternalServiceError", "InternalServiceException", "InternalException",
		"ServiceException", "ServiceUnavailable", "ServiceUnavailableException", "Unavailable",
		"RequestTimeout", "RequestTimeoutException", "IDPCommunicationError",
		"HandlerInternalFailureException", "NetworkFailure", "NetworkFailureException", "ServiceInternalErrorException",
		"ServiceTimeout", "ServiceFailure",
		"NoSuchChange",
		"ServerException", "InternalServerException",
		"LayersNotFoundException", // of ECR: an image is pushed again with its layers
		"KMSInternalException", "DependencyTimeoutException",
		"InternalErrorException", "ServiceInternalError",
	},
	reconcile.Denied: {
		"AccessDenied", "AccessDeniedException", "AllAccessDisabled", "AccountProblem", "AuthorizationError", "AuthFailure",
		"BucketAlreadyExists", "ExpiredToken", "ExpiredTokenException", "Forbidden", "IncompleteSignature",
		"InvalidAccessKeyId", "InvalidClientTokenId", "InvalidSecurity", "InvalidToken", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "NotSignedUp", "OptInRequired", "RequestExpired", "RequestTimeTooSkewed",
		"SignatureDoesNotMatch", "SubscriptionRequiredException", "UnauthorizedOperation", "UnrecognizedClientException",
		"InvalidCredentials", "InvalidCredentialsException", "UnauthorizedTaggingOperation",
		"KMSAccessDenied", "NotAuthorizedException", "KMSOptInRequired", "KmsAccessDenied", "KmsOptInRequired",
		"KMS.AccessDeniedException", "KMS.OptInRequired",
		"KMSAccessDeniedException", "EC2AccessDeniedException", "KmsAccessDeniedException",
	},
	// A key that a queue or topic names and that does not exist is a mistake in the declaration, not an absent queue.
	reconcile.Invalid: {
		"InvalidAddress", "InvalidArgument", "InvalidAttributeName", "InvalidAttributeValue", "InvalidBucketName",
		"InvalidBucketState", "InvalidIdFormat", "InvalidInput", "InvalidLocationConstraint", "InvalidParameter", "InvalidParameterCombination",
		"InvalidParameterException", "InvalidParameterValue", "InvalidPolicyDocument", "InvalidRequest", "InvalidState", "InvalidTag",
		"IllegalLocationConstraintException", "MalformedPolicy", "MalformedPolicyDocument", "MalformedXML",
		"MethodNotAllowed", "MissingParameter", "MissingRequiredParameter", "NotImplemented", "ParameterValueInvalid", "PermanentRedirect", "PolicyNotAttachable",
		"TagPolicy", "UnmodifiableEntity", "UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", "UserError",
		"Validation", "ValidationError", "ValidationException",
		"ClientTokenConflictException", "GeneralServiceException", "HandlerFailureException", "InvalidRequestException",
		"InvalidOperationException", "NotUpdatable", "NotUpdatableException", "PrivateTypeException", "TypeNotFoundException", "UnsupportedActionException",
		"InvalidEventPatternException", "IllegalStatusException", "ManagedRuleException",
		"KMSDisabled", "KMSInvalidState", "KMSNotFound", "KmsDisabled", "KmsInvalidKeyUsage", "KmsInvalidState", "KmsNotFound",
		"KMS.DisabledException", "KMS.InvalidStateException", "KMS.NotFoundException",
		"HierarchyLevelLimitExceededException", "HierarchyTypeMismatchException", "IncompatiblePolicyException",
		"InvalidAllowedPatternException", "InvalidKeyId", "InvalidPolicyAttributeException", "InvalidPolicyTypeException",
		"ParameterPatternMismatchException", "UnsupportedParameterType",
		"InvalidParameterValueException", "InvalidRequestContentException", "InvalidRuntimeException", "InvalidSecurityGroupIDException",
		"InvalidSubnetIDException", "InvalidZipFileException", "CodeVerificationFailedException", "InvalidCodeSignatureException",
		"CodeSigningConfigNotFoundException", "RequestTooLargeException", "RequestEntityTooLargeException", "UnsupportedMediaTypeException",
		"PublicPolicyException", "KMSDisabledException", "KMSInvalidStateException", "KMSNotFoundException",
		"DecryptionFailure", "EncryptionFailure", "MalformedPolicyDocumentException", "PreconditionNotMetException",
		"ConflictingDomainExists", "InvalidChangeBatch", "InvalidDomainName", "InvalidVPCId", "LastVPCAssociation",
		"NoSuchDelegationSet", "PublicZoneVPCAssociation",
		"InvalidTagParameterException", "KmsException",
		"InvalidArn", "InvalidDefinition", "InvalidLoggingConfiguration", "InvalidName", "InvalidTracingConfiguration", "InvalidEncryptionConfiguration",
		"StateMachineTypeNotSupported", "KmsInvalidStateException",
		"CNAMEAlreadyExists", "InconsistentQuantities", "IllegalUpdate", "InvalidViewerCertificate", "InvalidTagging", "MissingBody", "NoSuchCachePolicy",
		"NoSuchOriginRequestPolicy", "NoSuchResponseHeadersPolicy", "InvalidFunctionAssociation", "NoSuchOrigin",
		"InvalidOrigin", "InvalidOriginAccessControl", "InvalidDefaultRootObject", "InvalidDomainNameForOriginAccessControl", "InvalidErrorCode",
		"InvalidResponseCode", "InvalidTTLOrder", "InvalidProtocolSettings", "InvalidMinimumProtocolVersion",
		"FeatureUnavailableInTierException", "InvalidEmailRoleAccessPolicyException", "InvalidOAuthFlowException", "InvalidSmsRoleAccessPolicyException",
		"InvalidSmsRoleTrustRelationshipException", "OperationNotEnabledException", "ScopeDoesNotExistException", "TierChangeNotAllowedException",
		"UserPoolTaggingException",
		"ClientException", "NamespaceNotFoundException", "PlatformTaskDefinitionIncompatibilityException", "PlatformUnknownException", "UnsupportedFeatureException",
		"NotStabilized", // of a handler: what was created did not become ready
	},
	reconcile.Quota: {
		"OverLimit", "TopicLimitExceeded", "SubscriptionLimitExceeded", "FilterPolicyLimitExceeded", "ReplayLimitExceeded",
		"TagLimitExceeded", "TooManyBuckets", "LimitExceeded", "LimitExceededException", "ServiceLimitExceeded", "ServiceLimitExceededException",
		"QuotaExceeded", "ServiceQuotaExceeded", "ServiceQuotaExceededException",
		"ParameterLimitExceeded", "ParameterMaxVersionLimitExceeded", "PoliciesLimitExceededException", "TooManyTagsError",
		"CodeStorageExceededException", "PolicyLengthExceededException", "ENILimitReachedException", "SubnetIPAddressLimitReachedException",
		"LimitsExceeded", "TooManyHostedZones", "TooManyTagsException", "TooManyTags", "StateMachineLimitExceeded",
		"TooManyDistributions", "TooManyOriginAccessControls", "TooManyDistributionCNAMEs", "TooManyOrigins", "TooManyCacheBehaviors", "TooManyCertificates",
		"TooManyDistributionsAssociatedToCachePolicy", "TooManyDistributionsAssociatedToOriginAccessControl",
	},
}

// classes is the table by code.
func classes() map[string]reconcile.Class { return byCode() }

var byCode = sync.OnceValue(func() map[string]reconcile.Class {
	m := map[string]reconcile.Class{}
	for class, names := range codes {
		for _, name := range names {
			m[name] = class
		}
	}
	return m
})
