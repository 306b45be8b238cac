package wiretest

// Call is one request as it was read from the wire.
type Call struct {
	Service   string // as the cloud writes it: "S3", "SQS", "KV"
	Operation string // "CreateQueue"; "METHOD /path" where the wire has no name for it
	Mutating  bool   // it may change something
	Constant  bool   // a read of which there always is something, such as the caller's identity
	Account   string // the account that its credentials select; "" when the cloud decides
	Region    string // "" where there is none
	Resource  string // what it is about, where the cloud has a use for it

	Method string
	URI    string // path and query
	Body   []byte // shared: not to be changed

	Status    int  // of the answer sent; of the answer dropped for [DropAnswer]; 0 while running and when none was made
	Forwarded bool // it reached the cloud, so it may have had its effect
	Fault     Kind // what was done to it; "" for nothing

	Wire any // what else the cloud read, for itself
}

// Name returns "Service.Operation", which [Fault.Op] matches.
func (c Call) Name() string { return c.Service + "." + c.Operation }

// Mutating reports whether the call may change something. It is made for
// [Fault.When]: the Nth change, whichever it is.
func Mutating(c Call) bool { return c.Mutating }
