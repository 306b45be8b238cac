// Package s3 is the store for teams that run no server: a folder of a bucket of S3, or of what speaks its protocol.
//
// It knows URLs, requests, and what servers answer. By which requests clients change a stage is the business of
// statestore/internal/objects, and what stands in it the ledger's. Credentials come from the caller.
//
//	store, err := s3.Open("s3://acme-state/infra?region=eu-west-1", func(region string) (aws.Config, error) {
//		return config.LoadDefaultConfig(ctx, config.WithRegion(region))
//	})
package s3

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/objects"
)

// Store is a store in a bucket. It makes its first request when it is first used.
type Store struct {
	*objects.Store
	address Address
}

var _ statestore.Store = (*Store)(nil)

// Config returns who asks, in which region: with credentials, for the region of a URL, empty when that names none.
type Config func(region string) (aws.Config, error)

// Sealer seals and opens what a bucket's owner shall not read. The key of a stage is one.
type Sealer = objects.Sealer

// Rebuild says how a lost head is made again.
type Rebuild = objects.Rebuild

// Rebuilt is what a new head was made of.
type Rebuilt = objects.Rebuilt

// UnsafeError says that a server does not keep the conditions of writes.
type UnsafeError = objects.UnsafeError

// Option sets how a store behaves.
type Option func(*settings)

type settings struct {
	objects.Settings
	key func(stage statestore.Stage, id string, ring []byte) (Sealer, error)
}

// WithID says which identity the store gets when it is made. Without it, or when it gives an empty one, a random
// identity is made. A store that is there keeps its own.
func WithID(id func() string) Option { return func(s *settings) { s.ID = id } }

// WithPatience sets how long a call waits for a server that went away after it had answered once. The default is 10 s.
func WithPatience(d time.Duration) Option { return func(s *settings) { s.Patience = d } }

// WithKeys says where the key of a stage is found, which a store with sealed names needs before it reads anything. Ring is
// the fact of the stage that is the wrapped ring of its keys.
func WithKeys(ring string, key func(stage statestore.Stage, id string, ring []byte) (Sealer, error)) Option {
	return func(s *settings) { s.Clear, s.key = ring, key }
}

// WithProbes says how this machine remembers that a server was probed: a probe is some 50 requests. Without it each
// store that is opened and written probes once.
func WithProbes(probed func(place string) bool, remember func(place string)) Option {
	return func(s *settings) {
		s.Probed = func() bool { return probed(s.Place) }
		s.Remember = func() { remember(s.Place) }
	}
}

// Open names a store by its URL, s3://BUCKET/PREFIX?PARAMETERS:
//
//   - region: the bucket's region
//   - endpoint: the URL of a server that is not AWS's own: R2, MinIO and others
//   - names=sealed: addresses, kinds and identities are sealed too
//   - keep: how many versions of each stage are kept before the newest one, 20 by default
//
// Open connects to nothing. The store is made by the first Acquire, and until then every stage is empty.
func Open(url string, config Config, options ...Option) (*Store, error) {
	address, err := Parse(url)
	if err != nil {
		return nil, err
	}
	return open(address, Bucket(address, config), host.Real(), options...), nil
}

func open(address Address, bucket objects.Bucket, world host.World, options ...Option) *Store {
	set := &settings{Settings: objects.Settings{
		Place: address.String(), Prefix: address.Prefix, Keep: address.Keep, Patience: 10 * time.Second,
	}}
	for _, option := range options {
		option(set)
	}
	if address.SealedNames {
		set.Key = set.key
	} else {
		set.Clear = ""
	}
	return &Store{Store: objects.New(bucket, world, set.Settings), address: address}
}

// Address is where the store is.
func (s *Store) Address() Address { return s.address }
