package hyperdrive

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// ID is that of a configuration, by which Workers are bound to it.
type ID string

// ConfigProps declare a configuration. Limits are those of https://developers.cloudflare.com/hyperdrive/platform/limits/
type ConfigProps struct {
	// Name of the configuration, up to 63 characters. Default: none, a name is generated.
	Name string
	// Origin is the database. Cloudflare connects to it when the configuration is made or changed, and refuses one that does
	// not answer.
	Origin Origin `prop:"required"`
	// Caching says what is kept of the database's answers.
	Caching Caching
	// MTLS says by which certificates the database and Cloudflare know each other. Default: none.
	MTLS *MTLS
	// OriginConnectionLimit is about how many connections to the database there are at most. Default: none, that of
	// the plan; while nothing is declared it is left alone, and put back to that when a declaration goes.
	OriginConnectionLimit *int `prop:"min=5,max=100"`
}

// Origin is a database: at a host and a port, at a host behind Cloudflare Access, or at a service of Workers VPC.
type Origin struct {
	// Scheme is the language that is spoken. Default: postgres.
	Scheme *string `prop:"enum=postgres|postgresql|mysql"`
	// Host of the database. Default: none, for a service.
	Host string
	// Port of the database. Default: 5432, for mysql 3306; none for a service and behind Access.
	Port *int `prop:"min=1,max=65535"`
	// Database is its name.
	Database string `prop:"required"`
	// User to speak as.
	User string `prop:"required"`
	// Password of that user. It is write-only: the digest of what was written last is compared.
	Password token.Secret `prop:"required"`
	// AccessClientID is the id of the service token that Access asks for. Default: none, there is no Access.
	AccessClientID string
	// AccessClientSecret is its secret. It is write-only, as the password is. Default: none.
	AccessClientSecret token.Secret
	// Service is the id of the service of Workers VPC that leads to the database. Default: none.
	Service string
}

// Caching says what is kept of the answers to queries that change nothing.
type Caching struct {
	// Disabled keeps nothing. Default: false.
	Disabled bool
	// MaxAge is how long an answer is given out again, in whole seconds. Default: 60s.
	MaxAge *time.Duration `prop:"min=0s,max=1h"`
	// StaleWhileRevalidate is how long an answer that is too old is given out still, while a newer one is fetched, in whole
	// seconds. Default: 15s.
	StaleWhileRevalidate *time.Duration `prop:"min=0s,max=1h"`
}

// MTLS says by which certificates both sides know each other.
type MTLS struct {
	// CACertificateID is the id of the certificate that the database's is signed by. Default: none.
	CACertificateID string
	// CertificateID is the id of the certificate that Cloudflare shows. Default: none.
	CertificateID string
	// SSLMode is how much is asked of the database: require, verify-ca or verify-full; for mysql REQUIRED, VERIFY_CA or
	// VERIFY_IDENTITY. Default: none, as Cloudflare chooses.
	SSLMode string `prop:"enum=require|verify-ca|verify-full|REQUIRED|VERIFY_CA|VERIFY_IDENTITY"`
}

// Config is what others may refer to of a configuration.
type Config struct {
	// ID of the configuration.
	ID ID
	// Name of the configuration.
	Name string
}
