// The picture of the graph as a file of lines, circles and names, which other programs can change.

import { radiusOf, readColors, shortName } from "./graph_canvas.js";

const MARGIN = 60;
const SPACE = 1.6;

function escaped(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // What XML cannot hold is left out.
  const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
  return clean.replace(/[&<>"]/g, (letter) => names[letter]);
}

/** The text of an SVG file with everything that is in the model. */
export function svgOf(model) {
  const colors = readColors();
  const xs = Array.from(model.xs, (x) => Math.round(x * SPACE * 10) / 10);
  const ys = Array.from(model.ys, (y) => Math.round(y * SPACE * 10) / 10);
  let left = 0;
  let right = 0;
  let top = 0;
  let bottom = 0;
  for (let number = 0; number < xs.length; number += 1) {
    left = Math.min(left, xs[number]);
    right = Math.max(right, xs[number]);
    top = Math.min(top, ys[number]);
    bottom = Math.max(bottom, ys[number]);
  }
  const box = [left - MARGIN, top - MARGIN, right - left + 4 * MARGIN, bottom - top + 2 * MARGIN];
  const view = box.map((value) => Math.round(value));
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${view.join(" ")}" width="${view[2]}" height="${view[3]}" font-family="sans-serif" font-size="11">`,
    `<title>Graph of memolith</title>`,
    `<rect x="${view[0]}" y="${view[1]}" width="${view[2]}" height="${view[3]}" fill="${colors.surface}"/>`,
    `<g stroke="${colors.line}">`,
  ];
  model.sources.forEach((source, edge) => {
    const target = model.targets[edge];
    lines.push(
      `<line x1="${xs[source]}" y1="${ys[source]}" x2="${xs[target]}" y2="${ys[target]}"><title>${escaped(model.types[edge])}</title></line>`,
    );
  });
  lines.push("</g>");
  model.nodes.forEach((node, number) => {
    const fill = colors.kinds.get(node.kind) ?? colors.muted;
    lines.push(
      `<circle cx="${xs[number]}" cy="${ys[number]}" r="${radiusOf(node).toFixed(1)}" fill="${fill}"><title>${escaped(node.name)}</title></circle>`,
    );
  });
  lines.push(`<g fill="${colors.text}">`);
  model.nodes.forEach((node, number) => {
    const x = (xs[number] + radiusOf(node) + 3).toFixed(1);
    lines.push(`<text x="${x}" y="${(ys[number] + 4).toFixed(1)}">${escaped(shortName(node.name))}</text>`);
  });
  lines.push("</g>", "</svg>");
  return lines.join("\n") + "\n";
}

/** Give the browser a file to save. */
export function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
