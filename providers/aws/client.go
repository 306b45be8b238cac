package aws

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
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
// and nowhere else, and [Client], [ClientIn] and [CallOf] must be small enough to be inlined, which leaves no dictionary.
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

// Call is an operation of a client as a value, with neither of their types.
type Call struct {
	input  reflect.Type // what the pointer to its input points to
	client func(reconcile.Cloud) unsafe.Pointer
	send   func(client unsafe.Pointer, ctx context.Context, in unsafe.Pointer, options ...option) (unsafe.Pointer, error)
}

// CallOf is the operation of the client that is found at a location. A helper that takes an operation takes this one: as a generic function it
// would name the client.
func CallOf[C, I, O, P any](client func(reconcile.Cloud) *C, send func(*C, context.Context, *I, ...func(*P)) (*O, error)) (c Call) {
	c.input = reflect.TypeFor[I]()
	*(*func(reconcile.Cloud) *C)(unsafe.Pointer(&c.client)) = client
	*(*func(*C, context.Context, *I, ...func(*P)) (*O, error))(unsafe.Pointer(&c.send)) = send
	return c
}

// Input is a new input of the operation, a pointer to it.
func (c Call) Input() any { return reflect.New(c.input).Interface() }

// Send makes the call with an input, which is a pointer to the operation's own. What it answers is not told. It panics with the input of another
// operation, which the compiler does not see.
func (c Call) Send(ctx context.Context, cloud reconcile.Cloud, in any) error {
	if given := reflect.TypeOf(in); given != reflect.PointerTo(c.input) {
		panic(fmt.Sprintf("a call that takes *%v gets %v", c.input, given))
	}
	_, err := c.send(c.client(cloud), ctx, reflect.ValueOf(in).UnsafePointer())
	runtime.KeepAlive(in)
	return err
}

type (
	// maker is the NewFromConfig of any service: functions that differ in what their pointers point to are called alike.
	maker  func(sdk.Config, ...option) unsafe.Pointer
	option func(unsafe.Pointer)
)

func kept(cloud reconcile.Cloud, service string, connect maker, options []option) (unsafe.Pointer, error) {
	c, err := placeOf(cloud)
	if err != nil {
		return nil, err
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
