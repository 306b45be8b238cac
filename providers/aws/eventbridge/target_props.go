package eventbridge

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
)

// Target gets what a rule matches. Beside those that are named otherwise here, fields are those of
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_Target.html
type Target struct {
	// ARN of who gets it: a function, a queue, a topic, a state machine, another bus, and more. A function, a queue or
	// a topic must allow it by its policy; others are called with roleArn.
	ARN aws.ARN `prop:"required,maxlen=1600"`
	// RoleARN is the role by which the target is called. Setting it needs iam:PassRole on it. Default: none.
	RoleARN aws.ARN `prop:"maxlen=1600"`
	// Input is what the target gets instead of the event: a document, or JSON text. Default: none, the event.
	Input any
	// InputPath is the part of the event that the target gets, as a JSONPath such as $.detail. Default: none, all of it.
	InputPath string `prop:"maxlen=256"`
	// InputTransformer makes what the target gets out of the event. Default: none.
	InputTransformer *InputTransformer
	// DeadLetter is the queue, standard and in the same region, that gets what could not be delivered. Its policy must
	// allow it. Default: none, it is lost.
	DeadLetter aws.ARN
	// RetryPolicy says how long it is tried. Default: none, 185 times in 24 hours.
	RetryPolicy *RetryPolicy
	// SQSParameters are for a queue. Default: none.
	SQSParameters *SQSParameters
	// KinesisParameters are for a stream. Default: none, and the event's id is the key.
	KinesisParameters *KinesisParameters
	// ECSParameters are for a cluster: the task that is run there. Default: none.
	ECSParameters *ECSParameters
	// BatchParameters are for a job queue: the job that is put there. Default: none.
	BatchParameters *BatchParameters
	// HTTPParameters are for an API destination, or an API of API Gateway. Default: none.
	HTTPParameters *HTTPParameters
	// AppSyncParameters are for an API of AppSync. Default: none.
	AppSyncParameters *AppSyncParameters
	// RedshiftDataParameters are for a cluster of Redshift: the statements that are run there. Default: none.
	RedshiftDataParameters *RedshiftDataParameters
	// RunCommandParameters are for documents of Systems Manager: the instances that run it. Default: none.
	RunCommandParameters *RunCommandParameters
	// SageMakerPipelineParameters are for a pipeline of SageMaker. Default: none.
	SageMakerPipelineParameters *SageMakerPipelineParameters
}

// InputTransformer makes text of an event.
type InputTransformer struct {
	// InputTemplate is the text, with <name> for what a path of that name shows.
	InputTemplate string `prop:"required,maxlen=8192"`
	// InputPathsMap are JSONPaths into the event, by name: up to 100. Default: none.
	InputPathsMap map[string]string
}

// RetryPolicy bounds how often and how long a delivery is tried.
type RetryPolicy struct {
	// MaximumEventAge is how long it is tried, in whole seconds from a minute to a day. Default: 24h.
	MaximumEventAge *time.Duration `prop:"min=1m,max=24h"`
	// MaximumRetryAttempts is how often it is tried again, up to 185 times. Default: 185.
	MaximumRetryAttempts *int `prop:"min=0,max=185"`
}

// SQSParameters are for a queue.
type SQSParameters struct {
	// MessageGroupID is the group of the messages in a FIFO queue, which needs one and deduplicates by content.
	MessageGroupID string `prop:"required"`
}

// KinesisParameters are for a stream.
type KinesisParameters struct {
	// PartitionKeyPath is the JSONPath of the partition key in the event.
	PartitionKeyPath string `prop:"required,maxlen=256"`
}

// ECSParameters are for a task.
type ECSParameters struct {
	// TaskDefinitionARN is what is run.
	TaskDefinitionARN aws.ARN `prop:"required,maxlen=1600"`
	// TaskCount is how many of it are. Default: 1.
	TaskCount *int `prop:"min=1"`
	// LaunchType is what it runs on; not together with capacityProviderStrategy. Default: none, that of the cluster.
	LaunchType string `prop:"enum=EC2|FARGATE|EXTERNAL"`
	// CapacityProviderStrategy says which capacity it runs on. Default: none, that of the cluster.
	CapacityProviderStrategy []CapacityProvider `prop:"maxitems=6"`
	// PlatformVersion of Fargate, such as 1.4.0. Default: none, the latest.
	PlatformVersion string
	// Group of the task. Default: none, its family.
	Group string
	// NetworkConfiguration of tasks in awsvpc mode, as all of Fargate are. Default: none.
	NetworkConfiguration *NetworkConfiguration
	// PlacementConstraints limit the instances that it may run on: up to 10. Default: none.
	PlacementConstraints []PlacementConstraint `prop:"maxitems=10"`
	// PlacementStrategy chooses among those: up to 5. Default: none.
	PlacementStrategy []PlacementStrategy
	// PropagateTags copies the tags of the task definition. Default: none, nothing is copied.
	PropagateTags string `prop:"enum=TASK_DEFINITION"`
	// ReferenceID of the task. Default: none.
	ReferenceID string `prop:"maxlen=1024"`
	// EnableECSManagedTags lets ECS add tags of its own. Default: false.
	EnableECSManagedTags bool
	// EnableExecuteCommand lets people into its containers. Default: false.
	EnableExecuteCommand bool
	// Tags of the task. Default: none.
	Tags map[string]string
}

// CapacityProvider is one of a strategy.
type CapacityProvider struct {
	// CapacityProvider is its short name.
	CapacityProvider string `prop:"required,maxlen=255"`
	// Base is how many tasks it gets at least. Default: 0.
	Base int `prop:"min=0,max=100000"`
	// Weight is its share of the rest. Default: 0.
	Weight int `prop:"min=0,max=1000"`
}

// NetworkConfiguration says where a task is.
type NetworkConfiguration struct {
	// AwsvpcConfiguration is its place in a VPC.
	AwsvpcConfiguration AwsvpcConfiguration `prop:"required"`
}

// AwsvpcConfiguration is a place in a VPC.
type AwsvpcConfiguration struct {
	// Subnets that it may be in, up to 16, in any order.
	Subnets []string `prop:"required"`
	// SecurityGroups of it, up to 5, in any order. Default: none, the VPC's own.
	SecurityGroups []string
	// AssignPublicIP gives it a public address, with FARGATE alone. Default: none, DISABLED.
	AssignPublicIP string `prop:"enum=ENABLED|DISABLED"`
}

// PlacementConstraint limits where a task runs.
type PlacementConstraint struct {
	// Type of the constraint.
	Type string `prop:"required,enum=distinctInstance|memberOf"`
	// Expression is in the query language of clusters, for memberOf. Default: none.
	Expression string `prop:"maxlen=2000"`
}

// PlacementStrategy chooses where a task runs.
type PlacementStrategy struct {
	// Type of the strategy.
	Type string `prop:"required,enum=random|spread|binpack"`
	// Field is what is spread or packed by. Default: none.
	Field string
}

// BatchParameters are for a job.
type BatchParameters struct {
	// JobDefinition is its name or ARN.
	JobDefinition string `prop:"required"`
	// JobName is the name of each job.
	JobName string `prop:"required"`
	// ArrayProperties make it an array of jobs. Default: none.
	ArrayProperties *BatchArrayProperties
	// RetryStrategy says how often it is tried. Default: none, that of the definition.
	RetryStrategy *BatchRetryStrategy
}

// BatchArrayProperties make an array of jobs.
type BatchArrayProperties struct {
	// Size of the array.
	Size int `prop:"required,min=2,max=10000"`
}

// BatchRetryStrategy says how often a job is tried.
type BatchRetryStrategy struct {
	// Attempts in all.
	Attempts int `prop:"required,min=1,max=10"`
}

// HTTPParameters go into a request.
type HTTPParameters struct {
	// PathParameterValues fill the *s of the path, in order. Default: none.
	PathParameterValues []string
	// HeaderParameters are headers. What must be secret belongs into the connection of an API destination. Default: none.
	HeaderParameters map[string]string
	// QueryStringParameters are keys and values of the query. Default: none.
	QueryStringParameters map[string]string
}

// AppSyncParameters are for an API of AppSync.
type AppSyncParameters struct {
	// GraphQLOperation is the mutation that is made.
	GraphQLOperation string `prop:"required"`
}

// RedshiftDataParameters are statements for a cluster of Redshift.
type RedshiftDataParameters struct {
	// Database that they are run in.
	Database string `prop:"required,maxlen=64"`
	// SQL is the statement. Default: none; one of sql and sqls is set.
	SQL string
	// SQLs are several, in order. Default: none.
	SQLs []string
	// DBUser is the user of the database, where there is no secret. Default: none.
	DBUser string `prop:"maxlen=128"`
	// SecretManagerARN is the secret with the user and the password. Default: none.
	SecretManagerARN aws.ARN `prop:"maxlen=1600"`
	// StatementName names the statement. Default: none.
	StatementName string `prop:"maxlen=500"`
	// WithEvent sends an event when it is done. Default: false.
	WithEvent bool
}

// RunCommandParameters choose instances.
type RunCommandParameters struct {
	// RunCommandTargets are the instances, by tag or id: one.
	RunCommandTargets []RunCommandTarget `prop:"required,maxitems=5"`
}

// RunCommandTarget chooses instances.
type RunCommandTarget struct {
	// Key is tag:NAME or InstanceIds.
	Key string `prop:"required,maxlen=128"`
	// Values of the tag, or the ids.
	Values []string `prop:"required,maxitems=50"`
}

// SageMakerPipelineParameters are for a pipeline.
type SageMakerPipelineParameters struct {
	// PipelineParameterList are its parameters, up to 200. Default: none.
	PipelineParameterList []SageMakerPipelineParameter `prop:"maxitems=200"`
}

// SageMakerPipelineParameter is one of a pipeline.
type SageMakerPipelineParameter struct {
	// Name of the parameter.
	Name string `prop:"required,maxlen=256"`
	// Value of it.
	Value string `prop:"required,maxlen=1024"`
}
