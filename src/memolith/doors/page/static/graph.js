// The page of the graph: fetches what is chosen, has it arranged and drawn, and answers to people.

import { Drawing, Model } from "./graph_canvas.js";
import { save, svgOf } from "./graph_svg.js";
import { fetchPart, place, showProblem } from "./page.js";

const TYPING_PAUSE_MS = 200;
const ZOOM_STEP = 1.3;
const MAX_SHOWN_NEIGHBOURS = 60;
const EXPANDED_NODES = 500;
const NEW_HEAT = 1;
const ADDED_HEAT = 0.4;

const form = document.getElementById("graph-form");
const pathForm = document.getElementById("path-form");
const pathResult = document.getElementById("path-result");
const list = document.getElementById("graph-list");
const panel = document.getElementById("panel");
const picture = document.getElementById("picture");
const status = document.getElementById("graph-status");
const find = document.getElementById("find");
const welcome = [...panel.children];
const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;

picture.hidden = false;
const drawing = new Drawing(document.getElementById("canvas"), choose, expand);
const worker = new Worker("/ui/static/graph_layout.js", { type: "module" });
let run = 0;
let totals = { nodes: 0 };

// The layout

function arrange(heat) {
  const { model } = drawing;
  run += 1;
  document.body.dataset.graphState = "arranging";
  worker.postMessage({
    run,
    heat,
    xs: model.xs,
    ys: model.ys,
    sources: Uint32Array.from(model.sources),
    targets: Uint32Array.from(model.targets),
  });
  document.getElementById("graph-empty").hidden = model.nodes.length > 0;
  if (model.nodes.length === 0) {
    document.body.dataset.graphState = "done";
  }
}

worker.addEventListener("message", (message) => {
  if (message.data.run !== run) {
    return;
  }
  drawing.model.xs = message.data.xs;
  drawing.model.ys = message.data.ys;
  if (message.data.isDone) {
    document.body.dataset.graphState = "done";
  }
  if (isCalm && !message.data.isDone) {
    return;
  }
  if (!drawing.wasMoved) {
    drawing.fit();
  }
  drawing.draw();
});

// What is shown

function parametersOf(element) {
  const chosen = new URLSearchParams();
  for (const [name, value] of new FormData(element)) {
    if (value) {
      chosen.append(name, value);
    }
  }
  return chosen;
}

async function fetchGraph(parameters) {
  return JSON.parse(await fetchPart("/ui/graph/data?" + parameters, "data"));
}

function tellTotals() {
  const { model } = drawing;
  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const all = Math.max(totals.nodes, model.nodes.length).toLocaleString("en");
  status.textContent = `Drawn: ${count(model.nodes.length, "item")} of ${all}, ${count(model.sources.length, "link")}.`;
}

/** Draw what the form says; nodes that stay keep their places. */
async function load() {
  status.textContent = "Reading the graph…";
  try {
    const shown = await fetchGraph(parametersOf(form));
    const model = new Model();
    model.add(shown.nodes, shown.links);
    model.takePlaces(drawing.model);
    totals = { nodes: shown.total };
    drawing.wasMoved = false;
    drawing.found.clear();
    drawing.path = [];
    drawing.setModel(model);
    choose(model.numbers.get(shown.around) ?? -1);
    markPath();
    arrange(NEW_HEAT);
    tellTotals();
  } catch (problem) {
    showProblem(status, problem);
  }
}

async function loadList(address) {
  try {
    place(list, await fetchPart(address, "list"));
  } catch (problem) {
    showProblem(list, problem);
  }
}

function changed() {
  const address = "/ui/graph?" + parametersOf(form);
  history.replaceState(null, "", address);
  load();
  loadList(address);
}

let typing = 0;
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(changed, TYPING_PAUSE_MS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  changed();
});

/** Add what a node is linked to. */
async function expand(number) {
  const node = drawing.model.nodes[number];
  status.textContent = "Reading what it is linked to…";
  try {
    const parameters = new URLSearchParams({ around: node.id, limit: EXPANDED_NODES });
    for (const type of new FormData(form).getAll("type")) {
      parameters.append("type", type);
    }
    const shown = await fetchGraph(parameters);
    const added = drawing.model.add(shown.nodes, shown.links);
    if (added) {
      arrange(ADDED_HEAT);
    }
    drawing.draw();
    tellTotals();
    status.textContent = `${added} more. ${status.textContent}`;
    choose(drawing.model.numbers.get(node.id));
  } catch (problem) {
    showProblem(status, problem);
  }
}

// The panel

function made(tag, text, properties = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  return Object.assign(element, properties);
}

function button(text, action) {
  const element = made("button", text, { type: "button", className: "quiet" });
  element.addEventListener("click", action);
  return element;
}

function neighbourRow(link) {
  const row = document.createElement("li");
  const other = drawing.model.nodes[link.other];
  const name = button(other.name, () => {
    drawing.center(link.other);
    choose(link.other);
    panel.focus();
  });
  const type = made("em", link.type);
  row.append(...(link.isOutgoing ? [type, " ", name] : [name, " ", type, " this"]));
  return row;
}

function choose(number) {
  drawing.choose(number);
  markRow(number);
  if (number < 0) {
    panel.replaceChildren(...welcome);
    return;
  }
  const node = drawing.model.nodes[number];
  const links = drawing.model.linksOf(number);
  const buttons = made("p", "", { className: "buttons" });
  const open = made("a", "Open the item", { href: "/ui/item/" + encodeURIComponent(node.id) });
  buttons.append(
    button("Expand", () => expand(number)),
    button("Path from here", () => choosePathEnd("from", node)),
    button("Path to here", () => choosePathEnd("to", node)),
  );
  const neighbours = document.createElement("ul");
  neighbours.append(...links.slice(0, MAX_SHOWN_NEIGHBOURS).map(neighbourRow));
  const kind = node.type ? `${node.kind}, ${node.type}` : node.kind;
  panel.replaceChildren(
    made("h2", node.name),
    made("p", `${kind}. ${links.length} of ${Math.max(node.links, links.length)} links are drawn.`, { className: "small" }),
    open,
    buttons,
    neighbours,
  );
  if (links.length > MAX_SHOWN_NEIGHBOURS) {
    panel.append(made("p", `The first ${MAX_SHOWN_NEIGHBOURS} are listed.`, { className: "small" }));
  }
}

function markRow(number) {
  const id = drawing.model.nodes[number]?.id;
  list.querySelectorAll("tr[data-row]").forEach((row) => {
    row.classList.toggle("chosen", row.dataset.row === id);
  });
}

/** Choose a node by its id; one that is not drawn yet is fetched first. */
async function chooseById(id) {
  if (!drawing.model.numbers.has(id)) {
    const shown = await fetchGraph(new URLSearchParams({ around: id, limit: EXPANDED_NODES }));
    drawing.model.add(shown.nodes, shown.links);
    arrange(ADDED_HEAT);
    tellTotals();
  }
  const number = drawing.model.numbers.get(id);
  choose(number);
  drawing.center(number);
  picture.scrollIntoView({ block: "nearest" });
  panel.focus();
}

list.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) {
    return;
  }
  if (link.dataset.node) {
    event.preventDefault();
    chooseById(link.dataset.node).catch((problem) => showProblem(status, problem));
  } else if (link.dataset.pathEnd) {
    event.preventDefault();
    choosePathEnd(link.dataset.pathEnd, { id: link.dataset.id, name: link.dataset.name });
  } else if (link.closest(".pager")) {
    event.preventDefault();
    loadList(link.href).then(() => list.querySelector("a")?.focus());
  }
});

// Paths

function choosePathEnd(end, node) {
  pathForm.elements[end].value = node.id;
  document.getElementById(`${end}-name`).textContent = node.name;
  if (pathForm.elements.from.value && pathForm.elements.to.value) {
    findPath();
  } else {
    status.textContent = end === "from" ? "Now choose where the path leads to." : "Now choose where the path begins.";
  }
}

async function findPath() {
  try {
    place(pathResult, await fetchPart("/ui/graph?" + parametersOf(pathForm), "path"));
    markPath();
  } catch (problem) {
    showProblem(pathResult, problem);
  }
}

/** Draw the path that the page shows as a list. */
function markPath() {
  const stops = [...pathResult.querySelectorAll("[data-path] > li")];
  const nodes = stops.map((stop) => ({
    id: stop.dataset.id,
    kind: stop.dataset.kind,
    name: stop.dataset.name,
    links: 1,
  }));
  const links = [...pathResult.querySelectorAll("[data-source]")].map((link) => ({ ...link.dataset }));
  if (drawing.model.add(nodes, links)) {
    arrange(ADDED_HEAT);
  }
  drawing.path = nodes.map((node) => drawing.model.numbers.get(node.id));
  drawing.draw();
}

pathForm.addEventListener("submit", (event) => {
  event.preventDefault();
  findPath();
});

// Items that fit what is typed

const proposals = document.getElementById("graph-items");
let proposing = 0;

async function propose(field) {
  const parameters = new URLSearchParams({ q: field.value });
  const { items } = JSON.parse(await fetchPart("/ui/graph/items?" + parameters, "items"));
  const options = items.map((item) => made("option", "", { value: `${item.title} (${item.id})` }));
  proposals.replaceChildren(...options);
}

document.querySelectorAll("[data-proposes]").forEach((field) => {
  field.addEventListener("input", () => {
    const name = document.getElementById(`${field.id}-name`);
    if (name) {
      name.textContent = "";
    }
    clearTimeout(proposing);
    // What cannot be proposed can still be typed.
    proposing = setTimeout(() => propose(field).catch(() => {}), TYPING_PAUSE_MS);
  });
});

// Finding in the picture

let matches = [];
let matchNumber = -1;

function findByName() {
  const wanted = find.value.trim().toLowerCase();
  matches = [];
  matchNumber = -1;
  if (wanted) {
    drawing.model.nodes.forEach((node, number) => {
      if (node.name.toLowerCase().includes(wanted)) {
        matches.push(number);
      }
    });
  }
  drawing.found = new Set(matches);
  drawing.draw();
  status.textContent = wanted
    ? `${matches.length} found in the picture. Press Enter to go to the next.`
    : "";
}

find.addEventListener("input", findByName);
find.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches.length > 0) {
    event.preventDefault();
    matchNumber = (matchNumber + 1) % matches.length;
    const number = matches[matchNumber];
    drawing.center(number);
    choose(number);
    const { name } = drawing.model.nodes[number];
    status.textContent = `${matchNumber + 1} of ${matches.length}: ${name}`;
  }
});

document.querySelectorAll("[data-tool]").forEach((tool) => {
  const actions = {
    in: () => drawing.zoom(ZOOM_STEP),
    out: () => drawing.zoom(1 / ZOOM_STEP),
    fit: () => drawing.fit(),
    svg: () => save(svgOf(drawing.model), "memolith-graph.svg"),
  };
  tool.addEventListener("click", actions[tool.dataset.tool]);
});

// Colours and news

document.addEventListener("memolith-theme", () => drawing.changeColors());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawing.changeColors());
document.addEventListener("memolith-change", (event) => {
  if (event.detail.types.some((type) => type === "linked" || type === "unlinked")) {
    status.textContent = "Links were changed just now. Press Show to see them.";
  }
});

load();
