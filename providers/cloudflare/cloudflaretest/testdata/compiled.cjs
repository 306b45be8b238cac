// Compiles wrangler's one large file from what was compiled before, which $WRANGLER_COMPILED keeps: what Node.js 22 does with
// NODE_COMPILE_CACHE, for 20 as well. The run that finds nothing there writes it at its end.
"use strict";
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const vm = require("node:vm");

const kept = process.env.WRANGLER_COMPILED;
const compile = Module.prototype._compile;

Module.prototype._compile = function (content, filename) {
	if (path.basename(filename) !== "cli.js") return compile.call(this, content, filename);
	const cachedData = fs.existsSync(kept) ? fs.readFileSync(kept) : undefined;
	const script = new vm.Script(Module.wrap(content), {
		filename,
		cachedData,
		importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
	});
	if (!cachedData) process.on("exit", () => fs.writeFileSync(kept, script.createCachedData()));
	const run = script.runInThisContext();
	return run.call(this.exports, this.exports, Module.createRequire(filename), this, filename, path.dirname(filename));
};
