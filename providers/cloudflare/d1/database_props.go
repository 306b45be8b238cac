package d1

// ID is the identity of a database, by which Workers are bound to it.
type ID string

// DatabaseProps declare a database. Limits are those of https://developers.cloudflare.com/d1/platform/limits/
type DatabaseProps struct {
	// Name of the database: up to 64 letters, digits, - and _. Default: none, a name is generated. Changing it
	// replaces the database.
	Name string
	// Jurisdiction that the data never leaves. Default: none. Changing it replaces the database.
	Jurisdiction string `prop:"enum=eu|fedramp"`
	// LocationHint is where most of the data will be written. D1 need not follow it, and heeds it at creation alone; after
	// that it is not managed. Default: none, near to whoever makes the database.
	LocationHint string `prop:"enum=wnam|enam|weur|eeur|apac|oc"`
	// ReadReplication keeps copies near to readers. Default: disabled.
	ReadReplication *string `prop:"enum=auto|disabled"`
	// Migrations is a folder with SQL files, from the stack's directory. Those that the database has not had are done in
	// the order of their names, each whole or not at all. They are noted in the table d1_migrations, which is wrangler's,
	// and their digests in athanor_migrations: a file that is changed after it was done is an error. What was done stays
	// done when its file is gone. Default: none.
	Migrations string
}

// Database is what others may refer to of a database.
type Database struct {
	// ID of the database.
	ID ID
	// Name of the database.
	Name string
}
