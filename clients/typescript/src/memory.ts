import { FAMILIES, type Tools } from "./tools.js";
import { type MemoryOptions, Transport } from "./transport.js";

type Arguments<T extends keyof Tools> = Tools[T]["arguments"];
type Result<T extends keyof Tools> = Tools[T]["result"];
/** The arguments of a tool without those that a method takes by their place. */
type Options<T extends keyof Tools, Placed extends string> = Omit<Arguments<T>, Placed>;

export type Remembered = Result<"remember">;
/** A passage that answers a question; `created_at` is the same as `at`. */
export type Hit = Result<"recall">["hits"][number] & { created_at: string };
/** The hits of a search, the best first; `total` counts those beyond this list too. */
export type Hits = Hit[] & { total: number; warnings: string[] };
export type Context = Result<"context">;
export type Item = Result<"fetch">["items"][number];
export type ListedItem = Result<"list_items">["items"][number];
/** A page of a list, the newest first; `total` counts those beyond this page too. */
export type Items = ListedItem[] & { total: number };
export type Change = Result<"revise">;
export type Event = Result<"history">["events"][number];
export type Undone = Result<"undo_event">;
export type Link = Result<"link">["link"];
export type Explored = Result<"explore">;
export type Overview = Result<"overview">;

/** A file that was taken in; `known` if it was there before. */
export interface IngestedFile {
  id: string;
  name: string;
  type: string;
  known: boolean;
  summary?: string | null;
  warnings?: string[];
}

/** What an import brought. */
export interface Imported {
  events: number;
  items: number;
  redactions: Record<string, number>;
}

type FamilyName = keyof typeof FAMILIES;
type Family<F extends FamilyName> = {
  [T in (typeof FAMILIES)[F][number]]: (
    body: Arguments<T>,
    idempotencyKey?: string,
  ) => Promise<Result<T>>;
};
/** The families of documented tools as methods. */
export type Families = { [F in FamilyName]: Family<F> };

const DEFAULT_BUDGET_TOKENS = 1000;

/** The families of documented tools: `memory.lanonasis.search_memories({ query })`. */
export interface Memory extends Families {}

/**
 * A memory on a server. The methods are those of the Python library, and so are the names of
 * arguments and results. It holds no connection, so there is nothing to close.
 */
export class Memory {
  readonly #transport: Transport;
  readonly #project: string | undefined;

  constructor(options: MemoryOptions) {
    this.#transport = new Transport(options);
    this.#project = options.project;
    Object.assign(this, this.#families());
  }

  /** The result of any tool by its name. With a key, the same call again is done once. */
  async call<T extends keyof Tools>(
    tool: T,
    body: Arguments<T>,
    idempotencyKey?: string,
  ): Promise<Result<T>> {
    return (await this.#transport.call(tool, body, idempotencyKey)) as Result<T>;
  }

  /** Keep a text. With a key, the same call again keeps it once. */
  remember(
    content: string,
    options: Options<"remember", "content" | "idempotency_key"> & { idempotencyKey?: string } = {},
  ): Promise<Remembered> {
    const { idempotencyKey, ...others } = options;
    const project = this.#project === undefined ? {} : { project: this.#project };
    return this.call("remember", { ...project, ...others, content }, idempotencyKey);
  }

  /** What answers a question, the best first; nothing if nothing does. */
  async recall(query: string, options: Options<"recall", "query"> = {}): Promise<Hits> {
    const found = await this.call("recall", { ...options, query });
    const hits = found.hits.map((hit) => ({ ...hit, created_at: hit.at }));
    return Object.assign(hits, { total: found.total, warnings: found.warnings ?? [] });
  }

  /** The best passages on a question with their sources, to be put into a prompt. */
  context(
    query: string,
    budgetTokens: number = DEFAULT_BUDGET_TOKENS,
    options: Options<"context", "query" | "budget_tokens"> = {},
  ): Promise<Context> {
    return this.call("context", { ...options, query, budget_tokens: budgetTokens });
  }

  /** A whole item. */
  async get(id: string): Promise<Item> {
    const [item] = (await this.call("fetch", { ids: [id] })).items;
    return item as Item;
  }

  /** Items, the newest first. */
  async list(options: Arguments<"list_items"> = {}): Promise<Items> {
    const page = await this.call("list_items", options);
    return Object.assign([...page.items], { total: page.total });
  }

  /** Change an item. Its history keeps what it said before. */
  revise(id: string, changes: Options<"revise", "id">): Promise<Change> {
    return this.call("revise", { ...changes, id });
  }

  /** Hide an item from every search until it is restored. */
  forget(id: string): Promise<Change> {
    return this.call("forget", { id });
  }

  /** Bring a forgotten item back. */
  restore(id: string): Promise<Change> {
    return this.call("restore", { id });
  }

  /** Remove every byte of an item for good. */
  async erase(id: string): Promise<void> {
    await this.call("erase_item", { id });
  }

  /** Who changed what in an item and when, the oldest first. */
  async history(id: string, options: Options<"history", "id"> = {}): Promise<Event[]> {
    return (await this.call("history", { ...options, id })).events;
  }

  /** Take an event back. */
  undo(event: number): Promise<Undone> {
    return this.call("undo_event", { event });
  }

  /** Link two items, for example by `depends_on`. */
  async link(
    source: string,
    target: string,
    type: string,
    options: Options<"link", "source" | "target" | "type"> = {},
  ): Promise<Link> {
    return (await this.call("link", { ...options, source, target, type })).link;
  }

  /** What is linked to an item. */
  explore(id: string, options: Options<"explore", "id"> = {}): Promise<Explored> {
    return this.call("explore", { ...options, id });
  }

  /** How much there is of each kind, the newest items, and health. */
  overview(): Promise<Overview> {
    return this.call("overview", {});
  }

  /** Take a file in: a spreadsheet, a PDF, a text. Its passages are found like notes. */
  async ingest(file: Blob, name: string): Promise<IngestedFile> {
    return (await this.#transport.ingest(file, name)) as IngestedFile;
  }

  /** Everything as lines of JSON, one for each event after a header. */
  exportLines(): AsyncGenerator<string, void, undefined> {
    return this.#transport.exportLines();
  }

  /** Take in what `exportLines` gave: everything or, if one line is wrong, nothing. */
  async importLines(lines: Iterable<string>): Promise<Imported> {
    return (await this.#transport.importLines(lines)) as Imported;
  }

  #families(): Families {
    const families: Record<string, Record<string, unknown>> = {};
    for (const [family, tools] of Object.entries(FAMILIES)) {
      families[family] = Object.fromEntries(
        tools.map((tool) => [
          tool,
          (body: object, key?: string) => this.#transport.call(tool, body, key),
        ]),
      );
    }
    return families as unknown as Families;
  }
}
