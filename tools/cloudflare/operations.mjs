// Writes operations.json: method, path, JSON Schema of request and result, and the error codes of the operations of
// Cloudflare's services that have kinds of their own; and others.json, the same of all other services. They are read
// from the npm package @distilled.cloud/cloudflare (Apache-2.0), which is generated from Cloudflare's own client. Its
// schemas are of the library effect, which can write them as JSON Schema. Run where both are installed.
import fs from "node:fs";
import * as Schema from "effect/Schema";
import * as Traits from "@distilled.cloud/cloudflare/Traits";

const own = [
  "accounts", "d1", "dns", "durable-objects", "hyperdrive", "kv", "queues", "r2", "rulesets", "secrets-store", "user",
  "workers", "workflows", "zones",
];

const folder = "node_modules/@distilled.cloud/cloudflare/lib/services";
const others = fs.readdirSync(folder).filter((f) => f.endsWith(".js")).map((f) => f.slice(0, -3)).filter((s) => !own.includes(s)).sort();

// Some bodies are one value by itself, a list mostly. The package marks these; those of the list below it has as an object with the value in it, where
// Cloudflare's own client sends the value (its MarshalRoot): TestBodiesAreWhole holds the descriptions to that. Such a value is called "body" here.
const whole = [
  "api-gateway.PatchOperationSchemaValidation",
  "zero-trust.PutDevicePolicyCustomFallbackDomain", "zero-trust.PutDevicePolicyDefaultFallbackDomain", "waiting-rooms.CreateRule",
  "waiting-rooms.UpdateRule",
];
const marked = Symbol.for("@distilled.cloud/http-body");
const bodied = (name, operation, properties) => {
  const sent = operation.params.filter((p) => !p.path && !p.query && !p.header);
  const [param] = sent;
  if (sent.length !== 1 || param.name === "body") return;
  if (!whole.includes(name) && !Traits.getAnnotation(properties.find((p) => String(p.name) === param.name).type, marked)) return;
  const { [param.name]: value, ...rest } = operation.request.properties;
  operation.request.properties = { ...rest, body: value };
  operation.request.required = operation.request.required?.map((r) => (r === param.name ? "body" : r));
  param.name = "body";
};

// Answers about these objects show what a creation takes, as Cloudflare's own client has them (Worker of its workers/betaworker.go), and the package has
// their id and name alone.
const shown = { "workers.CreateBetaWorker": ["workers.GetBetaWorker", "workers.CreateBetaWorker", "workers.PatchBetaWorker", "workers.UpdateBetaWorker", "workers.ListBetaWorkers"] };
const completed = (operations) => {
  const named = (name) => operations.find((o) => o.service + "." + o.name === name);
  for (const [from, answers] of Object.entries(shown)) {
    const { accountId, ...taken } = named(from)?.request.properties ?? {};
    for (const answer of answers) {
      const whole = named(answer)?.response;
      const object = whole?.properties?.result?.items ?? whole;
      if (object) object.properties = { ...taken, ...object.properties };
    }
  }
};

const resolved = (ast) => (ast?._tag === "Suspend" ? ast.thunk() : ast);
const document = (schema) => {
  const { schema: root, definitions } = Schema.toJsonSchemaDocument(schema);
  return Object.keys(definitions).length > 0 ? { ...root, $defs: definitions } : root;
};

const read = async (service, operations, errors) => {
  const module = await import("@distilled.cloud/cloudflare/" + service);
  for (const [name, schema] of Object.entries(module)) {
    const matchers = schema?.ast && Traits.getErrorMatchers(schema.ast);
    if (matchers) errors[service + "." + name] = matchers;
    if (!name.endsWith("Request") || !schema?.ast) continue;
    const request = resolved(schema.ast);
    const http = Traits.getHttpTrait(schema.ast) ?? Traits.getHttpTrait(request);
    if (!http) continue;
    // What is done alike for an account and for a zone has one answer.
    const response = module[name.replace(/Request$/, "Response")] ?? module[name.replace(/For(Account|Zone)Request$/, "Response")];
    const operation = {
      service,
      name: name.replace(/Request$/, ""),
      method: http.method,
      path: http.path,
      params: Traits.getStructProps(request).map((p) => ({
        name: String(p.name),
        path: Traits.getPathParamWireName(p) || undefined,
        query: Traits.getQueryParam(p) || undefined,
        header: Traits.getHeaderParam(p) || undefined,
      })),
      request: document(schema),
      // The whole answer is described where there is no path into it.
      inside: (response && (Traits.getResponsePath(response.ast) ?? Traits.getResponsePath(resolved(response.ast)))) || undefined,
      response: response ? document(response) : undefined,
    };
    bodied(service + "." + operation.name, operation, Traits.getStructProps(request));
    operations.push(operation);
  }
};
for (const [file, services] of Object.entries({ "operations.json": own, "others.json": others })) {
  const operations = [];
  const errors = {};
  for (const service of services) await read(service, operations, errors);
  completed(operations);
  fs.writeFileSync(file, JSON.stringify({ operations, errors }));
}
