// Runs instances of miniflare for a Go program: a line of JSON in, a line of JSON out. What Workers print goes to the
// standard error. The end of the standard input is the end of everything.
import { AsyncLocalStorage } from "node:async_hooks";
import childProcess from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
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

const instances = new Map(); // by id: key and options, and the promise of what has begun
const found = find(JSON.parse(process.argv[1]));
if (!found) {
  tell({ error: "missing" });
  process.exit(1);
}
const { Miniflare, Log, LogLevel, Response } = await import(pathToFileURL(found.path));

// Workers have Node's modules without a flag from this compatibility date on. A runtime that is older than that needs the flags.
// https://developers.cloudflare.com/changelog/post/2026-08-04-nodejs-compat-default/
const nodeDefault = "2026-08-04";
const { compatibilityDate: newestDate } = createRequire(found.path)("workerd");
const needsFlags = newestDate < nodeDefault;
const saidOfDates = new Set();
tell({ version: found.version });

// launch begins the start of an instance. What it prints is kept until it is shown.
const launch = (options) => {
  const run = { said: "", starting: true, kept: [] };
  const print = (text) => (run.kept ? run.kept.push(text) : process.stderr.write(text));
  run.show = (id) => {
    run.id = id;
    for (const one of run.kept) process.stderr.write(one);
    run.kept = undefined;
  };
  class Quiet extends Log {
    constructor() {
      super(LogLevel.WARN);
    }
    log(message) {
      print(message + "\n");
    }
  }
  const heard = (chunk) => {
    if (run.starting) run.said += chunk;
    print(chunk);
  };
  run.instance = new Miniflare({
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
        if (!run.starting && instances.has(run.id)) {
          process.stderr.write("workerd has ended by itself\n", () => process.exit(1));
        }
      });
    },
  });
  run.url = run.instance.ready.then(String).finally(() => (run.starting = false));
  return run;
};

const end = (run) => run.instance.dispose().catch(() => {});

// The spare is an instance whose start has begun before there is an edit. It has the options of the instance that answers, and waits
// where workerd asks for the main modules of Workers. An edit that changes nothing else gives it these.
let spare;
let unfit; // a key with which an instance has started, and a spare has not

// waits reports whether the main module of a Worker can come later: it must be an ES module, and asked for as it is answered here. That of
// the Worker for SQL never changes.
const waits = (worker) =>
  worker.name !== "athanor.sql" && worker.modules[0].type === "ESModule" && !worker.compatibilityFlags?.includes("new_module_registry");

// keyOf is a digest of what a start depends on, but for the main modules that come later.
const keyOf = ({ workers, ...shared }) => {
  const without = ([main, ...others]) => [{ ...main, contents: "" }, ...others];
  const all = workers.map((one) => (waits(one) ? { ...one, modules: without(one.modules) } : one));
  return createHash("sha256").update(JSON.stringify({ ...shared, workers: all })).digest("hex");
};

// diskOf is what a start depends on of the disk: workerd opens the folders of stored data, which may be made anew, and miniflare lists
// the files of assets. It is undefined where that cannot be read.
const diskOf = ({ workers, defaultPersistRoot: data }) => {
  const all = [];
  try {
    for (const one of readdirSync(data, { withFileTypes: true })) {
      if (one.isDirectory()) all.push([one.name, statSync(join(data, one.name)).ino]);
    }
    for (const { directory } of workers.flatMap((one) => one.assets ?? [])) {
      for (const name of readdirSync(directory, { recursive: true })) {
        const { ino, size, mtimeMs } = statSync(join(directory, name));
        all.push([name, ino, size, mtimeMs]);
      }
    }
    return JSON.stringify(all);
  } catch {}
};

// stub is the path of the main module that a Worker of a spare has: all that it does is to export what the true one does. That has its
// own name, under which other modules may import it.
const stub = (n) => `/athanor.main.${n}.js`;

// moduleOf is a module in the words of workerd, with the URL in stack traces that miniflare gives it.
const moduleOf = ({ path, contents }) => {
  const code = contents.toString();
  return { name: path.slice(1), esModule: code.includes("//# sourceURL=") ? code : `${code}\n//# sourceURL=${pathToFileURL(path)}\n` };
};

// prepare begins the start of a spare for an instance some milliseconds from now, unless another change has begun by then.
const prepare = async ({ instance, after }) => {
  if (after) await sleep(after);
  const { key, options } = instances.get(instance) ?? {};
  if (spare || !options || instances.size > 1 || key === unfit || !options.workers.some(waits)) return;
  const own = { key, disk: diskOf(options) };
  if (!own.disk) return;
  const mains = new Promise((resolve) => (own.give = resolve));
  const workers = options.workers.map((worker, n) => {
    if (!waits(worker)) return worker;
    const [main, ...others] = worker.modules;
    const from = JSON.stringify("." + main.path);
    const contents = `export * from ${from}; export { default } from ${from};`;
    return { ...worker, modules: [{ type: "ESModule", path: stub(n), contents }, ...others], unsafeUseModuleFallbackService: true };
  });
  // Workerd asks here for each module that it does not have, also of code that runs. An empty answer is that there is none.
  const unsafeModuleFallbackService = async ({ url }) => {
    const asked = new URL(url).searchParams;
    const main = (await mains).find(({ path }, n) => path === asked.get("specifier") && stub(n) === asked.get("referrer"));
    return main ? Response.json(moduleOf(main)) : new Response("");
  };
  const names = workers.filter(waits).map((worker) => "core:user:" + worker.name);
  own.run = servicesLast.run(names, () => launch({ ...options, workers, unsafeModuleFallbackService }));
  own.run.url.catch(() => {
    if (spare !== own) return;
    spare = undefined; // it has ended while it waited
    unfit = key;
  });
  spare = own;
};

// take returns the spare, if it is one for these options. There is none afterwards.
const take = (key, options) => {
  const own = spare;
  spare = undefined;
  if (!own || (own.key === key && own.disk === diskOf(options))) return own;
  end(own.run);
};

// begin makes an instance that answers, or fails with what the runtime says about the code. A spare that does not start is nothing that
// is told: the same is started without one.
const begin = async (id, key, options) => {
  const own = take(key, options);
  if (own) {
    own.give(options.workers.map((worker) => worker.modules[0]));
    try {
      const url = await own.run.url;
      own.run.show(id);
      return { instance: own.run.instance, url, spared: true };
    } catch {
      await end(own.run);
    }
  }
  const run = launch(options);
  run.show(id);
  try {
    const url = await run.url;
    if (own) unfit = key;
    return { instance: run.instance, url };
  } catch (error) {
    await end(run);
    throw new Error(run.said.trim() || error.message);
  }
};

const start = async ({ id, options }) => {
  for (const worker of options.workers) {
    const flags = worker.compatibilityFlags ?? [];
    if (needsFlags && worker.compatibilityDate >= nodeDefault) {
      for (const flag of ["nodejs_compat", "nodejs_compat_v2"]) {
        if (!flags.includes(flag) && !flags.includes("no_" + flag)) flags.push(flag);
      }
    }
    // Newer versions of miniflare refuse such a date. One to come is refused by all.
    const date = worker.compatibilityDate;
    if (date > newestDate && date <= new Date().toISOString().slice(0, 10)) {
      const said = `${worker.name}: this runtime is older than the compatibility date ${date}, and runs it as of ${newestDate}\n`;
      if (!saidOfDates.has(said)) process.stderr.write(said);
      saidOfDates.add(said);
      worker.compatibilityDate = newestDate;
    }
  }
  const key = keyOf(options);
  for (const worker of options.workers) {
    worker.modules = worker.modules.map((m) => ({ ...m, contents: Buffer.from(m.contents ?? "", "base64") }));
  }
  const begun = begin(id, key, options);
  instances.set(id, { key, options, begun });
  try {
    const { url, spared } = await begun;
    return { url, spared };
  } catch (error) {
    instances.delete(id);
    return { error: error.message };
  }
};

const stop = async ({ instance }) => {
  const old = instances.get(instance);
  instances.delete(instance);
  const begun = await old?.begun.catch(() => {});
  await begun?.instance.dispose();
  return {};
};

// servicesLast has the names of the services that workerd is to make last, while an instance starts.
const servicesLast = new AsyncLocalStorage();

// Workerd makes services in the order of its configuration, which means nothing else. Miniflare puts Workers first, so that of a spare
// all others would be made after the code has come. It writes the configuration to the standard input of workerd.
const { spawn } = childProcess;
childProcess.spawn = (...how) => {
  const child = spawn(...how);
  const names = servicesLast.getStore();
  if (names && how[1]?.includes("--binary")) {
    const write = child.stdin.write;
    child.stdin.write = (bytes, ...rest) => write.call(child.stdin, reordered(bytes, names), ...rest);
  }
  return child;
};

// reordered is a configuration of workerd with some services last. It is a message of Cap'n Proto: in the first pointer of its root is a
// list of structs, the services, and in their first pointer is the name.
// https://capnproto.org/encoding.html https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp
const reordered = (bytes, names) => {
  const low = (at) => bytes.readInt32LE(at); // of a pointer: its kind in two bits, and how far it leads, in words of 8 bytes
  const high = (at) => bytes.readUInt32LE(at + 4);
  const follow = (at) => at + 8 + (low(at) >> 2) * 8;
  const dataOf = (at) => bytes.readUInt16LE(at + 4) * 8;
  const root = 8;
  const list = follow(root) + dataOf(root);
  if (bytes.readUInt32LE(0) !== 0 || (low(root) & 3) !== 0 || (low(list) & 3) !== 1 || (high(list) & 7) !== 7) return bytes; // another layout
  const tag = follow(list);
  const data = dataOf(tag);
  const size = data + bytes.readUInt16LE(tag + 6) * 8;
  const services = Array.from({ length: low(tag) >> 2 }, (_, from) => {
    const at = tag + 8 + from * size;
    const text = follow(at + data);
    const name = bytes.toString("utf8", text, text + (high(at + data) >>> 3) - 1);
    return { from, own: Buffer.from(bytes.subarray(at, at + size)), last: names.includes(name) };
  });
  const result = Buffer.from(bytes);
  [...services.filter((one) => !one.last), ...services.filter((one) => one.last)].forEach(({ from, own }, to) => {
    for (let at = data; at < size; at += 8) {
      const pointer = own.readInt32LE(at);
      const leads = (pointer & 2) === 0 && own.readUInt32LE(at + 4) !== 0; // relative to itself, and to something
      if (leads) own.writeInt32LE(pointer + (((from - to) * size) / 8) * 4, at);
    }
    own.copy(result, tag + 8 + to * size);
  });
  return result;
};

const operations = { start, stop, prepare };
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  operations[asked.do](asked)
    .catch((error) => ({ error: String(error.stack) }))
    .then((answer) => tell({ id: asked.id, ...answer }));
}
await Promise.allSettled([...[...instances.keys()].map((instance) => stop({ instance })), spare && end(spare.run)]);
process.exit(0);
