import { type AbortSignalLike, throwIfAborted } from '../../cancellation.js';
import type { Model } from '../../catalog/model.js';
import { DURATION_TOLERANCE_MS, requestedDurationMs, requestedSize } from '../../catalog/price.js';
import type { Files, Machine } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import { type AiMark, markOf, MAX_MARK_BYTES } from '../../media/ai-mark.js';
import type { MediaFacts, ProbedFile } from '../../ports/media.js';
import type { ObjectStore } from '../../ports/object-store.js';
import type { ProviderCall, SubmittedOutput } from '../../ports/provider.js';
import { backoffMs } from '../../settings.js';
import { pause, WakeableDelay } from '../../waiting.js';
import { type DeliveredObject, type Generation, type Output, outputCountOf } from '../generation.js';
import type { Execution } from './executions.js';
import type { LeaseHolder } from './lease.js';
import { isMadeObsolete, type ProviderCalls } from './provider-calls.js';
import type { FinishedReport, News, Silence } from './run-state.js';
import { signOutput } from './sign-output.js';

/** Brings the outputs of one run into the object store, each time under a fence whose keys are unused. */
export class RunOutputs {
  /** The fence under which outputs were written last: its keys are used up. */
  private writtenUnder: number | undefined;
  /** Outputs of the task that have arrived, by index, under any fence. */
  private readonly arrived = new Map<number, Output | Fault>();

  constructor(
    private readonly context: Files & Machine,
    private readonly of: Execution,
    private readonly holder: LeaseHolder,
    private readonly calls: ProviderCalls,
    /** Converts the error of a failed call into a silent result. */
    private readonly silenceOf: (error: unknown) => Silence,
  ) {}

  /** Whether something was, or may have been, written under the generation's fence. */
  hasUsedKeys(g: Generation): boolean {
    return g.fence === this.writtenUnder;
  }

  /**
   * Takes a fence whose keys are unused. Files that were written before and have not arrived are useless, and retention
   * removes them.
   */
  async renewKeys(g: Generation): Promise<Generation> {
    const leased = await this.holder.reLease();
    await removeCollected(this.context, g, g.fence, this.arrived).catch(() => undefined);
    return leased;
  }

  /** Takes another fence for some of the outputs; what was written under this one stays. */
  async otherKeys(): Promise<Generation> {
    const leased = await this.holder.reLease();
    this.useKeys(leased);
    return leased;
  }

  /** From now on the keys of the generation's fence count as used. */
  useKeys(g: Generation): void {
    this.writtenUnder = g.fence;
  }

  /** Fetches and checks what a finished task has; undefined when the fetching was abandoned. */
  async collect(
    g: Generation,
    { reference, report, timeLeftMs, isLastTry }: Finished,
  ): Promise<OutputNews | undefined> {
    const leased = this.hasUsedKeys(g) ? await this.renewKeys(g) : g;
    this.useKeys(leased);
    try {
      const { length } = report.outputs;
      const { arrived } = this;
      const collected = await this.calls.collect(timeLeftMs(), (call) =>
        collectOutputs(this.context, this.of, leased, {
          reference,
          offered: length,
          isLastTry,
          arrived,
          call,
          otherKeys: async () => this.otherKeys(),
        }),
      );
      return this.collected(g, report, collected);
    } catch (error) {
      return isMadeObsolete(error) ? undefined : this.notCollected(g, error);
    }
  }

  /** Checks what the provider gave in its answer to the submission. */
  async inspect(g: Generation, delivered: readonly DeliveredObject[]): Promise<OutputNews> {
    try {
      return this.collected(g, { state: 'succeeded' }, await inspectDelivered(this.context, this.of, g, delivered));
    } catch (error) {
      return this.notCollected(g, error);
    }
  }

  private collected(
    { generationId }: Generation,
    { state }: Pick<FinishedReport, 'state'>,
    { outputs, faults }: Collected,
  ): OutputNews {
    if (faults.length > 0) this.context.log.warn('outputs left out', { generationId, faults });
    return { of: 'collect', report: { state }, outputs };
  }

  private notCollected({ generationId }: Generation, error: unknown): OutputNews {
    this.context.log.warn('outputs not collected', { generationId, error });
    const { retryAfterMs } = this.silenceOf(error);
    return {
      of: 'failed-collect',
      isStoreAway: error instanceof StoreUnavailable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
}

type OutputNews = Extract<News, { of: 'collect' | 'failed-collect' }>;

/** A task that has ended at the provider, with outputs to collect. */
interface Finished {
  readonly reference: string;
  readonly report: FinishedReport;
  readonly timeLeftMs: () => number;
  /** Whether the deadline has passed: then what does not arrive is left out where something else does. */
  readonly isLastTry: boolean;
}

/** The media type under which an output is stored until its real type is known. */
const RAW = 'application/octet-stream';

export interface Collected {
  readonly outputs: readonly Output[];
  /** Why the others were left out, one sentence each. */
  readonly faults: readonly string[];
}

/** The outputs of a finished task. */
export interface Offered {
  readonly reference: string;
  /** The number of outputs. */
  readonly offered: number;
  /** Whether a missing output is left out if another one arrives. */
  readonly isLastTry: boolean;
  /** Outputs that arrived before, by index. They are not fetched again. */
  readonly arrived: Map<number, Output | Fault>;
  readonly call: ProviderCall;
  /** Takes another fence, for a file that has to be written once more. */
  readonly otherKeys: StoringBy['otherKeys'];
}

/** Why an output that arrived completely is left out, as one sentence. */
export interface Fault {
  readonly fault: string;
}

/**
 * Streams a finished task's outputs into our object store and checks each one there: it decodes and has the requested
 * kind. One of another size or duration is delivered unless the model refuses it. An output that fails is not delivered and
 * not charged. Each fence writes under its own keys, and each key once: neither an overtaken worker nor an abandoned call
 * that arrives late can change a delivered output. To collect again, take a new fence.
 */
export async function collectOutputs(
  context: Files & Machine,
  by: Execution,
  generation: Generation,
  task: Offered,
): Promise<Collected> {
  const wanted = Math.min(task.offered, outputCountOf(generation));
  const outputs: Output[] = [];
  const faults: string[] = [];
  let failure: unknown;
  for (let index = 0; index < wanted; index += 1) {
    try {
      const collected = task.arrived.get(index) ?? (await collectOne(context, by, generation, { ...task, index }));
      // Files that an abandoned call stored may have been removed by now, because the next call uses other keys.
      throwIfAborted(task.call.signal);
      task.arrived.set(index, collected);
      if ('fault' in collected) faults.push(collected.fault);
      else outputs.push(collected);
    } catch (error) {
      if (task.call.signal.aborted || error instanceof StoreUnavailable) throw error;
      failure = error;
      faults.push(`Output ${index + 1} did not arrive.`);
    }
  }
  if (failure !== undefined && (outputs.length === 0 || !task.isLastTry)) throw failure;
  return { outputs, faults };
}

/** Removes what was, or may have been, written under a fence, apart from the outputs with the kept indexes. */
async function removeCollected(
  { objects }: Files,
  g: Generation,
  fence: number,
  kept: { has(index: number): boolean } = new Set<number>(),
): Promise<void> {
  for (let index = 0; index < outputCountOf(g); index += 1)
    if (!kept.has(index)) await objects.remove(outputKey(g.generationId, fence, index));
}

/** Dependencies of storing a provider's answer. */
export interface StoringBy {
  readonly signal: AbortSignalLike;
  /** Takes a fence under which nothing was written. */
  readonly otherKeys: () => Promise<Pick<Generation, 'fence'>>;
}

/**
 * Streams the outputs in a provider's answer to a submission into our object store, without their metadata and
 * unchecked, under the generation's fence. One that is too large, or does not arrive, is left out; throws when none
 * arrives. While our own stores are unavailable it retries until the signal fires, each time under another fence,
 * because the provider makes nothing a second time. Nothing is signed before all of them are stored: a signer that
 * hangs costs no output.
 */
export async function storeSubmitted(
  context: Files & Machine,
  model: Pick<Model, 'mark' | 'displayName'>,
  g: Generation,
  outputs: readonly SubmittedOutput[],
  by: StoringBy,
): Promise<readonly DeliveredObject[]> {
  const mark = markOf(context.settings.marks, model, g);
  const stored = new Map<number, DeliveredObject>();
  let failure: unknown;
  for (const [index, { bytes }] of outputs.slice(0, outputCountOf(g)).entries()) {
    try {
      const object = await storeOne(context, g, { index, bytes, mark, ...by });
      if (object !== undefined) stored.set(index, object);
    } catch (error) {
      failure = error;
      context.log.warn('output in an answer not stored', { generationId: g.generationId, index, error });
    }
  }
  if (failure !== undefined && stored.size === 0) throw failure;
  const delivered: DeliveredObject[] = [];
  for (const [index, object] of stored) delivered.push(await signStored(context, g, object, { index, ...by }));
  return delivered;
}

async function storeOne(
  context: Files & Machine,
  g: Generation,
  {
    index,
    bytes,
    mark,
    signal,
    otherKeys,
  }: StoringBy & {
    readonly index: number;
    readonly bytes: SubmittedOutput['bytes'];
    readonly mark: AiMark | undefined;
  },
): Promise<DeliveredObject | undefined> {
  const { settings, clock } = context;
  let { fence } = g;
  for (let tries = 1; ; tries += 1) {
    try {
      if (tries > 1) ({ fence } = await otherKeys());
      const otherKey = otherKeyFor(g, index, otherKeys);
      const stored = await storeCleaned(context, bytes, {
        mark,
        objectKey: outputKey(g.generationId, fence, index),
        otherKey,
      });
      if (stored === 'too-large') return undefined;
      // Taken for what was made, it would be refused for being empty, and made once more.
      if (tries > 1 && stored.byteSize === 0) throw new Error('The output could not be read a second time.');
      return stored;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || signal.aborted) throw error;
      await pause(clock, backoffMs(settings, tries));
      if (signal.aborted) throw error;
    }
  }
}

/** Signs what was stored, as soon as our own stores are available; unsigned where the signal fires before. */
async function signStored(
  context: Files & Machine,
  g: Generation,
  stored: DeliveredObject,
  { index, signal, otherKeys }: StoringBy & { readonly index: number },
): Promise<DeliveredObject> {
  const { clock, settings } = context;
  const otherKey = otherKeyFor(g, index, otherKeys);
  const delay = new WakeableDelay(clock);
  const onAbort = () => delay.wake();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        // The try before may have taken a fence without learning of it: nothing can be written under an unknown one.
        if (tries > 1) await otherKey();
        return await signOutput(context, stored, { kind: g.modality, otherKey, signal });
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        if (signal.aborted) return stored;
        await delay.sleep(backoffMs(settings, tries));
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Checks what `storeSubmitted` has stored. Any worker may do so at any time: nothing is written or removed. */
async function inspectDelivered(
  context: Files & Machine,
  { model }: Pick<Execution, 'model'>,
  g: Generation,
  delivered: readonly DeliveredObject[],
): Promise<Collected> {
  const outputs: Output[] = [];
  const faults: string[] = [];
  for (const [index, object] of delivered.entries()) {
    const inspected = await inspect(context, model, g, object);
    if ('fault' in inspected) faults.push(`Output ${index + 1}: ${inspected.fault}`);
    else outputs.push(inspected);
  }
  return { outputs, faults };
}

export function outputKey(generationId: string, fence: number, index: number): string {
  return `outputs/${generationId}/${fence}/${index}`;
}

/** Takes a key for an output under a fence under which nothing was written. */
function otherKeyFor(g: Generation, index: number, otherKeys: StoringBy['otherKeys']): () => Promise<string> {
  return async () => outputKey(g.generationId, (await otherKeys()).fence, index);
}

async function collectOne(
  context: Files & Machine,
  { provider, model, settings: ofModel }: Execution,
  g: Generation,
  { reference, index, call, otherKeys }: Offered & { readonly index: number },
): Promise<Output | Fault> {
  const otherKey = otherKeyFor(g, index, otherKeys);
  const bytesOffered = await provider.output(reference, index, ofModel, call);
  const stored = await storeCleaned(context, bytesOffered, {
    mark: markOf(context.settings.marks, model, g),
    objectKey: outputKey(g.generationId, g.fence, index),
    otherKey,
  });
  if (stored === 'too-large') return { fault: `Output ${index + 1} is larger than outputs may be.` };
  const signed = await signOutput(context, stored, { kind: g.modality, otherKey, signal: call.signal });
  const inspected = await inspect(context, model, g, signed);
  if (!('fault' in inspected)) return inspected;
  await context.objects.remove(signed.objectKey);
  return { fault: `Output ${index + 1}: ${inspected.fault}` };
}

interface Storing {
  readonly mark: AiMark | undefined;
  readonly objectKey: string;
  /** Takes a key under which nothing was written. */
  readonly otherKey: () => Promise<string>;
}

/**
 * Stores a file without its metadata and with its mark. Cleans the stored file once more, under another key, if the
 * stream showed too late what the file is: a written object never changes.
 */
async function storeCleaned(
  { objects, mediaCleaner, settings }: Files & Machine,
  bytes: AsyncIterable<Uint8Array>,
  { mark, objectKey, otherKey }: Storing,
): Promise<DeliveredObject | 'too-large'> {
  const marked = mark === undefined ? {} : { mark };
  const maxBytes = settings.maxOutputBytes + (mark === undefined ? 0 : MAX_MARK_BYTES);
  const limit = { mediaType: RAW, maxBytes };
  const cleaning = mediaCleaner.clean(bytes, { ...marked, manifests: settings.marks.manifests });
  const stored = await objects.write(objectKey, cleaning.bytes, limit);
  if (stored === 'too-large') return stored;
  const secondPass = cleaning.secondPass();
  if (secondPass === undefined) return { objectKey, ...stored, ...marked };
  // The key comes first: a failure to take it must not leave an open stream.
  const secondKey = await otherKey();
  const first = await objects.read(objectKey);
  if (first === null) throw cutShort(objectKey, 0, stored.byteSize);
  const again = mediaCleaner.clean(whole(first, objectKey, stored.byteSize), secondPass);
  const kept = await objects.write(secondKey, again.bytes, limit);
  // The output is stored; retention removes the copy that is left here.
  await objects.remove(objectKey).catch(() => undefined);
  return kept === 'too-large' ? kept : { objectKey: secondKey, ...kept, ...marked };
}

/** Whether what was stored can be delivered. Throws when it cannot be read now. */
async function inspect(
  context: Files & Machine,
  model: Model,
  g: Generation,
  { objectKey, byteSize, sha256, mark }: DeliveredObject,
): Promise<Output | Fault> {
  const { objects, mediaProbe, settings, ids } = context;
  // Only parts of a video are read.
  const kept = g.modality === 'video' ? await objects.stat(objectKey) : { byteSize };
  if (kept?.byteSize !== byteSize) throw cutShort(objectKey, kept?.byteSize ?? 0, byteSize);
  const file = storedFile(objects, objectKey, byteSize);
  const facts = await mediaProbe.probe(file, { maxPixels: settings.maxOutputPixels, decode: 'full', kind: g.modality });
  if ('invalid' in facts) return { fault: facts.invalid };
  if (facts.kind !== g.modality) return { fault: `It is a ${facts.kind}, not a ${g.modality}.` };
  const difference = differenceOf(facts, model, g);
  if (difference !== undefined && model.onOtherSize === 'refuse') return { fault: difference };
  if (difference !== undefined)
    context.log.warn('output differs from the request', {
      generationId: g.generationId,
      model: model.modelKey,
      difference,
    });
  return {
    mediaId: ids.uuid(),
    kind: facts.kind,
    objectKey,
    contentType: facts.mediaType,
    byteSize,
    sha256,
    widthPx: facts.widthPx,
    heightPx: facts.heightPx,
    ...(facts.kind === 'video' ? { durationMs: facts.durationMs } : {}),
    ...(mark === undefined ? {} : { mark }),
  };
}

/** Reads a stored file: returns the requested number of bytes, or throws `StoreUnavailable`. */
function storedFile(objects: ObjectStore, key: string, byteSize: number): ProbedFile {
  return {
    byteSize,
    read: async (range) => {
      const bytes = await objects.read(key, range);
      if (!bytes) throw cutShort(key, 0, byteSize);
      return whole(bytes, key, range === undefined ? byteSize : range.to - range.from);
    },
  };
}

/** A picture that lost its last bytes may still decode; it is not what was delivered. Throws `StoreUnavailable` for it. */
async function* whole(
  bytes: AsyncIterable<Uint8Array>,
  key: string,
  byteSize: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let kept = 0;
  for await (const chunk of bytes) {
    kept += chunk.byteLength;
    if (kept > byteSize) break;
    yield chunk;
  }
  if (kept !== byteSize) throw cutShort(key, kept, byteSize);
}

function cutShort(key: string, kept: number, byteSize: number): StoreUnavailable {
  return new StoreUnavailable(`The object store kept ${kept} of the ${byteSize} bytes of ${key}.`);
}

/** Describes in one sentence how a usable output differs from the request. */
function differenceOf(facts: MediaFacts, model: Model, g: Generation): string | undefined {
  const size = requestedSize(model.price, g.parameters);
  if (size && (size.widthPx !== facts.widthPx || size.heightPx !== facts.heightPx)) {
    return `It is ${facts.widthPx}x${facts.heightPx} pixels, not ${size.widthPx}x${size.heightPx}.`;
  }
  const durationMs = requestedDurationMs(model.price, g.parameters);
  if (
    facts.kind === 'video' &&
    durationMs !== undefined &&
    Math.abs(facts.durationMs - durationMs) > DURATION_TOLERANCE_MS
  ) {
    return `It lasts ${facts.durationMs} ms, not ${durationMs} ms.`;
  }
  return undefined;
}
