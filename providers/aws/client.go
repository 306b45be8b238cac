package aws

import (
	"fmt"
	"unsafe"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/athanor-dev/athanor/reconcile"
)

// Client returns the client of a service at a location, which is made once for each handle and service. The location may differ
// from the local clock, which only a client that stays learns.
//
// A client that becomes an interface, or is named by the dictionary of a generic function, is linked into every program with all
// operations of its service, used or not: templates may call any method by its name. So clients are kept as bare pointers, here
// and nowhere else, and [Client] and [ClientIn] must be small enough to be inlined, which leaves no dictionary.
func Client[C, O any](
	cloud reconcile.Cloud, service string, connect func(sdk.Config, ...func(*O)) *C, options ...func(*O),
) (*C, error) {
	p, err := kept(cloud, service, *(*maker)(unsafe.Pointer(&connect)), *(*[]option)(unsafe.Pointer(&options)))
	return (*C)(p), err
}

// ClientIn is [Client] for callers that let the first call fail where there is no client: its error is that of the
// configuration.
func ClientIn[C, O any](
	cloud reconcile.Cloud, service string, connect func(sdk.Config, ...func(*O)) *C, options ...func(*O),
) *C {
	return (*C)(keptOrFailing(cloud, service, *(*maker)(unsafe.Pointer(&connect)), *(*[]option)(unsafe.Pointer(&options))))
}

type (
	// maker is the NewFromConfig of any service: functions that differ in what their pointers point to are called alike.
	maker  func(sdk.Config, ...option) unsafe.Pointer
	option func(unsafe.Pointer)
)

func kept(cloud reconcile.Cloud, service string, connect maker, options []option) (unsafe.Pointer, error) {
	c, ok := cloud.(*Cloud)
	if !ok {
		return nil, fmt.Errorf("%T is no location in AWS", cloud)
	}
	if known, ok := c.clients.Load(service); ok {
		return known.(unsafe.Pointer), nil
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	made, _ := c.clients.LoadOrStore(service, connect(cfg, options...))
	return made.(unsafe.Pointer), nil
}

func keptOrFailing(cloud reconcile.Cloud, service string, connect maker, options []option) unsafe.Pointer {
	p, err := kept(cloud, service, connect, options)
	if err != nil {
		fail := func(*middleware.Stack) error { return err }
		p = connect(sdk.Config{APIOptions: []func(*middleware.Stack) error{fail}}, options...)
	}
	return p
}
