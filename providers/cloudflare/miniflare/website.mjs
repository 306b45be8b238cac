// Gives the dev server of a framework the bindings and the storage of a stack. It is loaded before the framework, and passes
// them as options of Cloudflare's own packages: to cloudflare() of @cloudflare/vite-plugin and getPlatformProxy() of wrangler.
import { register } from "node:module";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { config, vars, names, state } = JSON.parse(process.env.ATHANOR_WEBSITE);

// without leaves out what binds a name that the stack binds.
const without = (list) => list.filter((one) => !names.includes(one?.binding ?? one?.name));

// bind puts the bindings of the stack into a configuration of wrangler, in the place of those of the same names.
const bind = (into) => {
  for (const key of Object.keys(into)) {
    if (Array.isArray(into[key])) into[key] = without(into[key]);
  }
  const add = (to, key, value) => (to[key] = Array.isArray(value) && key !== "migrations" ? [...without(to[key] ?? []), ...value] : value);
  for (const [key, value] of Object.entries(config)) {
    if (key !== "queues" && key !== "durable_objects") add(into, key, value);
    else for (const list of Object.keys(value)) add((into[key] = { ...into[key] }), list, value[list]);
  }
  return into;
};

// unwatched keeps Vite from watching what the stage stores.
const unwatched = {
  name: "athanor",
  config: (user) => (user.server?.watch === null ? undefined : { server: { watch: { ignored: ["**/.athanor/**"] } } }),
};

let said = false;

globalThis[Symbol.for("athanor.website")] = {
  // found is called when a framework loads one of the packages; some call its function only when they are first asked for a page.
  found: () => said || ((said = true), console.error("athanor: bindings are given")),
  plugin: (real, options = {}) => {
    const config = (read) => {
      const own = typeof options.config === "function" ? options.config(read) : options.config;
      bind(read);
      read.vars = { ...read.vars, ...vars };
      return own;
    };
    return [real({ ...options, persistState: { path: state }, config }), unwatched];
  },
  // The values of variables are added to what wrangler makes, so that no file holds a secret.
  proxy: async (wrangler, options = {}) => {
    const found = options.configPath ?? ["wrangler.json", "wrangler.jsonc", "wrangler.toml"].find((name) => existsSync(name));
    const read = found ? wrangler.experimental_readRawConfig({ config: found }).rawConfig : { compatibility_date: "2025-01-01" };
    const bound = bind({ ...read });
    delete bound.main; // it is the framework's, and may not be built
    delete bound.assets;
    const configPath = join(state, `website-${config.name}.json`);
    writeFileSync(configPath, JSON.stringify(bound), { mode: 0o600 });
    const made = await wrangler.getPlatformProxy({ ...options, configPath, persist: { path: join(state, "v3") } });
    Object.assign(made.env, vars);
    return made;
  },
};

const hooks = `
const packages = {
  "@cloudflare/vite-plugin": (from) => "import { cloudflare as real } from " + from + "; export * from " + from +
    "; export const cloudflare = (o) => globalThis[Symbol.for('athanor.website')].plugin(real, o);",
  wrangler: (from) => "import * as real from " + from + "; export * from " + from + "; export { default } from " + from +
    "; export const getPlatformProxy = (o) => globalThis[Symbol.for('athanor.website')].proxy(real, o);",
};
const packageOf = (url = "") => {
  const at = url.lastIndexOf("/node_modules/");
  return at < 0 ? undefined : Object.keys(packages).find((name) => url.startsWith(name + "/", at + 14));
};
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const name = packageOf(found.url);
  if (!name || packageOf(context.parentURL) || context.parentURL?.startsWith("athanor:") || !/\\.[cm]?js$/.test(found.url)) return found;
  return { url: "athanor:" + name + "?" + found.url, format: "module", shortCircuit: true };
}
export async function load(url, context, next) {
  if (!url.startsWith("athanor:")) return next(url, context);
  const at = url.indexOf("?");
  const found = "globalThis[Symbol.for('athanor.website')].found();";
  return { format: "module", source: found + packages[url.slice(8, at)](JSON.stringify(url.slice(at + 1))), shortCircuit: true };
}`;
register("data:text/javascript," + encodeURIComponent(hooks));
