/** What went wrong, in words for people and in a type for programs. */
export class MemolithError extends Error {
  override readonly name = "MemolithError";
  /** The kind of the error, for example `not_found`; docs/reference/errors.md lists them. */
  readonly type: string;
  /** The HTTP status; undefined if the server could not be reached. */
  readonly status: number | undefined;
  /** The argument at fault, if it was one. */
  readonly field: string | undefined;
  /** After how many seconds the server wants to be asked again. */
  readonly retryAfterS: number | undefined;

  constructor(
    message: string,
    details: {
      type: string;
      status?: number;
      field?: string;
      retryAfterS?: number;
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.type = details.type;
    this.status = details.status;
    this.field = details.field;
    this.retryAfterS = details.retryAfterS;
  }

  /** The error that an answer of a server stands for. */
  static async of(answer: Response): Promise<MemolithError> {
    const retryAfter = answer.headers.get("retry-after") ?? "";
    return new MemolithError(wording(await answer.text(), answer.status), {
      type: answer.headers.get("x-error-type") ?? "error",
      status: answer.status,
      field: answer.headers.get("x-error-field") ?? undefined,
      retryAfterS: /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
    });
  }
}

/** What an error body says. The families word errors differently. */
function wording(text: string, status: number): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (typeof body === "object" && body !== null) {
    const said = body as { message?: unknown; error?: unknown };
    for (const sentence of [said.message, said.error]) {
      if (typeof sentence === "string") {
        return sentence;
      }
    }
  }
  return `The server answered with status ${status}.`;
}
