package eventbridge

import "github.com/athanor-dev/athanor/providers/aws"

// EventBusProps declare a bus. Defaults and limits are those of
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateEventBus.html
type EventBusProps struct {
	// Name of the bus: up to 256 letters, digits, -, _ and dots, and not "default". Default: none, a name is
	// generated. Changing it replaces the bus.
	Name string
	// Description of the bus, up to 512 characters. Default: none.
	Description string
	// KMSKeyARN is the key of KMS that encrypts events, as an ARN. Its policy must allow EventBridge to use it. Default:
	// none, a key that AWS owns.
	KMSKeyARN aws.ARN
	// DeadLetter is the queue that gets the events which cannot be encrypted or decrypted with that key. Default: none.
	DeadLetter aws.ARN
	// LogLevel says how much of what happens to events is logged. Where the lines go is not managed here: deliveries of
	// CloudWatch Logs take them (AWS::Logs::Delivery). Default: OFF.
	LogLevel *string `prop:"enum=OFF|ERROR|INFO|TRACE"`
	// LogDetail says whether lines hold the event itself. Default: NONE.
	LogDetail *string `prop:"enum=NONE|FULL"`
	// Policy says which other accounts may send to the bus or make rules on it: a document (see aws.Policy), or JSON text.
	// Default: none, the account alone.
	Policy any
	// Tags of the bus, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// EventBus is what others may refer to of a bus.
type EventBus struct {
	// ARN of the bus, for policies, and for targets of rules on other buses.
	ARN aws.ARN
	// Name of the bus, for rules on it.
	Name string
}
