// Reads what the real parsers of Mermaid and Graphviz see in two drawings: labels and edges.
import { Window } from "happy-dom";
import { instance } from "@viz-js/viz";

// The parser of Mermaid cleans its labels with a library that needs a page.
globalThis.window = new Window();
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");

let given = "";
for await (const part of process.stdin) given += part;
const { mermaid: chart, dot } = JSON.parse(given);
await mermaid.parse(chart);
const { db } = await mermaid.mermaidAPI.getDiagramFromText(chart);
const drawn = (await instance()).renderJSON(dot);
// The JSON of Graphviz writes a backslash twice.
const text = (one) => one._ldraw_.filter((step) => step.op === "T").map((step) => step.text).join("").replaceAll("\\\\", "\\");
console.log(JSON.stringify({
  mermaid: { labels: [...db.getVertices().values()].map((one) => one.text),
             edges: db.getEdges().map((one) => [one.start, one.text, one.end]) },
  dot: { labels: (drawn.objects ?? []).map(text),
         edges: (drawn.edges ?? []).map((one) => [`n${one.tail}`, text(one), `n${one.head}`]) },
}));
process.exit(0);
