// Runs instances of miniflare for a Go program: a line of JSON in, a line of JSON out. What Workers print goes to the
// standard error. The end of the standard input is the end of everything.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const tell = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// find is miniflare as it is seen from one of several folders, or as the wrangler that is seen from there sees it.
const find = (folders) => {
  for (const folder of folders) {
    const here = createRequire(join(folder, "x.js"));
    for (const by of [() => here, () => createRequire(here.resolve("wrangler/package.json"))]) {
      try {
        const require = by();
        return { path: require.resolve("miniflare"), version: require("miniflare/package.json").version };
      } catch {}
    }
  }
};

const instances = new Map(); // promises, by id
const found = find(JSON.parse(process.argv[1]));
if (!found) {
  tell({ error: "missing" });
  process.exit(1);
}
const { Miniflare, Log, LogLevel } = await import(pathToFileURL(found.path));

// Workers have Node's modules without a flag from this compatibility date on. A runtime that is older than that needs the flags.
// https://developers.cloudflare.com/changelog/post/2026-08-04-nodejs-compat-default/
const nodeDefault = "2026-08-04";
const needsFlags = createRequire(found.path)("workerd").compatibilityDate < nodeDefault;
tell({ version: found.version });

class Quiet extends Log {
  constructor() {
    super(LogLevel.WARN);
  }
  log(message) {
    process.stderr.write(message + "\n");
  }
}

// begin makes an instance that answers, or fails with what the runtime says about the code.
const begin = async (id, options) => {
  for (const worker of options.workers) {
    const flags = worker.compatibilityFlags ?? [];
    if (needsFlags && worker.compatibilityDate >= nodeDefault) {
      for (const flag of ["nodejs_compat", "nodejs_compat_v2"]) {
        if (!flags.includes(flag) && !flags.includes("no_" + flag)) flags.push(flag);
      }
    }
    worker.modules = worker.modules.map((m) => ({ ...m, contents: Buffer.from(m.contents ?? "", "base64") }));
  }
  let said = "";
  let starting = true;
  const heard = (chunk) => {
    if (starting) said += chunk;
    process.stderr.write(chunk);
  };
  const instance = new Miniflare({
    ...options,
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Quiet(),
    logRequests: false,
    unsafeTriggerHandlers: true,
    handleRuntimeStdio: (out, err) => {
      out.on("data", heard);
      err.on("data", heard);
      err.on("end", () => {
        if (!starting && instances.has(id)) {
          process.stderr.write("workerd has ended by itself\n", () => process.exit(1));
        }
      });
    },
  });
  try {
    return { instance, url: String(await instance.ready) };
  } catch (error) {
    await instance.dispose().catch(() => {});
    throw new Error(said.trim() || error.message);
  } finally {
    starting = false;
  }
};

const start = async ({ id, options }) => {
  instances.set(id, begin(id, options));
  try {
    const { url } = await instances.get(id);
    return { url };
  } catch (error) {
    instances.delete(id);
    return { error: error.message };
  }
};

const stop = async ({ instance }) => {
  const old = instances.get(instance);
  instances.delete(instance);
  const begun = await old?.catch(() => {});
  await begun?.instance.dispose();
  return {};
};

const operations = { start, stop };
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  operations[asked.do](asked)
    .catch((error) => ({ error: String(error.stack) }))
    .then((answer) => tell({ id: asked.id, ...answer }));
}
await Promise.allSettled([...instances.keys()].map((instance) => stop({ instance })));
process.exit(0);
