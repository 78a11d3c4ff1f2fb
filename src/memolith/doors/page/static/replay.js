// Replays a conversation turn by turn: at a pace that can be changed, or step by step.

const PAUSE_MS = 1600;
const SPEEDS = [0.5, 1, 2, 4];
const replays = new WeakMap();

function button(text, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "quiet";
  made.textContent = text;
  made.addEventListener("click", action);
  return made;
}

class Replay {
  constructor(start) {
    this.start = start;
    this.turns = [...document.getElementById(start.dataset.replay).children];
    this.shown = 0;
    this.timer = 0;
    this.speed = 1;
    this.controls = this.makeControls();
    start.after(this.controls);
  }

  makeControls() {
    const bar = document.createElement("span");
    bar.hidden = true;
    bar.className = "replay";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Replay");
    this.play = button("Pause", () => (this.timer ? this.pause() : this.resume()));
    this.status = document.createElement("span");
    this.status.className = "small";
    this.status.setAttribute("role", "status");
    const speed = document.createElement("select");
    speed.setAttribute("aria-label", "Speed");
    for (const value of SPEEDS) {
      speed.add(new Option(`${value} ×`, value, value === 1, value === 1));
    }
    speed.addEventListener("change", () => {
      this.speed = Number(speed.value);
      if (this.timer) {
        this.resume();
      }
    });
    bar.append(
      button("Back", () => this.step(-1)),
      this.play,
      button("Next", () => this.step(1)),
      speed,
      button("Show all", () => this.end()),
      this.status,
    );
    return bar;
  }

  begin() {
    this.start.hidden = true;
    this.controls.hidden = false;
    this.show(1);
    this.resume();
    this.play.focus();
  }

  end() {
    this.pause();
    this.turns.forEach((turn) => (turn.hidden = false));
    this.controls.hidden = true;
    this.start.hidden = false;
    this.start.focus();
  }

  show(count) {
    this.shown = Math.min(Math.max(count, 1), this.turns.length);
    this.turns.forEach((turn, number) => (turn.hidden = number >= this.shown));
    this.turns[this.shown - 1]?.scrollIntoView({ block: "nearest" });
    this.status.textContent = `Turn ${this.shown} of ${this.turns.length}`;
    if (this.shown >= this.turns.length) {
      this.pause();
    }
  }

  step(turns) {
    this.pause();
    this.show(this.shown + turns);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
  }

  resume() {
    if (this.shown >= this.turns.length) {
      this.show(1);
    }
    clearInterval(this.timer);
    this.timer = setInterval(() => this.show(this.shown + 1), PAUSE_MS / this.speed);
    this.play.textContent = "Pause";
  }
}

// Pages are renewed in part while they are open, so the buttons are not looked for beforehand.
document.addEventListener("click", (event) => {
  const start = event.target.closest?.("[data-replay]");
  if (start) {
    const replay = replays.get(start) ?? new Replay(start);
    replays.set(start, replay);
    replay.begin();
  }
});
