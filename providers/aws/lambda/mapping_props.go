package lambda

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
)

// EventSourceMappingProps declare that Lambda reads a source and calls a function with what it finds there. Defaults and limits
// are those of https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
type EventSourceMappingProps struct {
	// Function that is called: the ARN of it, or of a version or an alias of it.
	Function aws.ARN `prop:"required"`
	// Source is the ARN of a queue of SQS, a stream of DynamoDB or Kinesis, a cluster of MSK, a broker of MQ or a cluster of
	// DocumentDB. Default: none, for a Kafka cluster of one's own (servers). Changing it replaces the mapping.
	Source aws.ARN
	// Enabled says whether the source is read. Default: true.
	Enabled *bool
	// BatchSize is how many records a call gets at most: up to 10,000, from FIFO queues 10. More than 10 from a queue need a
	// batchWindow. Default: 10 from queues, 100 from all others.
	BatchSize *int `prop:"min=1,max=10000"`
	// BatchWindow is how long records are gathered for a call, in whole seconds up to 5 minutes. Default: 0s from queues and
	// streams; left out it is not managed for others, which begin with half a second and cannot go back to it.
	BatchWindow *time.Duration `prop:"min=0s,max=5m"`
	// Filters are patterns, up to 10; a record is read that matches one: documents, or JSON text. Default: none, all records.
	Filters []any
	// ReportBatchItemFailures: the function's answer says which records failed, and only they come again. Default: false.
	ReportBatchItemFailures bool
	// MaxConcurrency is how many calls a queue makes at a time, from 2 to 1,000. Default: none, as many as there can be.
	MaxConcurrency *int `prop:"min=2,max=1000"`
	// OnFailure is the queue, topic, bucket or Kafka topic that is told of records of streams and Kafka which are given up.
	// Default: none.
	OnFailure aws.ARN
	// BisectOnError splits a failed batch of a stream in two. Default: false.
	BisectOnError bool
	// MaxRecordAge is how old records of streams and Kafka may be that are still tried, in whole seconds from a minute to
	// 7 days. Default: none, without bound.
	MaxRecordAge *time.Duration `prop:"min=1m,max=168h"`
	// MaxRetries of a failed batch of a stream or Kafka, up to 10,000. Default: none, without bound.
	MaxRetries *int `prop:"min=0,max=10000"`
	// Parallelization is how many batches of one shard of a stream are worked on at a time, up to 10. Default: 1.
	Parallelization *int `prop:"min=1,max=10"`
	// TumblingWindow is the length of a window over a stream whose state calls hand on, in whole seconds up to 15 minutes.
	// Default: 0s, no windows.
	TumblingWindow time.Duration `prop:"min=0s,max=15m"`
	// StartingPosition is where a source is begun; streams, Kafka and DocumentDB need it. Default: none. Changing it replaces
	// the mapping.
	StartingPosition *string `prop:"enum=TRIM_HORIZON|LATEST|AT_TIMESTAMP"`
	// StartingTimestamp is when the first records are of, for AT_TIMESTAMP: such as 2026-01-31T12:00:00Z. Default: none.
	// Changing it replaces the mapping.
	StartingTimestamp string
	// Topics are the topic of Kafka, one; Kafka needs it. Default: none. Changing it replaces the mapping.
	Topics []string
	// Queues are the queue of MQ, one; MQ needs it. Default: none. Changing it replaces the mapping.
	Queues []string
	// Servers are host:port of a Kafka cluster of one's own. Default: none. Changing it replaces the mapping.
	Servers []string
	// ConsumerGroupID of Kafka, which needs it: a mapping that is made anew goes on where its group has come to. Default:
	// none. Changing it replaces the mapping.
	ConsumerGroupID string
	// Access is how Kafka, MQ and DocumentDB are reached. Default: none.
	Access []Access
	// DocumentDB says which changes are read of DocumentDB, which needs it. Default: none.
	DocumentDB *DocumentDB
	// Pollers are kept ready, for queues and Kafka. Default: none, they come and go.
	Pollers *Pollers
	// KMSKey encrypts the filters: the ARN of a key. Default: none.
	KMSKey aws.ARN
	// EventCount publishes metrics of how many records went where. Default: false.
	EventCount bool
	// Tags of the mapping, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// Access is a secret or a part of a network by which a source is reached.
type Access struct {
	// Type of it.
	Type string `prop:"required,enum=BASIC_AUTH|VPC_SUBNET|VPC_SECURITY_GROUP|SASL_SCRAM_512_AUTH|SASL_SCRAM_256_AUTH|VIRTUAL_HOST|CLIENT_CERTIFICATE_TLS_AUTH|SERVER_ROOT_CA_CERTIFICATE"`
	// URI of it: the ARN of a secret, subnet:ID, security_group:ID, or a name.
	URI string `prop:"required"`
}

// DocumentDB says which changes of a cluster are read.
type DocumentDB struct {
	// Database is its name.
	Database string `prop:"required"`
	// Collection is its name. Default: none, all of the database.
	Collection string
	// FullDocument says whether updates come with the whole document. Default: Default, with what changed.
	FullDocument *string `prop:"enum=UpdateLookup|Default"`
}

// Pollers are what reads a source.
type Pollers struct {
	// Minimum of them. Default: none, the service's.
	Minimum *int `prop:"min=1"`
	// Maximum of them. Default: none, the service's.
	Maximum *int `prop:"min=1"`
}

// EventSourceMapping is what others may refer to of a mapping.
type EventSourceMapping struct {
	// ARN of the mapping.
	ARN aws.ARN
	// ID that Lambda gave it.
	ID string
	// Function that is called: its ARN.
	Function aws.ARN
	// Source that is read: its ARN, "" for a Kafka cluster of one's own.
	Source aws.ARN
}
