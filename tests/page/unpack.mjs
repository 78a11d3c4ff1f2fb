// Unpacks Chromium, the libraries it needs and its fonts into the folder that TMPDIR names.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { inflate } from "@sparticuz/chromium";

const main = createRequire(import.meta.url).resolve("@sparticuz/chromium");
const packed = join(dirname(main), "..", "bin");
for (const name of ["chromium.br", "al2023.tar.br", "fonts.tar.br"]) {
  await inflate(join(packed, name));
}
