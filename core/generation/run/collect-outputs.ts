import { requestedDurationMs, requestedSize } from '../../catalog/price.js';
import type { Model } from '../../catalog/model.js';
import type { Context } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import type { MediaFacts } from '../../ports/media-probe.js';
import type { ProviderCall } from '../../ports/provider.js';
import type { Generation, Output } from '../generation.js';
import type { Execution } from './unknown-model.js';

/** How far a video may be from the duration that was asked for: a frame or two of rounding. */
const DURATION_TOLERANCE_MS = 250;

export interface Collected {
  readonly outputs: readonly Output[];
  /** Why the others were left out, one sentence each. */
  readonly faults: readonly string[];
}

/**
 * Streams a finished task's outputs into our object store and checks each one there: it decodes, and it has the
 * requested kind, size and duration. An output that fails is not delivered and not charged. Each fence writes under its
 * own keys, and each key once: neither an overtaken worker nor an abandoned call that arrives late can change a
 * delivered output. To collect again, take a new fence.
 */
export async function collectOutputs(
  context: Context,
  by: Execution,
  generation: Generation,
  reference: string,
  offered: number,
  call: ProviderCall,
): Promise<Collected> {
  const wanted = Math.min(offered, generation.terms.creditsByOutputs.length - 1);
  const outputs: Output[] = [];
  const faults: string[] = [];
  for (let index = 0; index < wanted; index += 1) {
    const collected = await collectOne(context, by, generation, reference, index, call);
    if (typeof collected === 'string') faults.push(collected);
    else outputs.push(collected);
  }
  return { outputs, faults };
}

/** Removes all that was, or may have been, written under a fence. */
export async function removeCollected(
  { objects }: Pick<Context, 'objects'>,
  { generationId, terms }: Generation,
  fence: number,
): Promise<void> {
  for (let index = 0; index < terms.creditsByOutputs.length - 1; index += 1)
    await objects.remove(outputKey(generationId, fence, index));
}

export function outputKey(generationId: string, fence: number, index: number): string {
  return `outputs/${generationId}/${fence}/${index}`;
}

async function collectOne(
  context: Context,
  { provider, model }: Execution,
  g: Generation,
  reference: string,
  index: number,
  call: ProviderCall,
): Promise<Output | string> {
  const { objects, mediaProbe, mediaCleaner, settings, ids } = context;
  const objectKey = outputKey(g.generationId, g.fence, index);
  const bytesOffered = await provider.output(reference, index, model.providerSettings, call);
  const stored = await objects.write(objectKey, mediaCleaner.clean(bytesOffered), {
    mediaType: 'application/octet-stream',
    maxBytes: settings.maxOutputBytes,
  });
  if (stored === 'too-large') return `Output ${index + 1} is larger than outputs may be.`;
  await refuseCutShort(context, objectKey, stored.byteSize);

  const bytes = await objects.read(objectKey);
  if (!bytes) return `Output ${index + 1} was not stored.`;
  const limits = { maxBytes: stored.byteSize, maxPixels: settings.maxOutputPixels };
  const facts = await mediaProbe.probe(bytes, { ...limits, decode: 'full', kind: g.modality });
  const fault = 'invalid' in facts ? facts.invalid : mismatch(facts, model, g);
  if (fault !== undefined || 'invalid' in facts) {
    await objects.remove(objectKey);
    return `Output ${index + 1}: ${fault}`;
  }
  return {
    mediaId: ids.uuid(),
    kind: facts.kind,
    objectKey,
    contentType: facts.mediaType,
    byteSize: stored.byteSize,
    sha256: stored.sha256,
    widthPx: facts.widthPx,
    heightPx: facts.heightPx,
    ...(facts.kind === 'video' ? { durationMs: facts.durationMs } : {}),
  };
}

/** A picture that lost its last bytes may still decode; it is not what was delivered. */
async function refuseCutShort({ objects }: Context, key: string, byteSize: number): Promise<void> {
  const kept = await objects.stat(key);
  if (kept?.byteSize !== byteSize)
    throw new StoreUnavailable(`The object store kept ${kept?.byteSize ?? 0} of the ${byteSize} bytes of ${key}.`);
}

function mismatch(facts: MediaFacts, model: Model, g: Generation): string | undefined {
  if (facts.kind !== g.modality) return `It is a ${facts.kind}, not a ${g.modality}.`;
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
