// A project of CDK, of which tools/cdk.sh keeps the template that `cdk synth` makes: TestAdoptCDK deploys and adopts it.
import cdk from 'aws-cdk-lib'
import dynamodb from 'aws-cdk-lib/aws-dynamodb'
import events from 'aws-cdk-lib/aws-events'
import targets from 'aws-cdk-lib/aws-events-targets'
import lambda from 'aws-cdk-lib/aws-lambda'
import s3 from 'aws-cdk-lib/aws-s3'
import sqs from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'

class Orders extends Construct {
  constructor(scope, id) {
    super(scope, id)
    const dead = new sqs.Queue(this, 'Dead', { retentionPeriod: cdk.Duration.days(14) })
    this.queue = new sqs.Queue(this, 'Queue', {
      visibilityTimeout: cdk.Duration.minutes(2),
      deadLetterQueue: { queue: dead, maxReceiveCount: 3 },
    })
  }
}

const stack = new cdk.Stack(new cdk.App(), 'Shop')
const token = new cdk.CfnParameter(stack, 'ApiToken', { noEcho: true })
const orders = new Orders(stack, 'Orders')
const table = new dynamodb.Table(stack, 'Table', {
  partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING },
  billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
  removalPolicy: cdk.RemovalPolicy.DESTROY,
})
new s3.Bucket(stack, 'Files', { versioned: true, blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL })
const worker = new lambda.Function(stack, 'Worker', {
  runtime: lambda.Runtime.PYTHON_3_13,
  handler: 'app.handler',
  code: lambda.Code.fromAsset('app'),
  timeout: cdk.Duration.seconds(30),
  memorySize: 256,
  environment: { TABLE: table.tableName, QUEUE: orders.queue.queueName, API_TOKEN: token.valueAsString },
})
table.grantWriteData(worker)
orders.queue.grantSendMessages(worker)
new events.Rule(stack, 'Nightly', {
  schedule: events.Schedule.rate(cdk.Duration.days(1)),
  targets: [new targets.LambdaFunction(worker)],
})
new cdk.CfnOutput(stack, 'QueueUrl', { value: orders.queue.queueUrl })
