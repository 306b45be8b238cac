// Package pgtest gives tests a real PostgreSQL server.
//
// [Start] runs one server for the whole test binary, and [Server.Schema] and [Server.Database] give each test a place of
// its own in it. [Launch] runs one for a single test, which may stop it and start it again. Servers listen on a socket
// in a temporary folder and on no port. They end with the test binary, however that one ends, and leave nothing.
//
//	url := pgtest.Start(t).Schema(t)
//	store, err := postgres.Open(url)
//
// The programs initdb and postgres are those in $ATHANOR_POSTGRES, a folder, else in PATH, else where packages of
// Linux and macOS put them, the newest first. Without them the test is skipped, or fails when $ATHANOR_NO_SKIP is
// set. PostgreSQL refuses to run as the superuser: for root the account "postgres" or "nobody" is used.
//
// The package knows how a server is made, started and stopped. It knows where a store keeps the tables of a stage,
// and not what they mean.
package pgtest
