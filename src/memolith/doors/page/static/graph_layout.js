// Arranges the graph in a worker: linked items attract each other, all others push away.
// Pushing is computed by the method of Barnes and Hut: a far group counts as one.

const OPENING = 0.9;
const PUSH = 140;
const LINK_LENGTH = 45;
const GRAVITY = 0.02;
const FRICTION = 0.6;
const TICKS = 240;
const REPORT_MS = 60;
const MIN_DISTANCE_SQUARED = 1;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const FIRST_SPACING = 18;

let run = 0;

/** Places for those that have none yet: on a spiral, beside a neighbour if one has a place. */
function place(xs, ys, sources, targets) {
  const near = new Int32Array(xs.length).fill(-1);
  for (let edge = 0; edge < sources.length; edge += 1) {
    const source = sources[edge];
    const target = targets[edge];
    if (!Number.isNaN(xs[source])) {
      near[target] = source;
    }
    if (!Number.isNaN(xs[target])) {
      near[source] = target;
    }
  }
  const hadPlace = Uint8Array.from(xs, (x) => (Number.isNaN(x) ? 0 : 1));
  for (let node = 0; node < xs.length; node += 1) {
    if (hadPlace[node]) {
      continue;
    }
    const beside = near[node];
    const isBeside = beside >= 0 && hadPlace[beside];
    const radius = isBeside ? LINK_LENGTH : FIRST_SPACING * Math.sqrt(node + 0.5);
    xs[node] = (isBeside ? xs[beside] : 0) + radius * Math.cos(node * GOLDEN_ANGLE);
    ys[node] = (isBeside ? ys[beside] : 0) + radius * Math.sin(node * GOLDEN_ANGLE);
  }
}

/** A tree of squares; each knows how many nodes it holds, and their middle. */
class Quadtree {
  constructor(capacity) {
    this.children = new Int32Array(4 * capacity);
    this.nodes = new Int32Array(capacity);
    this.masses = new Float64Array(capacity);
    this.middleX = new Float64Array(capacity);
    this.middleY = new Float64Array(capacity);
    this.sizes = new Float64Array(capacity);
    this.left = new Float64Array(capacity);
    this.top = new Float64Array(capacity);
    this.capacity = capacity;
    this.count = 0;
  }

  square(left, top, size) {
    const made = this.count;
    this.count += 1;
    this.children.fill(-1, 4 * made, 4 * made + 4);
    this.nodes[made] = -1;
    this.masses[made] = 0;
    this.middleX[made] = 0;
    this.middleY[made] = 0;
    this.left[made] = left;
    this.top[made] = top;
    this.sizes[made] = size;
    return made;
  }

  build(xs, ys) {
    let left = Infinity;
    let top = Infinity;
    let right = -Infinity;
    let bottom = -Infinity;
    for (let node = 0; node < xs.length; node += 1) {
      left = Math.min(left, xs[node]);
      right = Math.max(right, xs[node]);
      top = Math.min(top, ys[node]);
      bottom = Math.max(bottom, ys[node]);
    }
    this.count = 0;
    this.square(left, top, Math.max(right - left, bottom - top, 1) * 1.001);
    for (let node = 0; node < xs.length; node += 1) {
      this.insert(node, xs, ys);
    }
  }

  childOf(square, x, y) {
    const half = this.sizes[square] / 2;
    const isRight = x >= this.left[square] + half ? 1 : 0;
    const isLow = y >= this.top[square] + half ? 1 : 0;
    const slot = 4 * square + 2 * isLow + isRight;
    if (this.children[slot] < 0) {
      const left = this.left[square] + isRight * half;
      const top = this.top[square] + isLow * half;
      this.children[slot] = this.square(left, top, half);
    }
    return this.children[slot];
  }

  add(square, x, y) {
    const mass = this.masses[square] + 1;
    this.middleX[square] += (x - this.middleX[square]) / mass;
    this.middleY[square] += (y - this.middleY[square]) / mass;
    this.masses[square] = mass;
  }

  isLeaf(square) {
    const first = 4 * square;
    const { children } = this;
    return (
      children[first] < 0 && children[first + 1] < 0 && children[first + 2] < 0 && children[first + 3] < 0
    );
  }

  insert(node, xs, ys) {
    const x = xs[node];
    const y = ys[node];
    let square = 0;
    for (;;) {
      const isEmpty = this.masses[square] === 0;
      const isFull = this.count + 8 > this.capacity || this.sizes[square] < 1e-3;
      if (isEmpty || (isFull && this.isLeaf(square))) {
        this.add(square, x, y);
        this.nodes[square] = isEmpty ? node : -1;
        return;
      }
      if (this.isLeaf(square)) {
        // The node that was here alone moves down.
        const other = this.nodes[square];
        const lower = this.childOf(square, xs[other], ys[other]);
        this.add(lower, xs[other], ys[other]);
        this.nodes[lower] = other;
        this.nodes[square] = -1;
      }
      this.add(square, x, y);
      square = this.childOf(square, x, y);
    }
  }
}

class Layout {
  constructor(xs, ys, sources, targets) {
    this.xs = xs;
    this.ys = ys;
    this.sources = sources;
    this.targets = targets;
    this.speedX = new Float64Array(xs.length);
    this.speedY = new Float64Array(xs.length);
    this.degrees = new Float64Array(xs.length);
    for (let edge = 0; edge < sources.length; edge += 1) {
      this.degrees[sources[edge]] += 1;
      this.degrees[targets[edge]] += 1;
    }
    this.tree = new Quadtree(8 * xs.length + 64);
    this.stack = new Int32Array(4096);
  }

  tick(heat) {
    this.pull(heat);
    this.tree.build(this.xs, this.ys);
    for (let node = 0; node < this.xs.length; node += 1) {
      this.push(node, heat);
    }
    for (let node = 0; node < this.xs.length; node += 1) {
      this.speedX[node] = (this.speedX[node] - this.xs[node] * GRAVITY * heat) * FRICTION;
      this.speedY[node] = (this.speedY[node] - this.ys[node] * GRAVITY * heat) * FRICTION;
      this.xs[node] += this.speedX[node];
      this.ys[node] += this.speedY[node];
    }
  }

  /** Each link is a spring; it moves the end with fewer links more. */
  pull(heat) {
    const { xs, ys, degrees, speedX, speedY } = this;
    for (let edge = 0; edge < this.sources.length; edge += 1) {
      const source = this.sources[edge];
      const target = this.targets[edge];
      const x = xs[target] - xs[source] || 1e-3;
      const y = ys[target] - ys[source] || 1e-3;
      const distance = Math.sqrt(x * x + y * y);
      const strength = heat / Math.min(degrees[source], degrees[target]);
      const force = ((distance - LINK_LENGTH) / distance) * strength;
      const share = degrees[source] / (degrees[source] + degrees[target]);
      speedX[target] -= x * force * share;
      speedY[target] -= y * force * share;
      speedX[source] += x * force * (1 - share);
      speedY[source] += y * force * (1 - share);
    }
  }

  push(node, heat) {
    const { tree, stack } = this;
    const x = this.xs[node];
    const y = this.ys[node];
    let forceX = 0;
    let forceY = 0;
    let depth = 1;
    stack[0] = 0;
    while (depth > 0) {
      depth -= 1;
      const square = stack[depth];
      const mass = tree.masses[square];
      if (mass === 0 || tree.nodes[square] === node) {
        continue;
      }
      const awayX = x - tree.middleX[square];
      const awayY = y - tree.middleY[square];
      const squared = Math.max(awayX * awayX + awayY * awayY, MIN_DISTANCE_SQUARED);
      const size = tree.sizes[square];
      if (size * size < OPENING * OPENING * squared || tree.isLeaf(square)) {
        forceX += (awayX * mass) / squared;
        forceY += (awayY * mass) / squared;
        continue;
      }
      for (let slot = 4 * square; slot < 4 * square + 4; slot += 1) {
        if (tree.children[slot] >= 0) {
          stack[depth] = tree.children[slot];
          depth += 1;
        }
      }
    }
    this.speedX[node] += forceX * PUSH * heat;
    this.speedY[node] += forceY * PUSH * heat;
  }
}

function report(layout, isDone) {
  const xs = Float32Array.from(layout.xs);
  const ys = Float32Array.from(layout.ys);
  self.postMessage({ run, xs, ys, isDone }, [xs.buffer, ys.buffer]);
}

/** Work in slices, so that a newer request is heard. */
function arrange(layout, own, firstHeat) {
  let tick = 0;
  function slice() {
    if (own !== run) {
      return;
    }
    const until = performance.now() + REPORT_MS;
    while (tick < TICKS && performance.now() < until) {
      layout.tick(firstHeat * (1 - tick / TICKS) ** 2);
      tick += 1;
    }
    report(layout, tick >= TICKS);
    if (tick < TICKS) {
      setTimeout(slice);
    }
  }
  slice();
}

self.addEventListener("message", (message) => {
  const { xs, ys, sources, targets, heat } = message.data;
  run = message.data.run;
  const ownX = Float64Array.from(xs);
  const ownY = Float64Array.from(ys);
  place(ownX, ownY, sources, targets);
  const layout = new Layout(ownX, ownY, sources, targets);
  if (xs.length > 0) {
    report(layout, false);
    arrange(layout, run, heat);
  }
});
