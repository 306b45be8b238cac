// Package s3test gives tests servers of the S3 protocol: two that keep the conditions of writes, and two that do not.
//
// [Start] runs one server for one test, which ends with the test and with the process. Its programs are those that
// `sh tools/s3.sh` (moto: `task moto`) installs. Without them the test is skipped, or fails when $ATHANOR_NO_SKIP is set.
//
//	server := s3test.Start(t, s3test.Versitygw)
//	store, err := s3.Open(server.URL(t, "infra"), server.Config)
//
// The package knows how a server is made, started and killed. It does not know what a store keeps in it.
package s3test
