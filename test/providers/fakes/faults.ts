import type { FakeAnswer } from './fake-answer.js';

/** The purpose of a request; not every vendor has all of them. */
export type CallKind = 'submit' | 'poll' | 'output' | 'cancel' | 'recover' | 'check' | 'upload';

/** Options of the faults that replace an answer. */
interface Handling {
  /** Whether the request is handled before the fault answers it. */
  readonly isHandled?: boolean;
}

/**
 * A fault of one request. Handled means that the vendor has carried the request out.
 * - `drop`: the connection is closed when the headers have come; nothing is handled.
 * - `cut-body`: the connection is closed within the request's body; nothing is handled.
 * - `lose-answer`: handled, then the connection is closed without an answer.
 * - `hang`: never answered. The connection stays open until the client or the server closes it. Handled unless `isHandled`
 *   is false.
 * - `late`: read whole, then the connection is closed; handled once the test releases it.
 * - `twice`: a proxy on the way delivers it twice. It is handled twice in a row; the second answer is sent.
 * - `slow-answer`: handled; the answer is sent after `afterMs`, or else once the test releases it.
 * - `trickle`: handled; the body of the answer is sent byte by byte, one every `everyMs` (20). With `isEndless` it begins
 *   again at its end and never stops.
 * - `truncated`: handled; the answer declares its whole length, and the connection is closed after half of it.
 * - `html`: an HTML page with `status` (502). Handled unless `isHandled` is false.
 * - `wrong-type`: the answer's body with another `Content-Type` (`application/octet-stream`). Handled unless `isHandled`
 *   is false, and then the body is empty.
 * - `huge`: handled; the answer's body has no end: its last byte is preceded by spaces without end.
 * - `redirect`: to the address `to`, with `status` (307). Not handled unless `isHandled`.
 * - `altered`: handled; the answer as `alter` changes it.
 * - `early-headers`: handled; the headers of the answer and some white space are sent at once, and its body once the test
 *   releases it.
 * - `informed`: handled; responses with status 102 and 103 precede the answer.
 * - `status`: this status, with these headers and this body. Not handled unless `isHandled`.
 */
export type Fault =
  | { readonly type: 'drop' | 'cut-body' | 'lose-answer' | 'late' | 'twice' | 'truncated' | 'huge' }
  | ({ readonly type: 'hang' } & Handling)
  | { readonly type: 'slow-answer'; readonly afterMs?: number }
  | { readonly type: 'trickle'; readonly everyMs?: number; readonly isEndless?: boolean }
  | ({ readonly type: 'html'; readonly status?: number } & Handling)
  | ({ readonly type: 'wrong-type'; readonly contentType?: string } & Handling)
  | ({ readonly type: 'redirect'; readonly to: string; readonly status?: number } & Handling)
  | { readonly type: 'early-headers' | 'informed' }
  | { readonly type: 'altered'; readonly alter: (answer: FakeAnswer) => FakeAnswer }
  | ({
      readonly type: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    } & Handling);

/** Selects the request that gets a fault; every given part must match. */
export interface FaultMatch {
  readonly of?: CallKind;
  readonly method?: string;
  readonly path?: RegExp;
}

/** A fault that waits for its request, or has met it. */
export interface PlannedFault {
  /** Resolves when the request has arrived and the fault has started, after the handling if the fault handles it. */
  readonly met: Promise<void>;
  /** Resolves when the connection of its request is closed before the answer was complete. */
  readonly left: Promise<void>;
  /** For `huge` and `trickle`, the bytes of the body written to the connection so far. */
  readonly sentBytes: number;
  /**
   * Continues a request with `late`, `slow-answer` or `early-headers`. Resolves when the request was handled or its
   * answer sent, or when the server is closed.
   */
  release(): Promise<void>;
}

/** The server's side of a planned fault. */
export class FaultInPlay implements PlannedFault {
  sentBytes = 0;
  readonly met: Promise<void>;
  readonly left: Promise<void>;
  readonly released: Promise<void>;
  begin!: () => void;
  leave!: () => void;
  finish!: () => void;
  private letGo!: () => void;
  private readonly finished: Promise<void>;

  constructor(
    readonly fault: Fault,
    readonly match: FaultMatch,
  ) {
    this.met = new Promise((resolve) => {
      this.begin = resolve;
    });
    this.left = new Promise((resolve) => {
      this.leave = resolve;
    });
    this.released = new Promise((resolve) => {
      this.letGo = resolve;
    });
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  async release(): Promise<void> {
    this.letGo();
    await this.finished;
  }
}

/** An answer of JSON in place of the vendor's own, before the request is handled. */
export function jsonFault(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Extract<Fault, { readonly type: 'status' }> {
  const type = { 'content-type': 'application/json' };
  return { type: 'status', status, headers: { ...type, ...headers }, body: JSON.stringify(body) };
}
