import { renderTask } from '../../../apps/http/render/generation.js';
import { requireScope } from '../../../core/access/authenticate.js';
import type { Waits } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { createMatched, type Matched } from '../../../core/generation/create-matched.js';
import { type Generation, isTerminal } from '../../../core/generation/generation.js';
import { viewGeneration } from '../../../core/generation/read-generations.js';
import { waitForEnd } from '../../../core/generation/wait-for-generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { SentRequest } from '../checker/repetitions.js';
import { never } from '../faults/port-faults.js';
import type { Answer, Asked, CompatibleCreate } from '../observed.js';
import type { RunContext } from './run-context.js';
import { refusal } from './serve-request.js';
import type { SimulatedProcess } from './simulated-process.js';

/** Longer than the longest queue and run together. */
const WAIT_MS = 15 * 60_000;
const LOST: Answer = { outcome: 'lost' };

/** The connection of a request to the process that serves it, as the process sees it. */
export class Connection implements Waits {
  isOver = false;
  private readonly listeners = new Set<() => void>();

  /** `isCut`: it breaks before the whole answer is written. */
  constructor(
    readonly isCut = false,
    readonly onHead: (generationId: string) => void = () => undefined,
  ) {}

  onOver(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The process learns that the client has closed it. */
  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const listener of this.listeners) listener();
  }
}

export interface Arrival {
  readonly asked: Asked;
  readonly request: CompatibleCreate;
  readonly secret: string | undefined;
  readonly connection: Connection;
}

/**
 * Serves a create over `/v1` as the front does, without a socket: decides which generation it is for, waits for its end
 * and writes the answer, unless the connection ends before. The observer is shown the decision, as of other creates.
 */
export async function serveCompatible(
  run: RunContext,
  process: SimulatedProcess,
  { asked, request, secret, connection }: Arrival,
): Promise<Answer> {
  const { context, authenticator } = process;
  const { repetitions } = run.observer;
  const { body, key, isRetry } = request;
  const digest = context.digests.ofJson(body);
  const fingerprint = context.digests.ofJson({ credentialId: asked.party?.keyId ?? '', digest });
  const sent =
    key === undefined
      ? await repetitions.begin(asked, request, { process, fingerprint, at: run.scheduler.now })
      : undefined;
  let matched: Matched;
  try {
    const caller = await authenticator.authenticate(secret);
    requireScope(caller, 'generations:write');
    matched = await createMatched(context, caller, {
      content: body,
      idempotencyKey: key,
      isRetry,
      prepare: async () => body,
      requireConnected: () => {
        if (connection.isOver) throw new ServiceError('BODY_INVALID');
      },
    });
  } catch (error) {
    if (!process.isAlive) return never();
    const refused = refusal(error);
    if (sent !== undefined && refused.outcome === 'refused') repetitions.refused(sent, refused.code, run.scheduler.now);
    await run.observer.served(asked, refused, run.scheduler.now);
    return connection.isOver || connection.isCut ? LOST : refused;
  }
  if (!process.isAlive) return never();
  const { generation, replayed, place } = matched;
  if (sent !== undefined)
    repetitions.given(
      sent,
      { generationId: generation.generationId, isNew: !replayed, hasOwnPlace: place?.isNew === true },
      run.scheduler.now,
    );
  connection.onHead(generation.generationId);
  const decision: Answer = { outcome: 'success', data: await taskOf(context, generation), replayed };
  await run.observer.served(asked, decision, run.scheduler.now);
  return answerAtEnd(run, process, { matched, sent, connection, waitMs: request.isVideo ? 0 : WAIT_MS });
}

interface Answering {
  readonly matched: Matched;
  readonly sent: SentRequest | undefined;
  readonly connection: Connection;
  readonly waitMs: number;
}

async function answerAtEnd(
  run: RunContext,
  process: SimulatedProcess,
  { matched: { generation, replayed, place }, sent, connection, waitMs }: Answering,
): Promise<Answer> {
  const { repetitions } = run.observer;
  let isWritten = false;
  const leave = (): void => {
    if (isWritten) return;
    isWritten = true;
    if (sent !== undefined) repetitions.left(sent, run.scheduler.now);
    place?.leave();
  };
  connection.onOver(leave);
  if (connection.isOver) leave();
  let ended: Generation;
  try {
    const waiting = { waitMs, until: connection, isCounted: true } as const;
    ended = await waitForEnd(process.context, generation, waiting);
  } catch (error) {
    if (process.isAlive) leave();
    return connection.isOver ? LOST : refusal(error);
  }
  if (!process.isAlive) return never();
  if (connection.isOver || connection.isCut || (waitMs > 0 && !isTerminal(ended.status))) {
    leave();
    return LOST;
  }
  isWritten = true;
  const isFailure = isTerminal(ended.status) && ended.status !== 'succeeded';
  if (sent !== undefined) repetitions.delivered(sent, isFailure, run.scheduler.now);
  place?.deliver(ended);
  return { outcome: 'success', data: await taskOf(process.context, ended), replayed };
}

async function taskOf(context: Context, generation: Generation): Promise<JsonObject> {
  return JSON.parse(JSON.stringify(renderTask(await viewGeneration(context, generation)))) as JsonObject;
}
