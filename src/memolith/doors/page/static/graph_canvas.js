// Draws the graph on a canvas, and lets people move about in it.

const MIN_SCALE = 0.005;
const MAX_SCALE = 12;
const ZOOM_STEP = 1.3;
const PAN_STEP = 60;
const MARGIN = 40;
const CLICK_DISTANCE = 5;
const HIT_DISTANCE = 14;
const MAX_LABELS = 60;
const MAX_LABEL_TRIES = 1500;
const LETTER_WIDTH = 6.5;
const LABEL_HEIGHT = 16;
const LABEL_GAP = 4;
const MAX_LABEL_LETTERS = 28;
const MAX_ROUND_NODES = 900;
const MAX_EDGES_WHILE_MOVING = 6000;
const MOVING_PAUSE_MS = 160;
const WHEEL_DIVISOR = 500;

/** The nodes, their places, and the links between them by number. */
export class Model {
  constructor() {
    this.nodes = [];
    this.numbers = new Map();
    this.xs = new Float32Array(0);
    this.ys = new Float32Array(0);
    this.sources = [];
    this.targets = [];
    this.types = [];
    this.known = new Set();
  }

  /** Add what is new; a node that is known keeps its place. */
  add(nodes, links) {
    const first = this.nodes.length;
    for (const node of nodes) {
      if (!this.numbers.has(node.id)) {
        this.numbers.set(node.id, this.nodes.length);
        this.nodes.push(node);
      }
    }
    const xs = new Float32Array(this.nodes.length).fill(NaN);
    const ys = new Float32Array(this.nodes.length).fill(NaN);
    xs.set(this.xs);
    ys.set(this.ys);
    this.xs = xs;
    this.ys = ys;
    for (const link of links) {
      const source = this.numbers.get(link.source);
      const target = this.numbers.get(link.target);
      const key = `${source} ${target} ${link.type}`;
      if (source === undefined || target === undefined || this.known.has(key)) {
        continue;
      }
      this.known.add(key);
      this.sources.push(source);
      this.targets.push(target);
      this.types.push(link.type);
    }
    return this.nodes.length - first;
  }

  /** Where the nodes of another model were, for those that are here too. */
  takePlaces(other) {
    this.nodes.forEach((node, number) => {
      const old = other.numbers.get(node.id);
      if (old !== undefined) {
        this.xs[number] = other.xs[old];
        this.ys[number] = other.ys[old];
      }
    });
  }

  /** The links of a node: the node at the other end, the type, and whether it leads away. */
  linksOf(number) {
    const found = [];
    for (let edge = 0; edge < this.sources.length; edge += 1) {
      if (this.sources[edge] === number) {
        found.push({ other: this.targets[edge], type: this.types[edge], isOutgoing: true });
      } else if (this.targets[edge] === number) {
        found.push({ other: this.sources[edge], type: this.types[edge], isOutgoing: false });
      }
    }
    return found;
  }
}

export function radiusOf(node) {
  return 3 + Math.min(9, Math.sqrt(node.links));
}

export function shortName(name) {
  const letters = [...name];
  return letters.length > MAX_LABEL_LETTERS
    ? letters.slice(0, MAX_LABEL_LETTERS - 1).join("") + "…"
    : name;
}

/** The colours of the page, read where the style sheets say them. */
export function readColors() {
  const root = getComputedStyle(document.documentElement);
  const colors = { kinds: new Map() };
  for (const name of ["text", "muted", "line", "accent", "surface", "error"]) {
    colors[name] = root.getPropertyValue(`--${name}`).trim();
  }
  document.querySelectorAll(".legend .swatch").forEach((swatch) => {
    colors.kinds.set(swatch.classList[1], getComputedStyle(swatch).color);
  });
  return colors;
}

export class Drawing {
  constructor(canvas, onChoose, onOpen) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.model = new Model();
    this.scale = 1;
    this.shiftX = 0;
    this.shiftY = 0;
    this.chosen = -1;
    this.found = new Set();
    this.path = [];
    this.wasMoved = false;
    this.movedAt = -Infinity;
    this.isScheduled = false;
    this.onChoose = onChoose;
    this.onOpen = onOpen;
    this.pointers = new Map();
    this.colors = readColors();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
    this.resize();
  }

  setModel(model) {
    this.model = model;
    this.byKind = null;
    this.draw();
  }

  resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    if (!this.wasMoved) {
      this.fit();
    }
    this.draw();
  }

  changeColors() {
    this.colors = readColors();
    this.draw();
  }

  // Moving about

  fit() {
    const { xs, ys } = this.model;
    let left = Infinity;
    let right = -Infinity;
    let top = Infinity;
    let bottom = -Infinity;
    for (let node = 0; node < xs.length; node += 1) {
      left = Math.min(left, xs[node]);
      right = Math.max(right, xs[node]);
      top = Math.min(top, ys[node]);
      bottom = Math.max(bottom, ys[node]);
    }
    if (!Number.isFinite(left + right + top + bottom)) {
      return;
    }
    const room = this.width - 2 * MARGIN;
    let wide = room / Math.max(right - left, 1);
    for (let node = 0; node < Math.min(xs.length, MAX_LABELS); node += 1) {
      wide = Math.min(wide, (room - this.reachOf(node)) / Math.max(xs[node] - left, 1));
    }
    const high = (this.height - 2 * MARGIN) / Math.max(bottom - top, 1);
    this.scale = Math.min(Math.max(Math.min(wide, high), MIN_SCALE), 2);
    let end = this.scale * right;
    for (let node = 0; node < Math.min(xs.length, MAX_LABELS); node += 1) {
      end = Math.max(end, this.scale * xs[node] + this.reachOf(node));
    }
    this.shiftX = (this.width - this.scale * left - end) / 2;
    this.shiftY = this.height / 2 - (this.scale * (top + bottom)) / 2;
    this.draw();
  }

  /** How far the label of a node reaches to its right. */
  reachOf(number) {
    const node = this.model.nodes[number];
    const reach = radiusOf(node) + LABEL_GAP + shortName(node.name).length * LETTER_WIDTH;
    return Math.min(reach, (this.width - 2 * MARGIN) / 2);
  }

  pan(x, y) {
    this.shiftX += x;
    this.shiftY += y;
    this.move();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(Math.max(this.scale * factor, MIN_SCALE), MAX_SCALE);
    const actual = scale / this.scale;
    this.shiftX = x - (x - this.shiftX) * actual;
    this.shiftY = y - (y - this.shiftY) * actual;
    this.scale = scale;
    this.move();
  }

  move() {
    this.wasMoved = true;
    this.movedAt = performance.now();
    clearTimeout(this.rest);
    // When the picture is at rest, it is drawn in full.
    this.rest = setTimeout(() => this.draw(), MOVING_PAUSE_MS);
    this.draw();
  }

  center(number) {
    this.scale = Math.max(this.scale, 1);
    this.shiftX = this.width / 2 - this.model.xs[number] * this.scale;
    this.shiftY = this.height / 2 - this.model.ys[number] * this.scale;
    this.move();
  }

  nodeAt(x, y, reach = HIT_DISTANCE) {
    let best = -1;
    let bestDistance = reach;
    const { xs, ys } = this.model;
    for (let node = 0; node < xs.length; node += 1) {
      const away = Math.hypot(xs[node] * this.scale + this.shiftX - x, ys[node] * this.scale + this.shiftY - y);
      if (away < bestDistance) {
        best = node;
        bestDistance = away;
      }
    }
    return best;
  }

  choose(number) {
    this.chosen = number;
    this.draw();
  }

  // What people do

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("dblclick", (event) => {
      const node = this.nodeAt(event.offsetX, event.offsetY);
      if (node >= 0) {
        this.onOpen(node);
      }
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / WHEEL_DIVISOR), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.type(event));
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.classList.add("dragging");
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.dragged = this.pointers.size > 1 ? Infinity : 0;
  }

  drag(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      return;
    }
    const now = { x: event.offsetX, y: event.offsetY };
    if (this.pointers.size === 1) {
      this.dragged += Math.hypot(now.x - last.x, now.y - last.y);
      if (this.dragged > CLICK_DISTANCE) {
        this.pan(now.x - last.x, now.y - last.y);
      }
    } else {
      this.pinch(event.pointerId, last, now);
    }
    this.pointers.set(event.pointerId, now);
  }

  /** Two fingers: the picture grows with their distance, about the one that rests. */
  pinch(moving, last, now) {
    for (const [id, other] of this.pointers) {
      if (id !== moving) {
        const before = Math.hypot(last.x - other.x, last.y - other.y);
        const after = Math.hypot(now.x - other.x, now.y - other.y);
        this.zoom(after / Math.max(before, 1), other.x, other.y);
        return;
      }
    }
  }

  release(event) {
    this.canvas.classList.remove("dragging");
    const isClick = this.pointers.size === 1 && this.dragged <= CLICK_DISTANCE;
    this.pointers.delete(event.pointerId);
    if (isClick) {
      this.onChoose(this.nodeAt(event.offsetX, event.offsetY));
    }
  }

  type(event) {
    const actions = {
      ArrowLeft: () => this.pan(PAN_STEP, 0),
      ArrowRight: () => this.pan(-PAN_STEP, 0),
      ArrowUp: () => this.pan(0, PAN_STEP),
      ArrowDown: () => this.pan(0, -PAN_STEP),
      "+": () => this.zoom(ZOOM_STEP),
      "=": () => this.zoom(ZOOM_STEP),
      "-": () => this.zoom(1 / ZOOM_STEP),
      0: () => this.fit(),
      Enter: () => this.onChoose(this.nodeAt(this.width / 2, this.height / 2, Infinity)),
      Escape: () => this.onChoose(-1),
    };
    const action = actions[event.key];
    if (action && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      action();
    }
  }

  // Drawing

  draw() {
    if (!this.isScheduled) {
      this.isScheduled = true;
      requestAnimationFrame(() => {
        this.isScheduled = false;
        this.drawNow();
      });
    }
  }

  drawNow() {
    const { context, model } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.colors.surface;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const isMoving = performance.now() - this.movedAt < MOVING_PAUSE_MS;
    const screenX = new Float32Array(model.xs.length);
    const screenY = new Float32Array(model.xs.length);
    for (let node = 0; node < screenX.length; node += 1) {
      screenX[node] = Math.round(model.xs[node] * this.scale + this.shiftX);
      screenY[node] = Math.round(model.ys[node] * this.scale + this.shiftY);
    }
    this.drawEdges(screenX, screenY, isMoving);
    this.drawNodes(screenX, screenY);
    this.drawMarks(screenX, screenY);
    this.drawLabels(screenX, screenY);
  }

  isOutside(x, y, reach) {
    return x < -reach || y < -reach || x > this.width + reach || y > this.height + reach;
  }

  drawEdges(xs, ys, isMoving) {
    const { context, model, width, height } = this;
    const count = model.sources.length;
    // While the picture moves, a part of very many links shows where they are.
    const step = isMoving ? Math.max(1, Math.ceil(count / MAX_EDGES_WHILE_MOVING)) : 1;
    context.beginPath();
    for (let edge = 0; edge < count; edge += step) {
      const startX = xs[model.sources[edge]];
      const startY = ys[model.sources[edge]];
      const endX = xs[model.targets[edge]];
      const endY = ys[model.targets[edge]];
      const isBeside =
        (startX < 0 && endX < 0) ||
        (startY < 0 && endY < 0) ||
        (startX > width && endX > width) ||
        (startY > height && endY > height);
      if (isBeside || (startX === endX && startY === endY)) {
        continue;
      }
      context.moveTo(startX, startY);
      context.lineTo(endX, endY);
    }
    context.strokeStyle = this.colors.line;
    context.lineWidth = 1 / this.ratio;
    context.stroke();
  }

  /** The numbers of the nodes by kind, so that each colour is set once. */
  kinds() {
    if (!this.byKind || this.kindsOf !== this.model.nodes.length) {
      this.byKind = new Map();
      this.model.nodes.forEach((node, number) => {
        if (!this.byKind.has(node.kind)) {
          this.byKind.set(node.kind, []);
        }
        this.byKind.get(node.kind).push(number);
      });
      this.kindsOf = this.model.nodes.length;
    }
    return this.byKind;
  }

  drawNodes(xs, ys) {
    const { context, model } = this;
    const growth = Math.min(Math.max(Math.sqrt(this.scale), 0.45), 1.6);
    let inView = 0;
    for (let node = 0; node < xs.length; node += 1) {
      inView += this.isOutside(xs[node], ys[node], 12) ? 0 : 1;
    }
    const isRound = inView <= MAX_ROUND_NODES;
    for (const [kind, numbers] of this.kinds()) {
      context.fillStyle = this.colors.kinds.get(kind) ?? this.colors.muted;
      if (isRound) {
        context.beginPath();
      }
      for (const number of numbers) {
        const x = xs[number];
        const y = ys[number];
        if (this.isOutside(x, y, 12)) {
          continue;
        }
        const radius = radiusOf(model.nodes[number]) * growth;
        if (isRound) {
          context.moveTo(x + radius, y);
          context.arc(x, y, radius, 0, 2 * Math.PI);
        } else {
          const side = Math.max(2, Math.round(radius * 1.6));
          context.fillRect(x - (side >> 1), y - (side >> 1), side, side);
        }
      }
      if (isRound) {
        context.fill();
      }
    }
  }

  /** The chosen node with its links, what was found, and the path. */
  drawMarks(xs, ys) {
    const { context, model } = this;
    const ring = (number, color, width) => {
      context.beginPath();
      context.arc(xs[number], ys[number], radiusOf(model.nodes[number]) + 4, 0, 2 * Math.PI);
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke();
    };
    const line = (first, second, width) => {
      context.moveTo(xs[first], ys[first]);
      context.lineTo(xs[second], ys[second]);
      context.lineWidth = width;
    };
    if (this.chosen >= 0) {
      context.beginPath();
      for (const link of model.linksOf(this.chosen)) {
        line(this.chosen, link.other, 1.5);
      }
      context.strokeStyle = this.colors.accent;
      context.stroke();
      ring(this.chosen, this.colors.accent, 3);
    }
    for (const number of this.found) {
      ring(number, this.colors.text, 2);
    }
    context.beginPath();
    for (let stop = 1; stop < this.path.length; stop += 1) {
      line(this.path[stop - 1], this.path[stop], 3);
    }
    context.strokeStyle = this.colors.error;
    context.stroke();
    for (const number of this.path) {
      ring(number, this.colors.error, 2);
    }
  }

  /** Names where there is room, the best connected first; the nodes come in that order. */
  drawLabels(xs, ys) {
    const { context } = this;
    const boxes = [];
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.strokeStyle = this.colors.surface;
    context.fillStyle = this.colors.text;
    context.lineWidth = 3;
    const label = (number, isMarked) => {
      const y = ys[number];
      if (this.isOutside(xs[number], y, 0)) {
        return;
      }
      const node = this.model.nodes[number];
      const left = xs[number] + radiusOf(node) + LABEL_GAP;
      const name = shortName(node.name);
      const right = left + name.length * LETTER_WIDTH;
      const overlaps = (box) =>
        left < box.right && right > box.left && Math.abs(y - box.y) < LABEL_HEIGHT;
      if (boxes.length >= MAX_LABELS || (!isMarked && boxes.some(overlaps))) {
        return;
      }
      boxes.push({ left, right, y });
      context.strokeText(name, left, y);
      context.fillText(name, left, y);
    };
    const marked = [this.chosen, ...this.path].filter((number) => number >= 0);
    marked.forEach((number) => label(number, true));
    this.found.forEach((number) => label(number, false));
    const tries = Math.min(xs.length, MAX_LABEL_TRIES);
    for (let number = 0; number < tries; number += 1) {
      label(number, false);
    }
  }
}
