// Browsers refuse to start a worker on a page that was opened from a folder, and the search of the
// site runs in one. On such pages, the script of a worker runs in a hidden frame instead.

class FrameWorker {
  onmessage = null;
  onerror = null;
  onmessageerror = null;
  #frame = document.createElement("iframe");
  #waiting = [];
  #ready = false;

  constructor(address) {
    this.#frame.hidden = true;
    document.body.append(this.#frame);
    const inside = this.#frame.contentWindow;
    inside.postMessage = (sent) => this.#deliver(sent, this);
    const script = inside.document.createElement("script");
    script.src = address;
    script.onload = () => this.#start();
    script.onerror = () => this.onerror?.(new Event("error"));
    inside.document.body.append(script);
  }

  postMessage(data) {
    if (this.#ready) {
      this.#deliver(data, this.#frame.contentWindow);
    } else {
      this.#waiting.push(data);
    }
  }

  terminate() {
    this.#frame.remove();
  }

  // Like a real worker: later, and as a copy that either side may change.
  #deliver(sent, receiver) {
    const data = structuredClone(sent);
    setTimeout(() => receiver.onmessage?.({ data }));
  }

  #start() {
    this.#ready = true;
    for (const data of this.#waiting) {
      this.postMessage(data);
    }
  }
}

if (location.protocol === "file:") {
  window.Worker = FrameWorker;
}
