package ecr

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a repository: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. Signing in at the registry is allowed with either, since it takes no repository.
const (
	// Pull images.
	Pull Access = "ecr:BatchCheckLayerAvailability ecr:BatchGetImage ecr:GetDownloadUrlForLayer"
	// Push images, which asks for layers that are there already.
	Push Access = "ecr:BatchCheckLayerAvailability ecr:BatchGetImage ecr:CompleteLayerUpload ecr:InitiateLayerUpload ecr:PutImage ecr:UploadLayerPart"
)

// Grant allows a role, or what runs as one, to use the repository, and to sign in at its registry.
//
//	images.Grant(builder, ecr.Push)
func (r Repository) Grant(to aws.Grantee, access ...Access) {
	aws.Grant(to, aws.Actions(access...), r.ARN)
	aws.Grant(to, []string{"ecr:GetAuthorizationToken"}, "*")
}
