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
    operations.push({
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
    });
  }
};
for (const [file, services] of Object.entries({ "operations.json": own, "others.json": others })) {
  const operations = [];
  const errors = {};
  for (const service of services) await read(service, operations, errors);
  fs.writeFileSync(file, JSON.stringify({ operations, errors }));
}
