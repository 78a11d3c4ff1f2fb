// Parses a Ruby file with Prism, the parser of Ruby itself: node parse_ruby.mjs PRISM FILE
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [, , prism, file] = process.argv;
const {loadPrism} = await import(pathToFileURL(prism));
const parse = await loadPrism();
const {errors, warnings} = parse(readFileSync(file, "utf-8"));
for (const problem of [...errors, ...warnings]) {
  console.log(problem.message);
}
console.log(`${errors.length} errors, ${warnings.length} warnings`);
process.exit(errors.length || warnings.length ? 1 : 0);
