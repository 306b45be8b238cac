package s3

import "github.com/athanor-dev/athanor/providers/aws"

// Notification tells a queue, a topic or a function what happens to objects: one of the three.
type Notification struct {
	// Queue that gets a message for each event, not a FIFO one. Its policy must let s3.amazonaws.com send to it.
	Queue aws.ARN
	// Topic that gets a message for each event, not a FIFO one. Its policy must let s3.amazonaws.com publish to it.
	Topic aws.ARN
	// Function that is invoked for each event. Its policy must let s3.amazonaws.com invoke it.
	Function aws.ARN
	// Events are what is told of, such as s3:ObjectCreated:* or s3:ObjectRemoved:Delete. Their order does not count.
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html
	Events []string `prop:"required"`
	// Prefix is what the keys of the objects begin with. Left out, all do.
	Prefix string
	// Suffix is what the keys of the objects end with. Left out, all do.
	Suffix string
}
