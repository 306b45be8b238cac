// Package awstest gives tests an AWS that somebody else wrote: moto in server
// mode, reached over HTTP through a proxy that records every call and can
// break any of them.
//
// [Start] gives each test an AWS account and a [Proxy] of its own. Behind all
// proxies of a run of go test stands one moto_server: the first package that
// needs it starts it, and it ends with the run. [Server.Env] is all that the code under
// test needs: the endpoint is the SDK's own setting AWS_ENDPOINT_URL. Because
// that endpoint is an IP address the SDK addresses buckets by path, so no name
// of a bucket is ever looked up. The exception is a bucket with dots in its
// name, which the SDK puts before the host of any plain HTTP endpoint: such
// names cannot be tested here.
//
//	cloud := awstest.Start(t)
//	cloud.Setenv(t)
//	held := cloud.Inject(awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.DropAnswer})
//
// The account is chosen by the access key, as in the real cloud ([AccessKey]),
// so a child process that inherits the environment works in the same account,
// and another key sees another account behind the same endpoint. Names of S3
// buckets are shared by all accounts: tests make theirs with [Server.Name].
//
// The package knows the wire formats: who is called, what for, and how each
// protocol spells an error. It does not know what any call means; the cloud's
// behaviour is moto's, with gaps in it filled: new buckets get the tags that they
// are created with, Lambda shows what it is told, API Gateway lists authorizers and
// changes stages, and log groups have no policies. Operations of REST-JSON services carry no name on the
// wire and appear as "METHOD /path".
package awstest
