package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// openBucket opens a store in a bucket. Who asks is who the AWS provider would ask as, with the same refusals where the
// stack is a stranger's.
func (p *Project) openBucket(dir, url string) error {
	keys := &bucketKeys{dir: dir, found: map[string]*seal.Key{}}
	store, err := s3.Open(url, BucketConfig, s3.WithID(func() string { return p.storeID }),
		s3.WithKeys(keeper.RingFact, keys.find), s3.WithProbes(probedLately, rememberProbe))
	if err != nil {
		return reconcile.WithHint(fmt.Errorf("store %s: %w", Redacted(url), err), "s3://BUCKET/PREFIX?region=eu-west-1")
	}
	p.Store = store
	return nil
}

// BucketConfig is who asks for a bucket in a region. The endpoint is the store's business.
func BucketConfig(region string) (sdk.Config, error) {
	settings := new(aws.Settings)
	if region != "" {
		settings.Region = &region
	}
	cloud, err := aws.Provider().Open(context.Background(), settings)
	if err != nil {
		return sdk.Config{}, err
	}
	in, ok := cloud.(*aws.Cloud)
	if !ok {
		return sdk.Config{}, fmt.Errorf("%T is no place in AWS", cloud)
	}
	return in.Config()
}

// bucketKeys finds the keys of stages whose names are sealed in a bucket: nothing of them can be read without.
type bucketKeys struct {
	dir string

	mu    sync.Mutex
	found map[string]*seal.Key
}

func (k *bucketKeys) find(stage statestore.Stage, id string, ring []byte) (s3.Sealer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := stage.String() + " " + id
	if key := k.found[name]; key != nil {
		return key, nil
	}
	place := KeySources(context.Background(), stage, k.dir)
	place.Stored = ring
	key, err := seal.Load(place, id)
	if err != nil {
		return nil, err
	}
	k.found[name] = key
	return key, nil
}

// probeLasts is how long this machine trusts a server that it has probed.
const probeLasts = 30 * 24 * time.Hour

// probePath is the file that says when the server of a store was probed.
func probePath(place string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	server := place // of (endpoint, bucket), whatever the prefix
	if address, err := s3.Parse(place); err == nil {
		address.Prefix = ""
		server = address.String()
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(server))
	return filepath.Join(dir, "athanor", "probed", name), nil
}

func probedLately(place string) bool {
	path, err := probePath(place)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) < probeLasts
}

// rememberProbe is best effort: who cannot remember probes again.
func rememberProbe(place string) {
	path, err := probePath(place)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = os.WriteFile(path, []byte(place+"\n"), 0o600)
}
