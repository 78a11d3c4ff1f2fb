import { MemolithError } from "./errors.js";

/** Where the server is, and how it is asked. */
export interface MemoryOptions {
  /** The address of the server, for example `http://127.0.0.1:8724`. */
  url: string;
  /** A key of the server: `memolith keys create NAME`. */
  key: string;
  /** The project that is worked in: new items are put into it. */
  project?: string;
  /** How long one request may take; 60 seconds unless said otherwise. */
  timeoutMs?: number;
  /** Another `fetch`, for example one that goes through a proxy. */
  fetch?: typeof fetch;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const RETRY_PAUSES_MS = [100, 400, 1000, 2000];
const MAX_PAUSE_MS = 10_000;
const UNREACHABLE = "server_unreachable";
/** Errors that may be gone when the same request is sent again. */
const REPEATED = new Set([
  UNREACHABLE,
  "rate_limited",
  "store_busy",
  "store_gone",
  "outcome_unknown",
  "tenant_moving",
]);

/** Asks a server through its documented routes. */
export class Transport {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor(options: MemoryOptions) {
    if (!options.url || !options.key) {
      throw new MemolithError("A memory needs the url of a server and a key.", {
        type: "validation_error",
        field: options.url ? "key" : "url",
      });
    }
    this.#url = options.url.replace(/\/+$/, "");
    this.#headers = { authorization: `Bearer ${options.key}` };
    if (options.project !== undefined) {
      this.#headers["x-memolith-project"] = options.project;
    }
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  /** The result of a tool. With its key, the server does a repeated write once. */
  async call(tool: string, body: object, key?: string): Promise<unknown> {
    const headers = {
      "content-type": "application/json",
      "idempotency-key": key ?? crypto.randomUUID(),
    };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await this.#repeated(`/mcp/tools/${encodeURIComponent(tool)}`, request);
    return answer.json();
  }

  /** Take a file in. The same bytes are the same file, so sending it again does no harm. */
  async ingest(file: Blob, name: string): Promise<unknown> {
    const form = new FormData();
    form.append("file", file, name);
    const answer = await this.#repeated("/files", { method: "POST", body: form });
    return answer.json();
  }

  /** Every event of the tenant as a line of JSON. */
  async *exportLines(): AsyncGenerator<string, void, undefined> {
    const answer = await this.#send("/export", { method: "GET" });
    if (answer.body === null) {
      return;
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const lines = (rest + piece.value).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    if (rest) {
      yield rest;
    }
  }

  /** Take in what `exportLines` gave. */
  async importLines(lines: Iterable<string>): Promise<unknown> {
    const headers = { "content-type": "application/x-ndjson" };
    const body = [...lines].map((line) => line.replace(/\n$/, "") + "\n").join("");
    const answer = await this.#send("/import", { method: "POST", headers, body });
    return answer.json();
  }

  /** The answer to a request that can be repeated without harm, and is where that may help. */
  async #repeated(path: string, request: RequestInit): Promise<Response> {
    for (const pauseMs of RETRY_PAUSES_MS) {
      try {
        return await this.#send(path, request);
      } catch (error) {
        if (!(error instanceof MemolithError) || !REPEATED.has(error.type)) {
          throw error;
        }
        const wantedMs = error.retryAfterS === undefined ? pauseMs : error.retryAfterS * 1000;
        await pause(Math.min(wantedMs, MAX_PAUSE_MS));
      }
    }
    return this.#send(path, request);
  }

  async #send(path: string, request: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await this.#fetch(this.#url + path, {
        ...request,
        headers: { ...this.#headers, ...(request.headers as Record<string, string> | undefined) },
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new MemolithError(`The server cannot be reached: ${reason}.`, {
        type: UNREACHABLE,
        cause: error,
      });
    }
    if (!answer.ok) {
      throw await MemolithError.of(answer);
    }
    return answer;
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
